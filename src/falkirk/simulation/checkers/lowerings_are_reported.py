"""LoweringsAreReported: a lowering loses exactly what its ledger lists, and nothing unless losses were accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.simulation.history.feature_history import FeatureHistory
    from falkirk.simulation.views.level_watch import LevelWatch
    from falkirk.simulation.views.replica_view import ReplicaView


class LoweringsAreReported(Checker):
    """Compares the losses of the image just before each lowering with the ledger that the administrator received.

    Everything else that was written is covered by AckedWritesSurvive, at any level.
    """

    def __init__(self, levels: LevelWatch, history: FeatureHistory) -> None:
        self._levels = levels
        self._history = history

    def at_end(self, replicas: Mapping[int, ReplicaView]) -> None:  # noqa: ARG002  as Checker
        """Check every lowering of the run."""
        for change in self._levels.changes:
            if change.after.level not in self._history.levels.values:
                raise self.violated(f"{change.after} at offset {change.end_offset} was not requested")
            lost = {loss.key_text for loss in change.losses or ()}
            if lost and change.after.level not in self._history.unsafe:
                raise self.violated(f"SAFE to {change.after} lost {sorted(lost)}")
            known = self._history.reported(change.after)
            if known is not None and not lost <= known:
                raise self.violated(f"{change.after} lost {sorted(lost - known)}, which no response reported")
