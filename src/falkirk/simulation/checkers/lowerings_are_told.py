"""LoweringsAreTold: a lowering takes what its ledger says and nothing else, and nothing unless that was agreed to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.simulation.replica_view import ReplicaView
    from falkirk.simulation.rolls.feature_questions import FeatureHistory
    from falkirk.simulation.rolls.level_watch import LevelWatch


class LoweringsAreTold(Checker):
    """Compares losses of the image just before each lowering with what the administrator was told.

    What other writes made is asked for by AckedWritesSurvive, whatever the level.
    """

    def __init__(self, levels: LevelWatch, history: FeatureHistory) -> None:
        self._levels = levels
        self._history = history

    def at_end(self, replicas: Mapping[int, ReplicaView]) -> None:  # noqa: ARG002  as Checker
        """Look at all levels that there were."""
        for change in self._levels.changes:
            if change.after.level not in self._history.levels.values:
                raise self.violated(f"{change.after} at offset {change.end_offset} was not asked for")
            lost = {loss.key_text for loss in change.losses or ()}
            if lost and change.after.level not in self._history.unsafe:
                raise self.violated(f"SAFE to {change.after} lost {sorted(lost)}")
            told = self._history.told(change.after)
            if told is not None and not lost <= told:
                raise self.violated(f"{change.after} lost {sorted(lost - told)}, which nobody was told")
