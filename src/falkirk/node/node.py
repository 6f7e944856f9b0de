"""One Kafka node: events in, effects out. All that a node is runs in here; a driver only moves bytes.

    node = Node(config, disk, random, now_ms)     # raises StartupError
    for effect in node.step([BytesReceived(2, data)], now_ms):
        ...                                       # send, connect, close, log, stop
    sleep until node.next_wakeup_ms, or until something happens

A step takes in its events, does what time has made due, then executes what the replica of the metadata log wants until
there is nothing more to do: so all that the events of one step append is persisted with one sync, and an answer leaves
when what it rests on is committed. docs/internals/node.md says more.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, assert_never

from falkirk.metadata.controller.downgrade_support import node_supports_downgrade
from falkirk.metadata.errors import RecordError
from falkirk.node.active_controller_channel import ActiveControllerChannel
from falkirk.node.admission import admit
from falkirk.node.broker_lifecycle import BrokerState
from falkirk.node.broker_role import BrokerRole
from falkirk.node.client_connections import ClientConnections, OpenRequest
from falkirk.node.controller_registration import ControllerRegistration
from falkirk.node.controller_role import ControllerRole
from falkirk.node.credentials import Credentials
from falkirk.node.dispatcher import Dispatcher
from falkirk.node.effects import Close, Fact, Started, Stop
from falkirk.node.errors import FatalError, StartupError, UnfitError
from falkirk.node.events import (
    BytesReceived,
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    ShutdownRequested,
)
from falkirk.node.feature_update import FeatureUpdates
from falkirk.node.handlers.api_versions import API_KEY as API_VERSIONS
from falkirk.node.handlers.metadata import API_KEY as METADATA
from falkirk.node.handlers.routes import ROUTES
from falkirk.node.leaving_voters import is_last, is_needed
from falkirk.node.measurements import measure
from falkirk.node.metadata_applier import MetadataApplier
from falkirk.node.node_state import NodeState
from falkirk.node.peers import Peers
from falkirk.node.quorum_driver import QuorumDriver
from falkirk.node.request_facts import RequestFacts
from falkirk.node.role_settings import authorizer, raft_config
from falkirk.node.snapshot_generator import SnapshotGenerator
from falkirk.node.startup import open_node, startup_facts
from falkirk.node.unregistration import Unregistration
from falkirk.protocol.uuid import random_uuid
from falkirk.raft.replica import RaftReplica
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.partition_directory import METADATA_DIRECTORY
from falkirk.versions.api_support import Listener as ListenerKind
from falkirk.versions.unbuilt import served_ranges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.client_connections import ConnectionCounters
    from falkirk.node.config import Listener, NodeConfig
    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.node.measurements import Measurements
    from falkirk.node.startup import Startup
    from falkirk.protocol.chance import Chance
    from falkirk.storage.disk import Disk
    from falkirk.storage.metadata_log import MetadataLog
    from falkirk.versions.supported_range import SupportedRange

# How long a connection to another node may take to stand (socket.connection.setup.timeout.ms).
CONNECTION_SETUP_TIMEOUT_MS: Final = 10_000
# How long a leader waits at shutdown until the others know (Kafka's raft client does so, too).
SHUTDOWN_TIMEOUT_MS: Final = 5_000


class Node:
    """One node, from its start to its Stop. Raises StartupError, having changed nothing on the disk."""

    def __init__(self, config: NodeConfig, disk: Disk, random: Chance, now_ms: int) -> None:
        self.config = config
        self._effects: list[Effect] = []
        emit = self._effects.append
        startup = open_node(config, disk, random)
        self._log = startup.log
        source = f"{config.metadata_log_dir}/{METADATA_DIRECTORY}"
        applier = MetadataApplier(startup.log, startup.gate, (self,), source=source)
        raft = RaftReplica(
            raft_config(config, startup.directories.cluster_id, startup.directories.metadata_directory_id),
            startup.election_state,
            startup.log,
            random,
            now_ms,
            follows_lowerings=lambda node_id: node_supports_downgrade(applier.cluster_with_lowering, node_id),
        )
        self._state = NodeState(
            config,
            cluster_id=startup.directories.cluster_id,
            raft=raft,
            log=startup.log,
            applier=applier,
            authorizer=authorizer(config, applier.image.acls),
            random=random,
            now_ms=now_ms,
        )
        self._request_facts = RequestFacts(
            node_id=config.node_id, release=config.release, now_ms=lambda: self._state.now_ms, effects=emit
        )
        self._clients = ClientConnections(
            effects=emit,
            handle=self._handle,
            gone=lambda connection_id: self._dispatcher.forget(connection_id),  # noqa: PLW0108  made below
            frame_bytes_max=config.socket_request_max_bytes,
            idle_ms_max=config.connections_max_idle_ms,
            answered=self._request_facts.answered if config.has_request_facts else None,
            security=config.security,
            credentials=Credentials(lambda: self._state.image, random, token_key=config.delegation_token_secret_key),
            wake=self._wake,
            is_serving=not config.is_broker,
        )
        self._peers = Peers(
            config.release,
            node_id=config.node_id,
            listener=config.controller_listener_names[0],
            effects=emit,
            setup_timeout_ms=CONNECTION_SETUP_TIMEOUT_MS,
            idle_ms_max=config.connections_max_idle_ms,
            logins=config.security.logins,
            random=random,
        )
        self._dispatcher = Dispatcher(self._state, self._clients, emit)
        if config.is_controller:
            self._state.feature_updates = FeatureUpdates(self._state, disk, self._peers, emit)
        self._snapshots = SnapshotGenerator(self._state, startup.log, emit)
        self._controller = ControllerRole(
            self._state, bootstrap=startup.bootstrap, dispatcher=self._dispatcher, random=random, effects=emit
        )
        self._quorum = QuorumDriver(
            self._state,
            startup.log,
            peers=self._peers,
            dispatcher=self._dispatcher,
            snapshots=self._snapshots,
            on_leader=self._controller.leader_changed,
            effects=emit,
        )
        self._registration = ControllerRegistration(
            self._state,
            ActiveControllerChannel(self._state, self._peers, "registration"),
            incarnation_id=random_uuid(random),
            random=random,
            effects=emit,
        )
        try:
            self._broker = self._make_broker(startup, disk, random) if config.is_broker else None
        except OSError as error:
            raise StartupError(f"The disk of {config.metadata_log_dir} failed: {error}") from error
        self._listeners: Mapping[str, Listener] = {listener.name: listener for listener in config.listeners}
        self._controller_ranges = _served(config, ListenerKind.CONTROLLER)
        self._kraft_version = raft.kraft_version
        self._unregistration: Unregistration | None = None
        self._is_started = False
        self._is_shutting_down = False
        self._is_leaving_quorum = False
        self._shutdown_deadline_ms: int | None = None
        self._due_ms: int | None = now_ms
        self._is_stopped = False
        self._effects += startup_facts(config, startup)
        try:
            applier.load_latest_snapshot()
        except (RecordError, CorruptFileError) as error:
            raise StartupError(str(error)) from error

    def _make_broker(self, startup: Startup, disk: Disk, random: Chance) -> BrokerRole:
        broker = BrokerRole(
            self._state,
            own_ranges=_served(self.config, ListenerKind.BROKER),
            peers=self._peers,
            clients=self._clients,
            directories=startup.directories,
            disk=disk,
            random=random,
            effects=self._effects.append,
        )
        self._dispatcher.forwarding = broker.forwarding
        return broker

    # --- What a driver calls

    def step(self, events: Sequence[Event], now_ms: int) -> list[Effect]:
        """Take events in and say what is to be done, in order. After a Stop nothing more is done."""
        self._state.now_ms = now_ms
        if self._is_stopped or self._unregistration is not None:
            return self._end(events)
        try:
            for event in events:
                # The most frequent event by far; it leaves nothing to do if all is answered from memory.
                if type(event) is BytesReceived and not self._peers.owns(event.connection_id):
                    self._clients.received(event.connection_id, event.data, now_ms)
                else:
                    self._take(event)
            broker = self._broker
            if broker is not None:
                broker.complete()
            # Most requests are answered from memory, or wait, and leave nothing to do.
            if self._state.has_work or (self._due_ms is not None and now_ms >= self._due_ms):
                self._tick()
                self._start_if_ready()
                self._due_ms = min((time for time in self._times() if time is not None), default=None)
            elif broker is not None:
                self._due_ms = _earlier(self._due_ms, broker.next_deadline_ms)
        except UnfitError as error:
            self._leave(str(error))
        except (FatalError, CorruptFileError) as error:
            self._stop(Stop(1, str(error)))
        except OSError as error:
            self._stop(Stop(1, f"The disk of {self.config.metadata_log_dir} failed: {error}"))
        return self._take_effects()

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the node wants to be stepped without an event; None: not before one comes."""
        return None if self._is_stopped else self._due_ms

    def missing_bytes(self, connection_id: int) -> int:
        """Say how much the request that has begun on an accepted connection lacks at least; 0 between requests."""
        return self._clients.missing_bytes(connection_id)

    # --- What others look at

    @property
    def image(self) -> MetadataImage:
        """The metadata as far as it is committed and known here."""
        return self._state.image

    @property
    def raft(self) -> RaftReplica:
        """The replica of the metadata log."""
        return self._state.raft

    @property
    def node_id(self) -> int:
        """Who it is."""
        return self.config.node_id

    @property
    def log(self) -> MetadataLog:
        """The metadata log as it is on the disk."""
        return self._log

    @property
    def is_active_controller(self) -> bool:
        """Say whether the node serves as the active controller."""
        return self._state.serving is not None

    @property
    def decided_image(self) -> MetadataImage | None:
        """What the active controller decides on: all that it has appended, committed or not; None on other nodes."""
        active = self._state.serving
        return None if active is None else active.controller.state.image

    @property
    def broker(self) -> BrokerRole | None:
        """The node's side as a broker, if it is one."""
        return self._broker

    @property
    def counters(self) -> ConnectionCounters:
        """What happened on the connections that others opened."""
        return self._clients.counters

    def measure(self) -> Measurements:
        """Give what it is at this moment, in numbers."""
        broker_state = None if self._broker is None else self._broker.state.value
        return measure(self._state, self._clients, broker_state=broker_state)

    # --- What the loader calls

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Take over what others than the handlers need of a new image."""
        if delta.features is not None:
            self._state.features_epoch = image.provenance.end_offset - 1
        # A broker tells the image's own offset as the features' epoch.
        if delta.features is not None or self._broker is not None:
            self._clients.forget_answers(API_VERSIONS)
        if delta.topics is not None or delta.cluster is not None:
            self._clients.forget_answers(METADATA)
        if self._broker is not None:
            self._broker.on_metadata(delta, image)
        if delta.acls is not None:
            self._state.authorizer = self._state.authorizer.changed_by(delta.acls)

    # --- Inside

    def _take(self, event: Event) -> None:
        now_ms = self._state.now_ms
        match event:
            case BytesReceived(connection_id, data):
                self._peers.received(connection_id, data, now_ms)
            case ConnectionAccepted():
                self._accept(event)
            case ConnectionOpened(connection_id):
                self._peers.opened(connection_id, now_ms)
            case ConnectionLost(connection_id, reason):
                if self._peers.owns(connection_id):
                    self._peers.lost(connection_id, reason, now_ms)
                else:
                    self._clients.lost(connection_id)
            case ShutdownRequested():
                self._begin_shutdown()
            case _:
                assert_never(event)
        self._state.has_work = True

    def _accept(self, accepted: ConnectionAccepted) -> None:
        listener = self._listeners[accepted.listener]
        # Brokers that leave, this one among them, need the controller for it, and voters must hear who leads next.
        if self._is_shutting_down and not listener.is_controller:
            self._effects.append(Close(accepted.connection_id))
            return
        principal = admit(accepted, self.config.security, self._effects.append)
        if principal is None:
            return
        if listener.is_controller:
            ranges = self._controller_ranges
        else:
            assert self._broker is not None, "such a listener belongs to a broker"
            ranges = self._broker.ranges
        self._clients.accept(
            accepted.connection_id,
            listener,
            accepted.client_host,
            ranges,
            self._state.now_ms,
            principal=principal,
        )

    def _wake(self) -> None:
        self._state.has_work = True

    def _handle(self, request: OpenRequest) -> None:
        self._dispatcher.handle(request)
        self._limit()

    def _limit(self) -> None:
        """Begin nothing new that must be committed while as much as may waits for that already."""
        active = self._state.active
        is_full = active is not None and len(active.waiting) >= self.config.queued_max_requests
        self._clients.held_apis = _COMMITTING_APIS if is_full else frozenset()

    def _tick(self) -> None:
        now_ms, raft = self._state.now_ms, self._state.raft
        self._state.has_work = False
        raft.tick(now_ms)
        self._clients.tick(now_ms)
        self._peers.tick(now_ms)
        ran = True
        while ran:
            # The records of a decision are appended before anything is persisted: one sync for all of a step.
            self._controller.tick()
            ran = self._quorum.run()
            self._limit()
            self._clients.resume()
        self._snapshots.tick()
        if self.config.is_controller:
            self._registration.tick()
        if self._broker is not None:
            self._broker.tick()
            if self._broker.failure is not None:
                self._begin_shutdown()
        self._quorum.run()
        if raft.kraft_version != self._kraft_version:
            self._kraft_version = raft.kraft_version
            self._clients.forget_answers()
        if not self._state.has_caught_up and raft.high_watermark is not None:
            self._state.has_caught_up = self._state.applied_offset >= raft.high_watermark
            self._clients.forget_answers(API_VERSIONS)
        self._go_on_shutting_down()

    def _start_if_ready(self) -> None:
        """Answer clients. Not before: a broker that does not know the metadata yet would tell them what is not so."""
        if not self._is_started and (self._broker is None or self._broker.state is BrokerState.RUNNING):
            self._is_started = True
            self._effects.append(Started())
            self._clients.begin_serving(self._state.now_ms)
            self._tick()

    def _begin_shutdown(self) -> None:
        if not self._is_shutting_down:
            self._is_shutting_down = True
            self._effects.append(Fact("info", "shutdown-begins"))
            if self._broker is not None:
                self._broker.begin_shutdown()

    def _go_on_shutting_down(self) -> None:
        """End the broker first: it may need the controller of this very node for it (as in Kafka)."""
        if not self._is_shutting_down:
            return
        now_ms, raft = self._state.now_ms, self._state.raft
        if self._broker is not None and self._broker.state is not BrokerState.SHUTTING_DOWN:
            return
        if self._shutdown_deadline_ms is None:
            self._shutdown_deadline_ms = now_ms + SHUTDOWN_TIMEOUT_MS
        is_late = now_ms >= self._shutdown_deadline_ms
        voters = (self.image.cluster, raft.voters.keys(), self.config.node_id)
        if not self._is_leaving_quorum:
            if self._broker is not None and is_needed(*voters) and not is_late:
                return
            self._is_leaving_quorum = True
            raft.shutdown(now_ms)
            self._quorum.run()
        if raft.is_shut_down or is_last(*voters) or is_late:
            if self._broker is not None:
                self._broker.end_shutdown()
            failure = None if self._broker is None else self._broker.failure
            self._stop(Stop(0) if failure is None else Stop(1, failure))

    def _leave(self, reason: str) -> None:
        """End as a node that does not support what is finalized (KIP-778): a leader resigns, a broker unregisters."""
        now_ms = self._state.now_ms
        with suppress(OSError):
            self._quorum.resign()
        self._clients.close()
        if self._broker is None or self._broker.broker_epoch < 0:
            self._stop(Stop(1, reason))
            return
        self._unregistration = Unregistration(
            ActiveControllerChannel(self._state, self._peers, "unregistration"),
            self._peers,
            broker_id=self.config.node_id,
            reason=reason,
            now_ms=now_ms,
            effects=self._effects.append,
        )
        self._due_ms = now_ms

    def _end(self, events: Sequence[Event]) -> list[Effect]:
        """Hear of nothing but the answer to the unregistration: what comes of the metadata cannot be understood."""
        unregistration, now_ms = self._unregistration, self._state.now_ms
        if self._is_stopped or unregistration is None:
            return []
        self._due_ms = unregistration.hear(events, now_ms)
        if unregistration.is_over(now_ms):
            assert self._broker is not None
            with suppress(OSError):
                self._broker.end_shutdown()
            self._stop(Stop(1, unregistration.reason))
        return self._take_effects()

    def _take_effects(self) -> list[Effect]:
        effects = self._effects[:]
        self._effects.clear()
        return effects

    def _stop(self, stop: Stop) -> None:
        self._is_stopped = True
        self._clients.close()
        self._peers.close()
        self._effects.append(stop)

    def _times(self) -> Iterator[int | None]:
        yield self._state.raft.next_wakeup_ms
        yield self._clients.next_wakeup_ms
        yield self._peers.next_wakeup_ms
        yield self._controller.next_wakeup_ms
        yield self._snapshots.next_wakeup_ms
        if self.config.is_controller:
            yield self._registration.next_wakeup_ms
        if self._broker is not None:
            yield self._broker.next_wakeup_ms
        yield self._shutdown_deadline_ms


def _served(config: NodeConfig, kind: ListenerKind) -> Mapping[int, SupportedRange]:
    return served_ranges(config.release, kind, unstable=config.unstable_api_versions_enable)


def _earlier(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else min(one, other)


# Requests that may wait for a commit, those in envelopes too.
_COMMITTING_APIS: Final = frozenset(key for key, route in ROUTES.items() if route.needs_controller) | {58}
