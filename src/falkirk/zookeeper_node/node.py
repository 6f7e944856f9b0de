"""One broker on ZooKeeper, perhaps the controller: events in, effects out. A driver moves bytes and keeps the session.

    node = ZooKeeperNode(config, random=random, now_ms=now_ms)
    for effect in node.step([SessionChanged(SessionState.CONNECTED, 7)], now_ms):
        ...                                       # send, close, log, ask ZooKeeper, stop
    sleep until node.next_wakeup_ms, or until something happens

In each session, before this broker is advertised: the cluster id is found, the finalized features are read and checked
against what this broker supports, the broker is registered, and takes part in elections. Requests that come before it
serves wait. Source: KIP-584, broker protections; Kafka's KafkaServer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from falkirk.metadata.acls.authorizer import ALLOW_ALL
from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.connections.admission import admit
from falkirk.node.connections.client_connections import ClientConnections
from falkirk.node.connections.credentials import Credentials
from falkirk.node.connections.holds import NOT_SERVING
from falkirk.node.connections.request_facts import RequestFacts
from falkirk.node.effects import Fact, Started, Stop
from falkirk.node.events import (
    BytesReceived,
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    ShutdownRequested,
)
from falkirk.node.handlers.api_versions import API_KEY as API_VERSIONS
from falkirk.node.handlers.metadata import API_KEY as METADATA
from falkirk.node.measurements import Measurements
from falkirk.zookeeper_node.cluster.cluster_membership import ClusterMembership
from falkirk.zookeeper_node.dispatcher import Dispatcher
from falkirk.zookeeper_node.handlers.routes import ROUTES, served_ranges
from falkirk.zookeeper_node.handlers.zookeeper_view import ZooKeeperView
from falkirk.zookeeper_node.session.exchange import SessionChanged, ZnodeChanged, ZooKeeperAnswered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.config.node_config import Listener
    from falkirk.node.connections.client_connection import OpenRequest
    from falkirk.node.connections.connection_counters import ConnectionCounters
    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.messages import UpdateFeaturesRequest, UpdateFeaturesResponse
    from falkirk.slices import Slices
    from falkirk.zookeeper_node.config.zookeeper_node_config import ZooKeeperNodeConfig
    from falkirk.zookeeper_node.session.exchange import ZooKeeperEffect, ZooKeeperEvent

# Measurements of the metadata log, which there is not.
_NO_LOG: Final = -1
# How many elements the arrays of a request may have together.
_ELEMENTS_MAX: Final = 20_000


class ZooKeeperNode:
    """One node, from its start to its Stop."""

    def __init__(self, config: ZooKeeperNodeConfig, *, random: Chance, now_ms: int) -> None:
        self.config = config
        self._now_ms = now_ms
        self._effects: list[Effect | ZooKeeperEffect] = []
        emit = self._effects.append
        self._membership = ClusterMembership(
            config, random=random, now_ms=lambda: self._now_ms, changed=self._changed, effects=emit
        )
        request_facts = RequestFacts(
            node_id=config.node_id, release=config.release, now_ms=lambda: self._now_ms, effects=emit
        )
        self._clients = ClientConnections(
            effects=emit,
            handle=self._handle,
            on_closed=lambda _connection_id: None,
            frame_bytes_max=config.socket_request_max_bytes,
            elements_max=dict.fromkeys(ROUTES, _ELEMENTS_MAX),
            idle_ms_max=config.connections_max_idle_ms,
            on_answered=request_facts.answered if config.has_request_facts else None,
            security=lambda: config.security,
            credentials=Credentials(self._users, random, token_key=None),
            wake=self._wake,
        )
        # Requests are held until the broker serves.
        self._clients.holds.set(NOT_SERVING, is_held=True)
        self._dispatcher = Dispatcher(self._view, self._clients, emit, now_ms=lambda: self._now_ms)
        self._listeners: Mapping[str, Listener] = {listener.name: listener for listener in config.listeners}
        self._ranges = served_ranges(config.release, unstable=config.unstable_api_versions_enable)
        self._last_view: ZooKeeperView | None = None
        self._is_begun = False
        self._is_started = False
        self._is_stopped = False
        self._has_work = True
        self._due_ms: int | None = now_ms
        emit(Fact("info", "node-starts", self._identity()))

    # --- What a driver calls

    def step(self, events: Sequence[Event | ZooKeeperEvent], now_ms: int) -> list[Effect | ZooKeeperEffect]:
        """Handle events and return effects, in order. After a Stop there are none."""
        if self._is_stopped:
            return []
        self._now_ms = now_ms
        if not self._is_begun:
            self._is_begun = True
            self._membership.begin()
        for event in events:
            self._handle_event(event)
            if self._stop_if_failed():
                return self._pop_effects()
        if self._has_work or (self._due_ms is not None and now_ms >= self._due_ms):
            self._tick()
        return self._pop_effects()

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the node must be stepped even without an event; None: not before one comes."""
        return None if self._is_stopped else self._due_ms

    def missing_bytes(self, connection_id: int) -> int:
        """Return how many bytes the begun request of an accepted connection lacks at least; 0 between requests."""
        return self._clients.missing_bytes(connection_id)

    @property
    def work_done(self) -> Mapping[str, object]:
        """Return nothing: no step has work that grows with the cluster."""
        return {}

    # --- State

    @property
    def node_id(self) -> int:
        """`broker.id`."""
        return self.config.node_id

    @property
    def membership(self) -> ClusterMembership:
        """The node's membership in its cluster, with its caches."""
        return self._membership

    @property
    def is_active_controller(self) -> bool:
        """True if the node is the controller, as far as it knows."""
        return self._membership.role.election is not None

    @property
    def counters(self) -> ConnectionCounters:
        """Counters of accepted connections."""
        return self._clients.counters

    def measure_slices(self) -> Slices[Measurements]:
        """Return the node's state in numbers: nothing that it counts is long."""
        yield from ()
        return _measure(self._membership, self._clients, self._view())

    # --- Events

    def _handle_event(self, event: Event | ZooKeeperEvent) -> None:
        match event:
            case BytesReceived(connection_id, data):
                self._clients.received(connection_id, data, self._now_ms)
                return
            case ConnectionAccepted():
                self._accept(event)
            case ConnectionLost(connection_id):
                self._clients.lost(connection_id)
            case SessionChanged() | ZooKeeperAnswered() | ZnodeChanged():
                self._membership.receive(event)
                self._start_if_ready()
            case ShutdownRequested():
                self._effects.append(Fact("info", "shutdown-begins"))
                self._stop(Stop(0))
            case ConnectionOpened():
                raise AssertionError("the node opens none")
            case _:
                assert_never(event)
        self._has_work = True

    def _accept(self, accepted: ConnectionAccepted) -> None:
        principal = admit(accepted, self.config.security, self._effects.append)
        if principal is not None:
            self._clients.accept(
                accepted.connection_id,
                self._listeners[accepted.listener],
                accepted.client_host,
                self._ranges,
                self._now_ms,
                principal=principal,
            )

    def _handle(self, request: OpenRequest) -> None:
        self._dispatcher.handle(request)

    def _users(self) -> MetadataImage:
        """Return the SCRAM users, as KRaft nodes have them."""
        users = self._membership.users
        return EMPTY if users is None else users.image

    def _wake(self) -> None:
        self._has_work = True

    # --- Work

    def _tick(self) -> None:
        self._has_work = False
        self._clients.tick(self._now_ms)
        self._membership.tick(self._now_ms)
        if self._stop_if_failed():
            return
        self._clients.resume(self._now_ms)
        times = (self._clients.next_wakeup_ms, self._membership.next_wakeup_ms)
        self._due_ms = min((time for time in times if time is not None), default=None)

    def _start_if_ready(self) -> None:
        if not self._is_started and self._membership.is_joined:
            self._is_started = True
            self._clients.holds.set(NOT_SERVING, is_held=False)
            self._effects.append(Started())

    def _changed(self) -> None:
        """Drop responses that rest on earlier state."""
        self._last_view = None
        self._clients.forget_answers(API_VERSIONS)
        self._clients.forget_answers(METADATA)

    def _view(self) -> ZooKeeperView:
        view = self._last_view
        if view is None:
            view = self._last_view = self._make_view()
        return view

    def _make_view(self) -> ZooKeeperView:
        membership = self._membership
        features = membership.finalized_features
        acls = membership.acls
        return ZooKeeperView(
            cluster_id=membership.cluster_id or "",
            authorizer=ALLOW_ALL if acls is None else acls.authorizer,
            api_ranges=self._ranges,
            supported_features=self.config.supported_features,
            finalized=features.levels,
            features_epoch=features.epoch,
            brokers=membership.counted_brokers,
            controller_id=membership.role.controller_id,
            supports_features=self.config.inter_broker_protocol.supports_features,
            internal_topics=self.config.release.internal_topics,
            update_features=self._update_features if self.is_active_controller else None,
        )

    def _update_features(
        self, request: UpdateFeaturesRequest, api_version: int, answer: Callable[[UpdateFeaturesResponse], None]
    ) -> None:
        self._has_work = True
        self._membership.role.update(request, api_version, answer, self._now_ms)

    # --- Stopping

    def _stop_if_failed(self) -> bool:
        failure = self._membership.failure
        if failure is not None and not self._is_stopped:
            self._stop(Stop(1, failure))
        return self._is_stopped

    def _stop(self, stop: Stop) -> None:
        self._is_stopped = True
        self._membership.leave()
        self._clients.close()
        self._effects.append(stop)

    def _pop_effects(self) -> list[Effect | ZooKeeperEffect]:
        effects = self._effects[:]
        self._effects.clear()
        return effects

    def _identity(self) -> dict[str, object]:
        config = self.config
        return {
            "node_id": config.node_id,
            "zookeeper_connect": config.zookeeper_connect,
            "inter_broker_protocol": str(config.inter_broker_protocol),
            "release": str(config.release),
        }


def _measure(membership: ClusterMembership, clients: ClientConnections, view: ZooKeeperView) -> Measurements:
    """There is no metadata log; the leader is the controller, with its epoch if this node is it."""
    election = membership.role.election
    return Measurements(
        leader_id=view.controller_id,
        leader_epoch=-1 if election is None else election.epoch,
        is_active_controller=election is not None,
        high_watermark=_NO_LOG,
        log_end_offset=_NO_LOG,
        last_applied_offset=_NO_LOG,
        metadata_version=-1,
        finalized_features={name: levels.max_level for name, levels in view.finalized.items()},
        supported_features=view.supported_features,
        connections=clients.by_software(),
        connection_counters=clients.counters,
        api_uses=tuple(clients.api_uses),
        brokers=None if election is None else (len(view.brokers), 0),
        broker_state=(BrokerState.RUNNING if membership.is_joined else BrokerState.STARTING).value,
        partitions=None,
        groups=None,
        transactions=None,
    )
