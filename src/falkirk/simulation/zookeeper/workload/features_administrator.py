"""An administrator that changes its own features: raises, lowers and deletes them, or only validates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import MetadataResponse, UpdateFeaturesRequest, UpdateFeaturesResponse
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.simulation.workload.broker_client import BrokerClient
from falkirk.simulation.zookeeper.workload.update_history import Outcome, RequestedUpdate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.zookeeper.workload.update_history import UpdateHistory
    from falkirk.simulation.zookeeper.world.marks import ZooKeeperMarks

_UPDATE_FEATURES: Final = 57
_LEVELS: Final = (0, 1, 1, 2, 2, 2, 3, 3, 4, 5)
_TIMEOUTS_MS: Final = (100, 500, 2000, 10_000)
# A controller may go on for a while after the time that it was given: a write that is on the way is waited for.
_AFTERMATH_MS: Final = 5000


class FeaturesAdministrator(BrokerClient):
    """Sends requests to the known controller; at times to any broker. `features`: no other client changes them."""

    def __init__(
        self,
        name: str,
        brokers: Mapping[int, Endpoint],
        chance: Chance,
        *,
        features: Sequence[str],
        history: UpdateHistory,
        marks: ZooKeeperMarks,
        interval_ms: int,
    ) -> None:
        super().__init__(name, brokers, chance)
        self._versions_behind = chance.choice((0, 1, 2))
        self.controller_id = -1
        self._features = features
        self._history = history
        self._marks = marks
        self._interval_ms = interval_ms
        self._due_ms = 0
        # By feature, as the administrator knows it.
        self._levels: dict[str, int] = {}
        self._target: int | None = None
        self._is_asking = False

    @property
    def due_ms(self) -> int | None:
        """When the next request is due."""
        return None if self._is_asking or self.is_over else self._due_ms

    def act(self) -> None:
        """Send an update once the broker's versions are known."""
        if self._is_asking or self.is_over or self.now_ms < self._due_ms:
            return
        if self._target is None:
            known = self.controller_id in self.brokers and self.chance.random() < 0.9
            self._target = self.controller_id if known else self.chance.choice(sorted(self.brokers))
        if not self.connect(self._target):
            self._due_ms = self.now_ms + 20
            return
        target, self._target = self._target, None
        version = self.version(target, _UPDATE_FEATURES)
        self._due_ms = self.now_ms + self.chance.randrange(1, 2 * self._interval_ms)
        if version is not None:
            self._ask(target, version)

    def _ask(self, target: int, version: int) -> None:
        count = self.chance.choice((1, 1, 1, 2, 3))
        names = [self.chance.choice(self._features) for _ in range(count)]
        updates = [self._update(name, version) for name in dict.fromkeys(names)]
        request = UpdateFeaturesRequest(
            timeout_ms=self.chance.choice(_TIMEOUTS_MS),
            feature_updates=updates,
            validate_only=version > 0 and self.chance.random() < 0.2,
        )
        levels = {update.feature: update.max_version_level for update in updates}
        requested = RequestedUpdate(
            what=f"{self.name} {levels} v{version} of broker {target}",
            levels=levels,
            is_dry_run=request.validate_only,
            over_at_ms=self.now_ms + request.timeout_ms + _AFTERMATH_MS,
        )
        self._history.ask(requested)
        self._is_asking = True
        self.ask(target, request, lambda response: self._answered(requested, response, version))

    def _update(self, name: str, version: int) -> FeatureUpdateKey:
        """Choose an update, mostly a valid one."""
        known = self._levels.get(name, 1)
        level, allows = known + 1, False
        draw = self.chance.random()
        if draw < 0.35:
            level, allows = max(known - 1, 0), True
        elif draw < 0.6:
            level, allows = self.chance.choice(_LEVELS), self.chance.random() < 0.6
        if version == 0:
            return FeatureUpdateKey(name, level, allow_downgrade=allows)
        downgrade = UpgradeType.SAFE_DOWNGRADE if self.chance.random() < 0.8 else UpgradeType.UNSAFE_DOWNGRADE
        return FeatureUpdateKey(name, level, upgrade_type=downgrade if allows else UpgradeType.UPGRADE)

    def _answered(self, requested: RequestedUpdate, response: WireMessage | None, version: int) -> None:
        self._is_asking = False
        assert response is None or isinstance(response, UpdateFeaturesResponse)
        self._history.answer(requested, response, version)
        for name, outcome in requested.outcomes.items():
            if outcome is Outcome.DONE and not requested.is_dry_run:
                self._levels[name] = requested.levels[name]
            elif self.chance.random() < 0.3:
                # Its knowledge is wrong.
                self._levels[name] = self.chance.choice(_LEVELS)
        if response is None:
            self._marks.add("update without an answer")
            return
        self._marks.add("partial success" if len(set(requested.outcomes.values())) > 1 else "whole answer")
        errors = {response.error_code, *(result.error_code for result in response.results)}
        for error in sorted(errors):
            self._marks.add(f"update answered {ErrorCode(error).name}")
        if requested.is_dry_run and Outcome.DONE in requested.outcomes.values():
            self._marks.add("dry run accepted")
        if response.error_code == ErrorCode.NOT_CONTROLLER:
            self.controller_id = -1
            self.refresh()

    def _refreshed(self, response: WireMessage | None) -> None:
        super()._refreshed(response)
        if isinstance(response, MetadataResponse):
            self.controller_id = response.controller_id
