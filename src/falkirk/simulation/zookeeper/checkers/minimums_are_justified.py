"""MinimumsAreJustified: a finalized minimum only rises, to what a live compatible broker has as its lowest level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.finalized_features import incompatibilities
from falkirk.simulation.zookeeper.checkers.zookeeper_checker import ZooKeeperChecker

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.zookeeper.finalized_features import FeatureState
    from falkirk.simulation.clock import Clock
    from falkirk.simulation.zookeeper.features_truth import Written
    from falkirk.simulation.zookeeper.machine import Machine, Writer


class MinimumsAreJustified(ZooKeeperChecker):
    """By what the controller has been answered of the brokers. Deleting a feature takes its minimum away.

    A broker that has gone may have been there when the controller decided, up to `grace_ms` ago.
    """

    def __init__(self, clock: Clock, grace_ms: Callable[[], int]) -> None:
        self._clock = clock
        self._grace_ms = grace_ms

    def features_written(self, writer: Writer | None, before: Written, after: Written) -> None:
        """Look at each minimum that changed."""
        if writer is None or before.state is None or after.state is None or not before.state.is_enabled:
            return
        for name, levels in after.state.features.items():
            known = before.state.features.get(name)
            if known is not None and levels.min_level < known.min_level:
                raise self.violated(f"{writer.name} lowered the minimum of {name} from {known} to {levels}")
            if known is not None and levels.min_level == known.min_level:
                continue
            if not writer.is_alive:
                continue
            lowest = self._highest_minimum(writer.machine, before.state, name)
            if levels.min_level > max(lowest, 1):
                raise self.violated(
                    f"{writer.name} raised the minimum of {name} to {levels.min_level}; "
                    f"of the live brokers that are compatible none has more than {lowest}"
                )

    def _highest_minimum(self, controller: Machine, state: FeatureState, name: str) -> int:
        lowest = 0
        known, since_ms = controller.known, self._clock.now_ms - self._grace_ms()
        over = [supported for at_ms, supported in known.over if at_ms >= since_ms]
        for features in [supported for _, supported, _ in known.live()] + over:
            if name in features and not incompatibilities(features, state):
                lowest = max(lowest, features[name].lowest)
        return lowest
