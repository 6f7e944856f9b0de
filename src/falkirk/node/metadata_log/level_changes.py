"""Reports changes of feature levels when they are replayed, which is after they are committed (KIP-1155).

Every controller and every broker reports what a lowering loses, for each loses it from its own image.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from falkirk.metadata.levels.feature_scrubbing import scrubbing_options
from falkirk.metadata.levels.writer import Assessor
from falkirk.node.effects import Fact
from falkirk.slices import VISITS_PER_REPORT, SliceBudget
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.metadata.levels.writer import LossReport
    from falkirk.metadata.losses.loss import Loss
    from falkirk.metadata.publishing.level_change import LevelChange
    from falkirk.node.effects import Effect
    from falkirk.slices import Slices

# Losses that are logged; the undo bundle has all of them.
LOGGED_LOSSES_MAX: Final = 1000


class LoweringKeeper(Protocol):
    """What a controller does with a lowering that is committed."""

    def committed(self, change: LevelChange) -> None:
        """Report what this controller decided on with it."""

    def keep(self, change: LevelChange) -> Slices[None]:
        """Write the bundle that undoes it."""


class LevelChanges:
    """The facts `features-updated` and `metadata-lost`. `keeper` is set on controllers, before anything is replayed."""

    def __init__(self, effects: Callable[[Effect], None]) -> None:
        self._effects = effects
        self.keeper: LoweringKeeper | None = None

    def before_change(self, change: LevelChange) -> Slices[None]:
        """Report the change, and what is lost with eligible leader replicas; keep what undoes it."""
        self._effects(Fact("info", "features-updated", dict(change.levels)))
        if not change.is_lowering:
            return
        losses: list[Loss] = []
        if change.lowers(ELIGIBLE_LEADER_REPLICAS_VERSION):
            assessor, budget = Assessor(change.image, scrubbing_options(change.image)), SliceBudget()
            for topic in change.image.topics:
                losses += (yield from assessor.topic(topic, budget)).losses
        if self.keeper is not None:
            self.keeper.committed(change)
            if losses or change.lowers_metadata_version:
                yield from self.keeper.keep(change)
        yield from self._report(losses)

    def lowered(self, report: LossReport) -> Slices[None]:
        """Report what a lower metadata.version has lost."""
        yield from self._report(report.losses)

    def _report(self, losses: Sequence[Loss]) -> Slices[None]:
        budget = SliceBudget()
        for loss in losses[:LOGGED_LOSSES_MAX]:
            self._effects(Fact("warning", "metadata-lost", loss.reported().as_json()))
            if budget.spend(VISITS_PER_REPORT):
                yield
        if len(losses) > LOGGED_LOSSES_MAX:
            self._effects(Fact("warning", "more-is-lost", {"count": len(losses) - LOGGED_LOSSES_MAX}))
