"""A node's controller role on an in-memory ZooKeeper: tests set the brokers, the cache and the time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from zookeeper_world import HeldSession, write_by_hand

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.supported_range import SupportedRange
from falkirk.zookeeper_node.controller.controller_role import ControllerRole
from falkirk.zookeeper_node.controller.feature_controller import ClusterView, FeatureSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.zookeeper.finalized_features import Supported
    from falkirk.node.effects import Fact
    from falkirk.protocol.messages import UpdateFeaturesResponse
    from falkirk.simulation.zookeeper.world.ensemble import Ensemble

GROUP_COORDINATOR = "group_coordinator"


class Question:
    """An UpdateFeatures request and its response."""

    def __init__(self) -> None:
        self.answers: list[UpdateFeaturesResponse] = []

    @property
    def is_answered(self) -> bool:
        return bool(self.answers)

    @property
    def count(self) -> int:
        """How often it was answered."""
        return len(self.answers)

    @property
    def error(self) -> tuple[ErrorCode, str | None]:
        """The top-level error and its message."""
        (answer,) = self.answers
        return ErrorCode(answer.error_code), answer.error_message

    @property
    def results(self) -> dict[str, ErrorCode]:
        """The error of each feature, if there is no top-level error."""
        assert self.error[0] is ErrorCode.NONE, self.error
        return {result.feature: ErrorCode(result.error_code) for result in self.answers[0].results}

    def error_of(self, feature: str) -> ErrorCode:
        return self.results[feature]

    def message_of(self, feature: str) -> str:
        (message,) = [each.error_message for each in self.answers[0].results if each.feature == feature]
        assert message is not None
        return message


class ControllerWorld(HeldSession):
    """`brokers` are registered; the node's own cache knows `/features` up to `cached_epoch` (None: all)."""

    def __init__(
        self,
        ensemble: Ensemble,
        *,
        node_id: int = 1,
        path: str = "/features",
        supports_features: bool = True,
        supported: Supported | None = None,
        writes_kip_778: bool = False,
    ) -> None:
        super().__init__(ensemble)
        self.path = path
        self.supported = supported or {GROUP_COORDINATOR: SupportedRange(1, 3)}
        self.brokers: Mapping[int, Supported] | None = {node_id: self.supported}
        self.silent: frozenset[int] = frozenset()
        self.last_epoch = -1
        self.cached_epoch: int | None = None
        self.now_ms = 1000
        self.facts: list[Fact] = []
        self._waiting: list[tuple[int, Callable[[], None]]] = []
        self.role = ControllerRole(
            self.session,
            node_id,
            FeatureSettings(
                path=path,
                supports_features=supports_features,
                supported=self.supported,
                writes_kip_778=writes_kip_778,
            ),
            ClusterView(
                brokers=lambda: self.brokers,
                silent=lambda: self.silent,
                last_epoch=lambda: self.last_epoch,
                when_epoch=self._when_epoch,
            ),
            now_ms=lambda: self.now_ms,
            effects=self.facts.append,
        )

    @classmethod
    def at_level_1(cls, ensemble: Ensemble, **settings: object) -> ControllerWorld:
        """Return an elected controller of a cluster in which level 1 of group_coordinator is finalized."""
        content = {"version": 1, "status": 1, "features": {GROUP_COORDINATOR: _range(1, 1)}}
        write_by_hand(ensemble, "/features", json.dumps(content).encode())
        world = cls(ensemble, **settings)
        world.enter()
        world.do_all()
        assert world.role.election is not None
        return world

    def enter(self) -> None:
        """Begin a session and take part in its elections."""
        self.connect()
        self.role.start()

    def do_until_elected(self) -> None:
        while self.role.election is None:
            self.do()

    def ask_for(
        self, *, timeout_ms: int = 60_000, is_downgrade: bool = False, validate_only: bool = False, **levels: int
    ) -> Question:
        """Send an UpdateFeatures request of version 1."""
        upgrade_type = UpgradeType.SAFE_DOWNGRADE if is_downgrade else UpgradeType.UPGRADE
        keys = [
            FeatureUpdateKey(name, level, allow_downgrade=is_downgrade, upgrade_type=upgrade_type)
            for name, level in levels.items()
        ]
        request = UpdateFeaturesRequest(timeout_ms=timeout_ms, feature_updates=keys, validate_only=validate_only)
        question = Question()
        self.role.update(request, 1, question.answers.append, self.now_ms)
        return question

    def wait(self, milliseconds: int) -> None:
        """Advance the clock."""
        self.now_ms += milliseconds
        self.role.tick(self.now_ms)

    def register(self, broker_id: int, supported: Supported) -> None:
        """Register a broker with the node."""
        self.brokers = {**(self.brokers or {}), broker_id: supported}
        self.role.recheck()

    def unregister(self, broker_id: int) -> None:
        """Unregister a broker from the node."""
        self.brokers = {each: supported for each, supported in (self.brokers or {}).items() if each != broker_id}
        self.role.recheck()

    def cache(self, epoch: int) -> None:
        """Bring the node's own cache to this version of the features znode."""
        self.cached_epoch = epoch
        waiting, self._waiting = self._waiting, []
        for wanted, then in waiting:
            self._when_epoch(wanted, then)

    def finalized(self) -> dict[str, tuple[int, int]]:
        """Return the levels in the znode: min and max by feature."""
        features = self._content()["features"]
        return {
            name: (levels.get("min_version_level", 1), levels["max_version_level"]) for name, levels in features.items()
        }

    def status(self) -> int:
        return self._content()["status"]

    def epoch(self) -> int:
        """Return the version of the features znode."""
        znode = self.ensemble.znode(self.path)
        assert znode is not None
        return znode.version

    def facts_of(self, event: str) -> list[Fact]:
        return [fact for fact in self.facts if fact.event == event]

    def _content(self) -> dict:
        znode = self.ensemble.znode(self.path)
        assert znode is not None
        return json.loads(znode.data)

    def _when_epoch(self, epoch: int, then: Callable[[], None]) -> None:
        if self.cached_epoch is None or self.cached_epoch >= epoch:
            then()
        else:
            self._waiting.append((epoch, then))


def _range(lowest: int, highest: int) -> dict[str, int]:
    return {"min_version_level": lowest, "max_version_level": highest}
