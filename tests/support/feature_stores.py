"""Stores of finalized features: the same cluster on KRaft and on ZooKeeper, for one behaviour suite."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Final, Protocol

from broker_requests import register, registration_request
from controllers import CONTROLLER_ID, make_controller, run
from zookeeper_network import ZooKeeperNetwork
from zookeeper_world import write_by_hand

from falkirk.metadata.controller.features.feature_update import FeatureUpdateContext
from falkirk.metadata.requests.api_error import ApiError
from falkirk.metadata.zookeeper.features_znode import encode_features
from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import UpdateFeaturesRequest, UpdateFeaturesResponse
from falkirk.protocol.messages.broker_registration_request import Feature
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.features import GROUP_VERSION, SHARE_VERSION, TRANSACTION_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import Release
from falkirk.versions.supported_range import SupportedRange
from falkirk.zookeeper_node.config.zookeeper_node_config import FEATURES_PATH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.zookeeper.finalized_features import Supported

UPGRADE, SAFE, UNSAFE = UpgradeType
Update = tuple[str, int, int]
"""A feature's name, the requested level, and the number of an upgrade type."""


class Outcome(enum.Enum):
    """The outcome of one update of one feature, independent of the store."""

    DONE = "done"
    DELETED = "deleted"
    SAME_LEVEL = "it has that level"
    NOT_FINALIZED = "it is not finalized, so it cannot be deleted"
    NO_NAME = "no name"
    REPEATED = "named twice"
    UNKNOWN_TYPE = "the number of the upgrade type means nothing"
    UNANNOUNCED_DOWNGRADE = "the level would fall, and nobody said that it may"
    RISING_DOWNGRADE = "the level would rise, and was to fall"
    NEW_DOWNGRADE = "a feature that is not finalized is to be, and its level was to fall"
    UNSAFE_DOWNGRADE = "the level is to fall whatever is lost"
    UNSUPPORTED = "a broker does not support the level"


class FeatureStore(Protocol):
    """A cluster. `codes`: its error code for each outcome, NONE for success.

    `is_together`: an update of several features is applied as a whole or not at all.
    """

    codes: Mapping[Outcome, ErrorCode]
    is_together: bool

    def join(self, broker_id: int, supported: Supported) -> bool:
        """Register a broker; False if it is refused."""
        ...

    def leave(self, broker_id: int) -> None:
        """Remove a broker for good."""
        ...

    def update(self, *updates: Update, dry: bool = False, version: int = 1) -> UpdateFeaturesResponse:
        """Send UpdateFeatures to the controller; version 0 has a flag in place of upgrade types, and no dry run."""
        ...

    @property
    def levels(self) -> dict[str, int]:
        """The max level of each finalized feature."""
        ...

    @property
    def epoch(self) -> int:
        """The epoch of the finalized features."""
        ...


class KraftStore:
    """A controller of a release, with its metadata log. Sources of the codes: responses of real controllers."""

    codes: Final = {
        Outcome.DONE: ErrorCode.NONE,
        Outcome.DELETED: ErrorCode.NONE,
        Outcome.SAME_LEVEL: ErrorCode.NONE,
        Outcome.NOT_FINALIZED: ErrorCode.NONE,
        Outcome.NO_NAME: ErrorCode.INVALID_REQUEST,
        Outcome.REPEATED: ErrorCode.INVALID_REQUEST,
        Outcome.UNKNOWN_TYPE: ErrorCode.INVALID_UPDATE_VERSION,
        Outcome.UNANNOUNCED_DOWNGRADE: ErrorCode.INVALID_UPDATE_VERSION,
        Outcome.RISING_DOWNGRADE: ErrorCode.INVALID_UPDATE_VERSION,
        Outcome.NEW_DOWNGRADE: ErrorCode.INVALID_UPDATE_VERSION,
        Outcome.UNSAFE_DOWNGRADE: ErrorCode.NONE,
        Outcome.UNSUPPORTED: ErrorCode.INVALID_UPDATE_VERSION,
    }

    def __init__(self, release: str, finalized: Mapping[str, int]) -> None:
        runs = Release.parse(release)
        self._metadata_version = runs.supported_features()[METADATA_VERSION]
        supported = {METADATA_VERSION: self._metadata_version, **_CONTROLLER}
        self._controller = make_controller(release=release, features=dict(finalized), supported_features=supported)
        self._starts = 0
        self.is_together = runs.updates_features_together

    def join(self, broker_id: int, supported: Supported) -> bool:
        self._starts += 1
        features = [
            Feature(name, levels.lowest, levels.highest)
            for name, levels in {METADATA_VERSION: self._metadata_version, **supported}.items()
        ]
        result = register(
            self._controller, registration_request(broker_id, start=self._starts, features=features), api_version=4
        )
        if isinstance(result, ApiError):
            assert result.error_code is ErrorCode.UNSUPPORTED_VERSION
            return False
        run(self._controller, result)
        return True

    def leave(self, broker_id: int) -> None:
        result = self._controller.cluster.unregister_broker(broker_id)
        assert not isinstance(result, ApiError)
        run(self._controller, result)

    def update(self, *updates: Update, dry: bool = False, version: int = 1) -> UpdateFeaturesResponse:
        context = FeatureUpdateContext(
            api_version=version, kraft_version=0, voters=frozenset({CONTROLLER_ID}), now_ms=0
        )
        decision = self._controller.features.update_features(_request(updates, dry, version), context)
        return run(self._controller, decision.result())

    @property
    def levels(self) -> dict[str, int]:
        levels = self._controller.features.finalized_features()
        return {name: level for name, level in levels.items() if name != METADATA_VERSION}

    @property
    def epoch(self) -> int:
        return self._controller.state.next_offset


class ZooKeeperStore:
    """Brokers on ZooKeeper, the first one as the controller. Sources of the codes: KIP-584, Kafka 3.9."""

    codes: Final = {
        **dict.fromkeys(Outcome, ErrorCode.INVALID_REQUEST),
        Outcome.DONE: ErrorCode.NONE,
        Outcome.DELETED: ErrorCode.NONE,
        Outcome.NEW_DOWNGRADE: ErrorCode.NONE,
        Outcome.UNSUPPORTED: ErrorCode.FEATURE_UPDATE_FAILED,
    }
    is_together: Final = False

    def __init__(self, finalized: Mapping[str, int]) -> None:
        self._network = ZooKeeperNetwork()
        state = FeatureState(True, {name: FinalizedRange(1, level) for name, level in finalized.items()})
        write_by_hand(self._network.ensemble, FEATURES_PATH, encode_features(state, kip_778=False))

    def join(self, broker_id: int, supported: Supported) -> bool:
        features = ",".join(f"{name}:{levels}" for name, levels in supported.items())
        return self._network.start(broker_id, falkirk_supported_features=features).stop is None

    def leave(self, broker_id: int) -> None:
        self._network.shut_down(broker_id)

    def update(self, *updates: Update, dry: bool = False, version: int = 1) -> UpdateFeaturesResponse:
        (controller,) = [host for host in self._network.hosts.values() if host.node.is_active_controller]
        response = self._network.client(controller.config.node_id).ask(_request(updates, dry, version), version)
        assert isinstance(response, UpdateFeaturesResponse)
        return response

    @property
    def levels(self) -> dict[str, int]:
        return {name: levels.max_level for name, levels in self._finalized[0].features.items()}

    @property
    def epoch(self) -> int:
        return self._finalized[1]

    @property
    def _finalized(self) -> tuple[FeatureState, int]:
        finalized = self._network.finalized()
        assert finalized is not None
        return finalized


def _request(updates: tuple[Update, ...], dry: bool, version: int) -> UpdateFeaturesRequest:
    keys = [
        FeatureUpdateKey(name, level, upgrade_type=type_)
        if version
        else FeatureUpdateKey(name, level, allow_downgrade=type_ == SAFE)
        for name, level, type_ in updates
    ]
    return UpdateFeaturesRequest(feature_updates=keys, validate_only=dry)


# A controller on KRaft has to support what it finalizes; it is not what these stories are about.
_CONTROLLER: Final = {
    GROUP_VERSION: SupportedRange(0, 1),
    SHARE_VERSION: SupportedRange(0, 2),
    TRANSACTION_VERSION: SupportedRange(0, 2),
}
