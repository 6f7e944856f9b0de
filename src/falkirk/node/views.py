"""Builds the views that handlers read."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.node.config.role_settings import authorizer
from falkirk.node.handlers.parts.view import BrokerView, ControllerView, NodeView
from falkirk.protocol.metadata_progress_tags import MetadataProgress

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.broker.broker_services import BrokerServices
    from falkirk.node.connections.client_connection import ClientConnection
    from falkirk.node.connections.client_quotas import ClientQuotas
    from falkirk.node.controller.active_controller import ActiveController
    from falkirk.node.controller.controllership import Controllership
    from falkirk.node.controller.feature_updates import FeatureUpdates
    from falkirk.node.step import CommittedMetadata, Step
    from falkirk.raft.replica import RaftReplica
    from falkirk.storage.metadata_log import MetadataLog

UNKNOWN_EPOCH: Final = -1
"""The features' epoch in responses where none is known."""


class _BuiltView(NamedTuple):
    view: NodeView
    active: "ActiveController | None"


class Views:
    """`broker`, `feature_updates`: set on brokers, and on controllers.

    `has_caught_up`: the image has reached the high watermark since the start. Until then no features are reported: what
    was reported before a restart may rest on records that are in the log and not applied again.
    """

    def __init__(
        self,
        step: Step,
        raft: RaftReplica,
        metadata: CommittedMetadata,
        log: MetadataLog,
        controllership: Controllership,
        *,
        quotas: ClientQuotas,
    ) -> None:
        self.broker: BrokerServices | None = None
        self.feature_updates: FeatureUpdates | None = None
        self.has_caught_up = False
        # The last offset of the image with which the features last changed.
        self.features_epoch = UNKNOWN_EPOCH
        self._step = step
        self._reported_features = {
            is_controller: step.config.reported_features(is_controller=is_controller) for is_controller in (False, True)
        }
        self._raft = raft
        self._metadata = metadata
        self._log = log
        self._controllership = controllership
        self.quotas = quotas
        self._authorizer = authorizer(step.config, metadata.image.acls)
        # The last view for brokers' listeners and for controllers'.
        self._last: dict[bool, _BuiltView] = {}

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Apply changes of features and ACLs."""
        if delta.features is not None:
            self.features_epoch = image.provenance.end_offset - 1
        if delta.acls is not None:
            self._authorizer = self._authorizer.changed_by(delta.acls)

    def of(self, client: ClientConnection) -> NodeView:
        """Return the view for a request of this client.

        Requests of one step mostly share a view: building one costs as much as a good part of a response.
        """
        is_controller = client.listener.is_controller
        leader = self._raft.leader
        active = self._controllership.serving_as(leader) if is_controller else None
        known = self._last.get(is_controller)
        if known is not None:
            view = known.view
            if (
                view.now_ms == self._step.now_ms
                and view.image is self._metadata.image
                and view.authorizer is self._authorizer
                and known.active is active
                and view.leader_id == leader.leader_id
                and view.kraft_version == self._raft.kraft_version
                and view.api_ranges is client.ranges
                and view.features_epoch == self._features_epoch(is_controller=is_controller)
            ):
                return view
        view = self._view(client, active)
        self._last[is_controller] = _BuiltView(view, active)
        return view

    def _view(self, client: ClientConnection, active: ActiveController | None) -> NodeView:
        step, is_controller = self._step, client.listener.is_controller
        return self._kind(active, is_controller=is_controller)(
            node_id=step.config.node_id,
            cluster_id=step.cluster_id,
            release=step.config.release,
            image=self._metadata.image,
            authorizer=self._authorizer,
            now_ms=step.now_ms,
            api_ranges=client.ranges,
            kraft_version=self._raft.kraft_version,
            supported_features=self._reported_features[is_controller],
            leader_id=self._raft.leader.leader_id,
            features_epoch=self._features_epoch(is_controller=is_controller),
            static_configs=step.config.properties,
            metadata_progress=self._metadata_progress,
            quotas=self.quotas,
            random=step.random,
        )

    def _kind(self, active: ActiveController | None, *, is_controller: bool) -> Callable[..., NodeView]:
        if not is_controller:
            assert self.broker is not None, "a broker's listener"
            return partial(BrokerView, broker=self.broker)
        if active is None:
            return NodeView
        assert self.feature_updates is not None, "a controller's listener"
        return partial(ControllerView, controller=active.controller, feature_updates=self.feature_updates)

    def _metadata_progress(self) -> MetadataProgress:
        log = self._log
        latest = log.latest_snapshot
        return MetadataProgress(
            snapshot_end_offset=None if latest is None else latest.offset,
            snapshot_metadata_version=log.latest_snapshot_level,
            log_start_offset=log.start_offset,
            applied_offset=self._metadata.applied_offset,
            holds_lowering=bool(log.lowerings),
        )

    def _features_epoch(self, *, is_controller: bool) -> int:
        if not self.has_caught_up:
            return UNKNOWN_EPOCH
        return self.features_epoch if is_controller else self._metadata.image.provenance.end_offset - 1
