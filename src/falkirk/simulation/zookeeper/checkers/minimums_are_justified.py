"""MinimumsAreJustified: a finalized minimum only rises, to the lowest level of a live compatible broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.finalized_features import incompatibilities
from falkirk.simulation.zookeeper.checkers.zookeeper_checker import ZooKeeperChecker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from falkirk.metadata.zookeeper.finalized_features import FeatureState
    from falkirk.simulation.machine.clock import Clock
    from falkirk.simulation.zookeeper.world.features_truth import Written
    from falkirk.simulation.zookeeper.world.machine import Machine, Writer


class MinimumsAreJustified(ZooKeeperChecker):
    """Uses what the controller has read about the brokers. Deleting a feature deletes its minimum.

    A broker that has gone may have been there when the controller decided, up to `grace_ms` ago.
    """

    def __init__(self, clock: Clock, grace_ms: Callable[[], int]) -> None:
        self._clock = clock
        self._grace_ms = grace_ms

    def features_written(self, writer: Writer | None, before: Written, after: Written) -> None:
        """Check each minimum that changed."""
        if writer is None or after.state is None:
            return
        was = before.state.features if before.state is not None else {}
        for name, levels in after.state.features.items():
            known = was.get(name)
            if known is not None and levels.min_level < known.min_level:
                raise self.violated(f"{writer.name} lowered the minimum of {name} from {known} to {levels}")
            if (known is not None and levels.min_level == known.min_level) or not writer.is_alive:
                continue
            lowest = max(self._minimums(writer.machine, (before.state, after.state), name), default=1)
            if levels.min_level > lowest:
                raise self.violated(
                    f"{writer.name} raised the minimum of {name} to {levels.min_level}; "
                    f"of the live brokers that are compatible none has more than {lowest}"
                )

    def _minimums(self, controller: Machine, states: Sequence[FeatureState | None], name: str) -> Iterator[int]:
        """Yield the lowest levels of brokers compatible with the old or new features, and the controller's own."""
        known, since_ms = controller.known, self._clock.now_ms - self._grace_ms()
        over = [supported for at_ms, supported in known.over if at_ms >= since_ms]
        for supported in (controller.supported, *(supported for _, supported, _ in known.live()), *over):
            is_compatible = any(state is not None and not incompatibilities(supported, state) for state in states)
            if name in supported and is_compatible:
                yield supported[name].lowest
