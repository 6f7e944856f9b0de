"""A cluster on ZooKeeper as text: its brokers are rolled and its features updated, and what they speak is printed.

Decisions only: no node runs. The controller is the broker that has run for longest.

- `start RELEASE IBP ID...` starts brokers, `restart RELEASE IBP ID...` stops and starts each, one by one.
- `update FEATURE:LEVEL...` asks the controller; a level below the finalized one is requested as a downgrade.
- `status` prints what is finalized and, for each broker, what it runs and speaks and how often it was restarted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.feature_deprecation import raise_minimums
from falkirk.metadata.zookeeper.feature_update import decide_update
from falkirk.metadata.zookeeper.finalized_features import elected_state, incompatibilities
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.versions.inter_broker_protocol import IBP_FEATURE, effective, feature_level, latest, parse
from falkirk.versions.release import Release
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.metadata.zookeeper.finalized_features import FeatureState, Supported
    from falkirk.versions.inter_broker_protocol import InterBrokerProtocol


@dataclass
class RunningBroker:
    """A broker since its first start."""

    release: Release
    static: InterBrokerProtocol
    restarts: int = 0

    @property
    def supported(self) -> Supported:
        """The features that it supports, advertised or not."""
        levels = SupportedRange(1, feature_level(latest(self.release)))
        return {IBP_FEATURE: levels, "group_coordinator": _GROUP_COORDINATOR[self.release.word]}

    @property
    def advertised(self) -> Supported:
        """The features in its znode."""
        return self.supported if self.static.supports_features else {}


class IbpStory:
    """One cluster, from the beginning."""

    def __init__(self) -> None:
        self._brokers: dict[int, RunningBroker] = {}  # those that run, the controller first
        self._state: FeatureState | None = None

    def run(self, command: str) -> list[str]:
        """Run one command and return its output."""
        verb, *words = command.split()
        steps = {"start": self._start, "restart": self._restart, "update": self._update, "status": self._status}
        return list(steps[verb](*words))

    def _start(self, release: str, static: str, *broker_ids: str) -> Iterator[str]:
        for broker_id in map(int, broker_ids):
            yield from self._register(broker_id, RunningBroker(Release.parse(release), parse(static)))

    def _restart(self, release: str, static: str, *broker_ids: str) -> Iterator[str]:
        for broker_id in map(int, broker_ids):
            restarts = self._brokers.pop(broker_id).restarts + 1
            if self._brokers:
                yield from self._look()
            yield from self._register(broker_id, RunningBroker(Release.parse(release), parse(static), restarts))

    def _register(self, broker_id: int, broker: RunningBroker) -> Iterator[str]:
        if broker.static.supports_features and self._state is not None:
            found = incompatibilities(broker.supported, self._state)
            if found:
                yield f"broker {broker_id} shuts down: {'; '.join(found)}"
                return
        self._brokers[broker_id] = broker
        yield from self._look()

    def _look(self) -> Iterator[str]:
        """Let the (perhaps new) controller check its brokers and the finalized features."""
        controller = next(iter(self._brokers.values()))
        state = elected_state(
            self._state, supports_features=controller.static.supports_features, supported=controller.supported
        )
        yield from self._write(raise_minimums(state, self._advertised()))

    def _write(self, state: FeatureState) -> Iterator[str]:
        if state != self._state:
            self._state = state
            yield self._finalized()

    def _update(self, *updates: str) -> Iterator[str]:
        assert self._state is not None
        pairs = [(name, int(level)) for name, _, level in (update.partition(":") for update in updates)]
        finalized = self._state.features
        keys = [
            FeatureUpdateKey(
                name, level, allow_downgrade=level < (finalized[name].max_level if name in finalized else 1)
            )
            for name, level in pairs
        ]
        request = UpdateFeaturesRequest(feature_updates=keys)
        decision = decide_update(request, 0, self._state, self._advertised())
        response = decision.response()
        for answer in (response, *response.results):
            if answer.error_code:
                yield f"{ErrorCode(answer.error_code).name}: {answer.error_message}"
        yield from self._write(decision.state)

    def _advertised(self) -> dict[int, Supported]:
        return {broker_id: broker.advertised for broker_id, broker in self._brokers.items()}

    def _status(self) -> Iterator[str]:
        yield self._finalized()
        for broker_id, broker in sorted(self._brokers.items()):
            yield f"broker {broker_id}: {broker.release}, {self._spoken(broker)}, restarts: {broker.restarts}"

    def _spoken(self, broker: RunningBroker) -> str:
        levels = self._state.features.get(IBP_FEATURE) if self._state is not None else None
        protocol, source = effective(broker.static, None if levels is None else levels.max_level)
        return f"speaks {protocol} by {source.value}"

    def _finalized(self) -> str:
        assert self._state is not None
        if not self._state.is_enabled:
            return "/features: disabled"
        levels = [
            f"{name} {levels.min_level}-{levels.max_level}" for name, levels in sorted(self._state.features.items())
        ]
        return f"/features: enabled, {', '.join(levels) or 'nothing finalized'}"


_GROUP_COORDINATOR: Final = {"3.7": SupportedRange(1, 1), "3.8": SupportedRange(1, 2), "3.9": SupportedRange(2, 3)}
