"""What the parts of a running node share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.handlers.handler import NodeView
from falkirk.protocol.metadata_progress_tags import MetadataProgress

if TYPE_CHECKING:
    from falkirk.metadata.authorizer import Authorizer
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.active_controller import ActiveController
    from falkirk.node.client_connections import ClientConnection
    from falkirk.node.config import NodeConfig
    from falkirk.node.feature_update import FeatureUpdates
    from falkirk.node.fetch_sessions import FetchSessions
    from falkirk.node.group_coordinator.group_coordinator import GroupCoordinator
    from falkirk.node.metadata_applier import MetadataApplier
    from falkirk.node.producer_ids import ProducerIds
    from falkirk.node.replication.replica_manager import ReplicaManager
    from falkirk.node.topic_creation import TopicCreation
    from falkirk.protocol.chance import Chance
    from falkirk.raft.output import LeaderAndEpoch
    from falkirk.raft.replica import RaftReplica
    from falkirk.storage.metadata_log import MetadataLog

UNKNOWN_EPOCH: Final = -1
"""Told as the features' epoch where none is known."""


class NodeState:
    """`now_ms` is the time of the step that runs, `active` the controller while this node is the active one."""

    def __init__(
        self,
        config: NodeConfig,
        *,
        cluster_id: str,
        raft: RaftReplica,
        log: MetadataLog,
        applier: MetadataApplier,
        authorizer: Authorizer,
        random: Chance,
        now_ms: int,
    ) -> None:
        self.config = config
        self.supported_features = config.supported_features
        self.cluster_id = cluster_id
        self.raft = raft
        self.applier = applier
        self.authorizer = authorizer
        self.random = random
        self.now_ms = now_ms
        self.active: ActiveController | None = None
        # Set where the node is a broker.
        self.topic_creation: TopicCreation | None = None
        # Set where it is a controller.
        self.feature_updates: FeatureUpdates | None = None
        self._log = log
        self.replicas: ReplicaManager | None = None
        self.groups: GroupCoordinator | None = None
        self.fetch_sessions: FetchSessions | None = None
        self.producer_ids: ProducerIds | None = None
        self.fetch_bytes_max = 0
        # The last offset of the image with which the features last changed.
        self.features_epoch = UNKNOWN_EPOCH
        # Whether the image has been as new as the high watermark since the start. What was told before the start rests
        # on records that are in the log and may not be applied again yet: until they are, no features are told.
        self.has_caught_up = False
        # Set where more is to be done than what was answered at once: by raft, by the disk, by peers.
        self.has_work = True
        # The last view for brokers' listeners and for controllers'.
        self._views: dict[bool, NodeView] = {}
        # Why the active controller must not go on; set by whoever finds out, acted on at the end of the step.
        self.resignation: str | None = None

    @property
    def image(self) -> MetadataImage:
        """The last image, of all that is committed."""
        return self.applier.image

    @property
    def applied_offset(self) -> int:
        """The end of what is in the image."""
        return self.applier.applied_offset

    @property
    def serving(self) -> ActiveController | None:
        """The active controller, if it may decide now: the replica may have lost its leadership in this very step."""
        return None if self.active is None else self._serving_as(self.raft.leader)

    def _serving_as(self, leader: LeaderAndEpoch) -> ActiveController | None:
        active = self.active
        if active is None or self.resignation is not None:
            return None
        is_own = leader.leader_id == self.config.node_id and leader.epoch == active.epoch
        return active if is_own else None

    def view(self, client: ClientConnection) -> NodeView:
        """Give what a handler may look at for a request of this client.

        Requests of one step mostly get the same view: making one costs as much as a good part of answering.
        """
        leader = self.raft.leader
        leader_id, active = leader.leader_id, self._serving_as(leader)
        is_controller = client.listener.is_controller
        view = self._views.get(is_controller)
        if (
            view is not None
            and view.now_ms == self.now_ms
            and view.image is self.applier.image
            and view.authorizer is self.authorizer
            and view.controller is (None if active is None else active.controller)
            and view.leader_id == leader_id
            and view.kraft_version == self.raft.kraft_version
            and view.api_ranges is client.ranges
            and view.features_epoch == self._features_epoch(is_controller=is_controller)
        ):
            return view
        view = self._views[is_controller] = self._view(client, active, leader_id)
        return view

    def _view(self, client: ClientConnection, active: ActiveController | None, leader_id: int | None) -> NodeView:
        return NodeView(
            node_id=self.config.node_id,
            cluster_id=self.cluster_id,
            release=self.config.release,
            image=self.image,
            authorizer=self.authorizer,
            controller=None if active is None else active.controller,
            now_ms=self.now_ms,
            api_ranges=client.ranges,
            kraft_version=self.raft.kraft_version,
            supported_features=self.supported_features,
            is_broker=not client.listener.is_controller,
            leader_id=leader_id,
            features_epoch=self._features_epoch(is_controller=client.listener.is_controller),
            static_configs=self.config.properties,
            replicas=None if client.listener.is_controller else self.replicas,
            groups=None if client.listener.is_controller else self.groups,
            fetch_sessions=self.fetch_sessions,
            producer_ids=self.producer_ids,
            fetch_bytes_max=self.fetch_bytes_max,
            random=self.random,
            topic_creation=self.topic_creation,
            feature_updates=self.feature_updates,
            metadata_progress=self.metadata_progress,
        )

    def metadata_progress(self) -> MetadataProgress:
        """Tell how far this node is with the metadata log."""
        log = self._log
        latest = log.latest_snapshot
        return MetadataProgress(
            snapshot_end_offset=None if latest is None else latest.offset,
            snapshot_metadata_version=log.latest_snapshot_level,
            log_start_offset=log.start_offset,
            applied_offset=self.applied_offset,
            holds_lowering=bool(log.lowerings),
        )

    def _features_epoch(self, *, is_controller: bool) -> int | None:
        if not self.has_caught_up:
            return UNKNOWN_EPOCH
        return self.features_epoch if is_controller else None

    def resign(self, reason: str) -> None:
        """See to it that the active controller does not go on: its state cannot be trusted."""
        if self.active is not None and self.resignation is None:
            self.resignation = reason
            self.has_work = True
