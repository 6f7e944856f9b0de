"""Brokers 1 and 2 as KIP-584 has them, without a ZooKeeper: the finalized features are a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fake_node import api_versions_response, ranges
from feature_servers import NOBODY_LISTENS, FeatureServers

from falkirk.metadata.requests.api_error import ApiError
from falkirk.metadata.zookeeper.feature_update import decide_update, refused
from falkirk.metadata.zookeeper.finalized_features import FeatureState
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import describe_cluster_response
from falkirk.protocol.messages.api_versions_response import FinalizedFeatureKey, SupportedFeatureKey

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.zookeeper.finalized_features import FinalizedRange, Supported
    from falkirk.protocol.connection import RequestReceived
    from falkirk.protocol.messages import (
        ApiVersionsResponse,
        DescribeClusterResponse,
        UpdateFeaturesRequest,
        UpdateFeaturesResponse,
    )

CONTROLLER = 2


class Kip584Servers(FeatureServers):
    """Broker 2 is the controller. `lag`: by broker id, how many changes it has not yet seen.

    `answers_lost`: how many updates are applied without a response: the connection breaks. `unreachable`: the ids of
    brokers that do not listen.
    """

    def __init__(
        self, supported: Supported, finalized: Mapping[str, FinalizedRange], *, versions: str = "0-1", epoch: int = 1
    ) -> None:
        super().__init__(api_ranges=ranges(api18="0-3", api57=versions, api60="0-1"))
        self.controller_id = CONTROLLER
        self.brokers = {1: dict(supported), CONTROLLER: dict(supported)}
        self.lag: dict[int, int] = {}
        self.answers_lost = 0
        self._first_epoch = epoch
        self._states = [FeatureState(is_enabled=True, features=finalized)]

    @property
    def finalized(self) -> Mapping[str, FinalizedRange]:
        """Return the current finalized features."""
        return self._states[-1].features

    @property
    def levels(self) -> dict[str, int]:
        """Return the finalized max levels."""
        return {name: levels.max_level for name, levels in self.finalized.items()}

    def disable(self) -> None:
        """Disable feature versioning: brokers advertise none."""
        self._states.append(FeatureState(is_enabled=False))

    def _cluster(self) -> DescribeClusterResponse:
        told = super()._cluster()
        broker = describe_cluster_response.DescribeClusterBroker
        told.brokers += [broker(node_id, "127.0.0.1", NOBODY_LISTENS) for node_id in sorted(self.unreachable)]
        return told

    def _update(self, node_id: int, version: int, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse | bytes:
        if node_id != self.controller_id:
            return refused(ApiError(ErrorCode.NOT_CONTROLLER, "not I"))
        decision = decide_update(request, version, self._states[-1], self.brokers)
        if decision.needs_write:
            self._states.append(decision.state)
        if self.answers_lost:
            self.answers_lost -= 1
            return b"\x00\x00\x00\x00"
        return decision.response()

    def _versions(self, node_id: int, _request: RequestReceived) -> ApiVersionsResponse:
        known = len(self._states) - 1 - self.lag.get(node_id, 0)
        state = self._states[known]
        return api_versions_response(
            self.api_ranges,
            supported_features=[
                SupportedFeatureKey(name, levels.lowest, levels.highest)
                for name, levels in self.brokers[node_id].items()
            ],
            finalized_features_epoch=self._first_epoch + known if state.is_enabled else -1,
            finalized_features=[
                FinalizedFeatureKey(name, max_version_level=levels.max_level, min_version_level=levels.min_level)
                for name, levels in state.features.items()
            ],
        )
