"""FinalizedFitsBrokers: a written level lies in the supported range of every live compatible broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.finalized_features import incompatibilities
from falkirk.simulation.zookeeper.checkers.zookeeper_checker import ZooKeeperChecker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.metadata.zookeeper.finalized_features import Supported
    from falkirk.simulation.machine.clock import Clock
    from falkirk.simulation.zookeeper.world.features_truth import FeaturesTruth, Written
    from falkirk.simulation.zookeeper.world.machine import Machine, Writer


class FinalizedFitsBrokers(ZooKeeperChecker):
    """Covers brokers whose registration the controller read at least `grace_ms` ago, enough for its queue.

    A broker that was incompatible within that time may not count yet. Source: KIP-584, validations; E1 and E2.
    """

    def __init__(self, truth: FeaturesTruth, clock: Clock, grace_ms: Callable[[], int]) -> None:
        self._truth = truth
        self._clock = clock
        self._grace_ms = grace_ms

    def features_written(self, writer: Writer | None, before: Written, after: Written) -> None:
        """Check each level that changed."""
        if writer is None or before.state is None or after.state is None or not writer.is_alive:
            return
        for name, levels in after.state.features.items():
            known = before.state.features.get(name)
            if known is not None and known.max_level == levels.max_level:
                continue
            for node_id, supported in self._counting(writer.machine):
                if name not in supported or levels.max_level not in supported[name]:
                    raise self.violated(
                        f"{writer.name} finalized {name} at {levels.max_level}; broker {node_id} supports "
                        f"{supported.get(name, 'nothing')} of it"
                    )

    def _counting(self, controller: Machine) -> Iterator[tuple[int, Supported]]:
        """Yield the brokers that must count."""
        since_ms = self._clock.now_ms - self._grace_ms()
        assert controller.link is not None
        heard_since_ms = controller.link.heard_since_ms
        if heard_since_ms is None or heard_since_ms > since_ms:
            return
        # The last one is the write being checked.
        states = [written.state for written in self._truth.since(since_ms)[:-1]]
        for node_id, features, known_since_ms in controller.known.live():
            if known_since_ms <= since_ms and not any(
                state is None or incompatibilities(features, state) for state in states
            ):
                yield node_id, features
