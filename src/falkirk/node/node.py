"""One Kafka node: events in, effects out. A driver only moves bytes.

    node = Node(config, disk, random, now_ms)     # raises StartupError
    for effect in node.step([BytesReceived(2, data)], now_ms):
        ...                                       # send, connect, close, log, stop
    sleep until node.next_wakeup_ms, or until something happens

A step handles its events, then does periodic work, then executes the output of raft until there is none. So everything
that the events of one step append is persisted with one sync, and a response is sent when what it depends on is
committed. See docs/internals/node.md.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

from falkirk.metadata.records.errors import RecordError
from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.broker.broker_role import BrokerRole
from falkirk.node.broker.unregistration import Unregistration
from falkirk.node.config.role_settings import listener_ranges, raft_config
from falkirk.node.connections.active_controller_channel import ActiveControllerChannel
from falkirk.node.connections.admission import admit
from falkirk.node.connections.client_connections import ClientConnections
from falkirk.node.connections.client_quotas import client_quotas
from falkirk.node.connections.credentials import Credentials
from falkirk.node.connections.holds import NOT_SERVING
from falkirk.node.connections.listeners import Listeners
from falkirk.node.connections.outbound_connections import OutboundConnections
from falkirk.node.connections.request_facts import RequestFacts
from falkirk.node.controller.controller_registrar import ControllerRegistrar
from falkirk.node.controller.controller_role import ControllerRole
from falkirk.node.controller.controllership import Controllership
from falkirk.node.controller.feature_updates import FeatureUpdates
from falkirk.node.controller.standby_indexes import StandbyIndexes
from falkirk.node.dispatcher import OPERATION, TOO_MANY_COMMITS, Dispatcher
from falkirk.node.effects import Close, Started, Stop
from falkirk.node.errors import FatalError, StartupError, UnfitError
from falkirk.node.events import (
    BytesReceived,
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    ShutdownRequested,
)
from falkirk.node.handlers.routes import ROUTES
from falkirk.node.measurements import measure_slices
from falkirk.node.metadata_log.level_changes import LevelChanges
from falkirk.node.metadata_log.metadata_applier import MetadataApplier
from falkirk.node.metadata_log.quorum_driver import QuorumDriver
from falkirk.node.metadata_log.snapshot_generator import SnapshotGenerator
from falkirk.node.shutdown import Shutdown
from falkirk.node.startup.open_node import open_node, startup_facts
from falkirk.node.step import Step
from falkirk.node.views import Views
from falkirk.protocol.uuid import random_uuid
from falkirk.raft.replica import RaftReplica
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.partition_directory import METADATA_DIRECTORY
from falkirk.versions.api_support import Listener as ListenerKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.config.node_config import NodeConfig
    from falkirk.node.connections.client_connection import OpenRequest
    from falkirk.node.connections.connection_counters import ConnectionCounters
    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.node.measurements import Measurements
    from falkirk.node.startup.open_node import Startup
    from falkirk.protocol.chance import Chance
    from falkirk.slices import Slices
    from falkirk.storage.disk import Disk
    from falkirk.storage.metadata_log import MetadataLog

# socket.connection.setup.timeout.ms
CONNECTION_SETUP_TIMEOUT_MS: Final = 10_000
_ELEMENTS_MAX: Final = {key: route.elements_max for key, route in ROUTES.items()}


class Node:
    """One node, from its start to its Stop. Raises StartupError, having changed nothing on the disk.

    `thread_ns` returns a time that rises while the node's thread works: it measures requests (`request_percentage`).
    """

    def __init__(
        self, config: NodeConfig, disk: Disk, random: Chance, now_ms: int, thread_ns: Callable[[], int] = lambda: 0
    ) -> None:
        self.config = config
        self._effects: list[Effect] = []
        emit = self._effects.append
        startup = open_node(config, disk, random)
        self._log = startup.log
        source = f"{config.metadata_log_dir}/{METADATA_DIRECTORY}"
        self._step = step = Step(config, cluster_id=startup.directories.cluster_id, random=random, now_ms=now_ms)
        self.standby = StandbyIndexes(step.works)
        publishers = (self, self.standby) if config.is_controller else (self,)
        level_changes = LevelChanges(emit)
        self._applier = applier = MetadataApplier(
            startup.log, startup.gate, publishers, step.works, observer=level_changes, source=source
        )
        self._raft = RaftReplica(
            raft_config(config, startup.directories.cluster_id, startup.directories.metadata_directory_id),
            startup.election_state,
            startup.log,
            random,
            now_ms,
            is_ready_to_lead=lambda: self.standby.current is not None and not applier.is_busy,
        )
        self._controllership = Controllership(config.node_id, self._raft, step.wake)
        self._quotas = client_quotas(config, lambda: applier.image.client_quotas, lambda: step.now_ms, thread_ns)
        self._views = Views(step, self._raft, applier, startup.log, self._controllership, quotas=self._quotas)
        self._request_facts = RequestFacts(
            node_id=config.node_id, release=config.release, now_ms=lambda: step.now_ms, effects=emit
        )
        self._listeners = Listeners(config, emit)
        self._clients = self._make_clients(random)
        self._outbound = self._make_outbound(random)
        self._open_channel = partial(ActiveControllerChannel, step, self._outbound, lambda: self._raft.leader_endpoint)
        self._dispatcher = Dispatcher(
            step, self._raft, applier, self._controllership, views=self._views, clients=self._clients, effects=emit
        )
        if config.is_controller:
            self._views.feature_updates = level_changes.keeper = FeatureUpdates(
                step, self._raft, applier, self._controllership, disk=disk, outbound=self._outbound, effects=emit
            )
        self._snapshots = SnapshotGenerator(
            step, self._raft, startup.log, applier, lengthen_log=self._controllership.lengthen_log, effects=emit
        )
        self._controller = self._make_controller_role(startup)
        self._quorum = self._make_quorum_driver(startup)
        self._registration = ControllerRegistrar(
            step, applier, self._open_channel("registration"), incarnation_id=random_uuid(random), effects=emit
        )
        try:
            self._broker = self._make_broker(startup, disk) if config.is_broker else None
        except OSError as error:
            raise StartupError(f"The disk of {config.metadata_log_dir} failed: {error}") from error
        self._controller_ranges = listener_ranges(config, ListenerKind.CONTROLLER)
        self._kraft_version = self._raft.kraft_version
        self._unregistration: Unregistration | None = None
        self._is_started = self._has_ticked = False
        self._shutdown = Shutdown(step, self._raft, applier, self._broker, run_quorum=self._quorum.run, effects=emit)
        self._due_ms: int | None = now_ms
        self._is_stopped = False
        self._effects += startup_facts(config, startup)
        try:
            applier.load_latest_snapshot()
        except (RecordError, CorruptFileError) as record_error:
            raise StartupError(str(record_error)) from record_error

    def _make_clients(self, random: Chance) -> ClientConnections:
        clients = ClientConnections(
            effects=self._effects.append,
            handle=self._handle,
            on_closed=lambda connection_id: self._dispatcher.forget(connection_id),  # noqa: PLW0108  made below
            frame_bytes_max=self.config.socket_request_max_bytes,
            elements_max=_ELEMENTS_MAX,
            idle_ms_max=self.config.connections_max_idle_ms,
            on_answered=self._request_facts.answered if self.config.has_request_facts else None,
            security=lambda: self._listeners.security,
            credentials=Credentials(
                lambda: self._applier.image, random, token_key=self.config.delegation_token_secret_key
            ),
            wake=self._step.wake,
            works=self._step.works,
        )
        clients.holds.set(NOT_SERVING, is_held=self.config.is_broker)
        return clients

    def _make_outbound(self, random: Chance) -> OutboundConnections:
        return OutboundConnections(
            self.config.release,
            node_id=self.config.node_id,
            listener=self.config.controller_listener_names[0],
            effects=self._effects.append,
            setup_timeout_ms=CONNECTION_SETUP_TIMEOUT_MS,
            idle_ms_max=self.config.connections_max_idle_ms,
            logins=self.config.security.logins,
            random=random,
        )

    def _make_controller_role(self, startup: Startup) -> ControllerRole:
        return ControllerRole(
            self._step,
            self._raft,
            self._applier,
            self._controllership,
            self.standby,
            bootstrap=startup.bootstrap,
            responder=self._dispatcher,
            effects=self._effects.append,
        )

    def _make_quorum_driver(self, startup: Startup) -> QuorumDriver:
        return QuorumDriver(
            self._step,
            self._raft,
            startup.log,
            self._applier,
            outbound=self._outbound,
            snapshots=self._snapshots,
            on_reply=self._dispatcher.answer_from_raft,
            on_leader=self._controller.leader_changed,
            on_committed=self._dispatcher.answer_committed,
            effects=self._effects.append,
        )

    def _make_broker(self, startup: Startup, disk: Disk) -> BrokerRole:
        broker = BrokerRole(
            self._step,
            self._applier,
            own_ranges=listener_ranges(self.config, ListenerKind.BROKER),
            open_channel=self._open_channel,
            outbound=self._outbound,
            clients=self._clients,
            directories=startup.directories,
            disk=disk,
            effects=self._effects.append,
        )
        self._dispatcher.forwarding = broker.forwarding
        self._views.broker = broker.services
        return broker

    # --- What a driver calls

    def step(self, events: Sequence[Event], now_ms: int) -> list[Effect]:
        """Handle events and return effects, in order. After a Stop there are none."""
        self._step.begin(now_ms)
        if self._is_stopped or self._unregistration is not None:
            return self._end(events)
        try:
            self._quorum.finish_append()
            for event in events:
                # The most frequent event by far; it needs no periodic work if all is answered from memory.
                if type(event) is BytesReceived and not self._outbound.owns(event.connection_id):
                    self._clients.received(event.connection_id, event.data, now_ms)
                else:
                    self._handle_event(event)
            # Bytes that are kept, or answered from memory, change nothing there.
            broker = self._broker if self._step.api_keys or self._has_ticked else None
            if broker is not None:
                broker.complete()
            self._has_ticked = False
            # Most requests are answered from memory, or wait, and need no periodic work.
            if self._step.has_work or (self._due_ms is not None and now_ms >= self._due_ms):
                self._tick()
                self._start_if_ready()
                self._has_ticked = True
                self._due_ms = min((time for time in self._times() if time is not None), default=None)
            elif broker is not None and (deadline_ms := broker.next_deadline_ms) is not None:
                self._due_ms = deadline_ms if self._due_ms is None else min(self._due_ms, deadline_ms)
        except UnfitError as error:
            self._leave(str(error))
        except (FatalError, CorruptFileError) as fatal_error:
            self._stop(Stop(1, str(fatal_error)))
        except OSError as os_error:
            self._stop(Stop(1, f"The disk of {self.config.metadata_log_dir} failed: {os_error}"))
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
        """What the last step did, as fields of a fact."""
        return self._step.work_done

    # --- State

    @property
    def image(self) -> MetadataImage:
        """The metadata as far as it is committed and applied here."""
        return self._applier.image

    @property
    def raft(self) -> RaftReplica:
        """The replica of the metadata log."""
        return self._raft

    @property
    def node_id(self) -> int:
        """`node.id`."""
        return self.config.node_id

    @property
    def log(self) -> MetadataLog:
        """The metadata log on disk."""
        return self._log

    @property
    def is_active_controller(self) -> bool:
        """True if the node serves as the active controller."""
        return self._controllership.serving is not None

    @property
    def decided_image(self) -> MetadataImage | None:
        """The image that the active controller decides on, with uncommitted records; None on other nodes."""
        active = self._controllership.serving
        return None if active is None else active.controller.state.image

    @property
    def broker(self) -> BrokerRole | None:
        """The broker role; None on a mere controller."""
        return self._broker

    @property
    def counters(self) -> ConnectionCounters:
        """Counters of accepted connections."""
        return self._clients.counters

    def measure_slices(self) -> Slices[Measurements]:
        """Return the node's state in numbers; steps may come between the slices."""
        return measure_slices(
            self._raft,
            self._applier,
            self._clients,
            self._broker,
            supported_features=self.config.supported_features,
            is_active_controller=self.is_active_controller,
        )

    # --- What the loader calls

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Publish a new image to views, connections and the broker."""
        self._views.on_metadata(delta, image)
        self._dispatcher.forget_answers(delta)
        if delta.configs is not None:
            self._listeners.apply(image.configs)
        if self._broker is not None:
            self._broker.on_metadata(delta, image)

    # --- Inside

    def _handle_event(self, event: Event) -> None:
        now_ms = self._step.now_ms
        match event:
            case BytesReceived(connection_id, data):
                self._outbound.received(connection_id, data, now_ms)
            case ConnectionAccepted():
                self._accept(event)
            case ConnectionOpened(connection_id):
                self._outbound.opened(connection_id, now_ms)
            case ConnectionLost(connection_id, reason):
                if self._outbound.owns(connection_id):
                    self._outbound.lost(connection_id, reason, now_ms)
                else:
                    self._clients.lost(connection_id)
            case ShutdownRequested():
                self._shutdown.begin()
            case _:
                assert_never(event)
        self._step.wake()

    def _accept(self, accepted: ConnectionAccepted) -> None:
        listener = self._listeners.by_name.get(accepted.listener)
        # Brokers that shut down, this one included, need the controller, and voters must learn the next leader.
        if listener is None or (self._shutdown.has_begun and not listener.is_controller):
            self._effects.append(Close(accepted.connection_id))
            return
        throttle_ms = self._quotas.connected(accepted.client_host)
        principal = admit(accepted, self._listeners.security, self._effects.append, throttle_ms=throttle_ms)
        if principal is None:
            return
        if listener.is_controller:
            ranges = self._controller_ranges
        else:
            assert self._broker is not None, "such a listener belongs to a broker"
            ranges = self._broker.ranges
        self._clients.accept(
            accepted.connection_id, listener, accepted.client_host, ranges, self._step.now_ms, principal=principal
        )

    def _handle(self, request: OpenRequest) -> None:
        self._dispatcher.handle(request)
        self._limit()

    def _limit(self) -> None:
        """Hold requests to the controller while it decides on another, or `queued.max.requests` wait for a commit."""
        active = self._controllership.active
        is_full = active is not None and len(active.waiting) >= self.config.queued_max_requests
        self._clients.holds.set(TOO_MANY_COMMITS, is_held=is_full)
        self._clients.holds.set(OPERATION, is_held=active is not None and active.is_operating)

    def _tick(self) -> None:
        now_ms, raft = self._step.now_ms, self._raft
        self._step.has_work = False
        raft.tick(now_ms)
        self._clients.tick(now_ms)
        self._outbound.tick(now_ms)
        # Before decisions are appended: a slice may be the last one, whose results leave with this step.
        self._step.works.progress()
        # What an operation has held, when it ends, before sessions are looked at: heartbeats are among it.
        self._limit()
        self._clients.resume(now_ms)
        ran = True
        while ran:
            # Decisions are appended before anything is persisted: one sync for all of a step.
            self._controller.tick()
            ran = self._quorum.run()
            self._limit()
            self._clients.resume(now_ms)
        self._snapshots.tick()
        if self.config.is_controller:
            self._registration.tick()
        if self._broker is not None:
            self._broker.tick()
            if self._broker.failure is not None:
                self._shutdown.begin()
        # Those behind what the broker has answered.
        self._clients.resume(now_ms)
        self._quorum.run()
        if raft.kraft_version != self._kraft_version:
            self._kraft_version = self._raft.kraft_version
            self._clients.forget_answers()
        if not self._views.has_caught_up and raft.high_watermark is not None:
            self._views.has_caught_up = self._applier.applied_offset >= raft.high_watermark
            self._clients.forget_answers()
        stop = self._shutdown.advance()
        if stop is not None:
            self._stop(stop)

    def _start_if_ready(self) -> None:
        """Serve clients once the broker runs: before that it does not know the metadata."""
        if not self._is_started and (self._broker is None or self._broker.state is BrokerState.RUNNING):
            self._is_started = True
            self._effects.append(Started())
            self._clients.holds.set(NOT_SERVING, is_held=False)
            self._tick()

    def _leave(self, reason: str) -> None:
        """End because the release does not support the finalized levels: resign, and unregister a broker (KIP-778)."""
        now_ms = self._step.now_ms
        with suppress(OSError):
            self._quorum.resign()
        self._clients.close()
        if self._broker is None or self._broker.broker_epoch < 0:
            self._stop(Stop(1, reason))
            return
        self._unregistration = Unregistration(
            self._open_channel("unregistration"),
            self._outbound,
            broker_id=self.config.node_id,
            reason=reason,
            now_ms=now_ms,
            effects=self._effects.append,
        )
        self._due_ms = now_ms

    def _end(self, events: Sequence[Event]) -> list[Effect]:
        """Process only the unregistration: the metadata cannot be trusted any more."""
        unregistration, now_ms = self._unregistration, self._step.now_ms
        if self._is_stopped or unregistration is None:
            return []
        self._due_ms = unregistration.receive(events, now_ms)
        if unregistration.is_over(now_ms):
            assert self._broker is not None
            with suppress(OSError):
                for _ in self._broker.end_shutdown():
                    pass
            self._stop(Stop(1, unregistration.reason))
        return self._pop_effects()

    def _pop_effects(self) -> list[Effect]:
        effects = self._effects[:]
        self._effects.clear()
        return effects

    def _stop(self, stop: Stop) -> None:
        self._is_stopped = True
        self._clients.close()
        self._outbound.close()
        self._effects.append(stop)

    def _times(self) -> Iterator[int | None]:
        yield self._raft.next_wakeup_ms
        yield self._clients.next_wakeup_ms
        yield self._outbound.next_wakeup_ms
        yield self._controller.next_wakeup_ms
        yield self._snapshots.next_wakeup_ms
        if self.config.is_controller:
            yield self._registration.next_wakeup_ms
        if self._broker is not None:
            yield self._broker.next_wakeup_ms
        yield self._shutdown.deadline_ms
        yield self._step.now_ms if self._step.works.is_busy or self._quorum.is_unsynced else None
