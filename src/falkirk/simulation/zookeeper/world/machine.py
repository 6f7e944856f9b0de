"""A broker's machine: a host, its configured build, and its current process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.metadata.zookeeper.broker_znode import BROKER_IDS_PATH, broker_path, decode_broker
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.features_znode import decode_features
from falkirk.node.effects import Stop
from falkirk.protocol.endpoint import Endpoint
from falkirk.simulation.zookeeper.world.session_link import SessionLink
from falkirk.zookeeper_node.config.properties import read_zookeeper_properties
from falkirk.zookeeper_node.node import ZooKeeperNode
from falkirk.zookeeper_node.session.exchange import (
    AskZooKeeper,
    CloseSession,
    OpenSession,
    SessionChanged,
    SessionState,
    ZooKeeperAnswered,
)
from falkirk.zookeeper_node.session.operations import (
    Children,
    Create,
    Done,
    Failed,
    GetChildren,
    GetData,
    KeeperError,
    Znode,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from falkirk.metadata.zookeeper.finalized_features import FeatureState, Supported
    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.simulation.machine.host import Host
    from falkirk.simulation.machine.world import World
    from falkirk.simulation.zookeeper.world.ensemble import Ensemble
    from falkirk.simulation.zookeeper.world.marks import ZooKeeperMarks
    from falkirk.simulation.zookeeper.world.session_link import LinkConditions
    from falkirk.versions.release import Release
    from falkirk.zookeeper_node.config.zookeeper_node_config import ZooKeeperNodeConfig
    from falkirk.zookeeper_node.session.exchange import ZooKeeperEffect, ZooKeeperEvent
    from falkirk.zookeeper_node.session.operations import Answer, Operation

PORT: Final = 9092
SESSION_TIMEOUT_MS: Final = 2000
CONNECTION_TIMEOUT_MS: Final = 4000
REFRESH_MS: Final = 2000
# Simulated time starts here, so that timestamps are realistic.
EPOCH_MS: Final = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class Build:
    """A release, the additional features it supports, and the inter-broker protocol in its configuration."""

    release: "Release"
    supported: "Supported"
    inter_broker_protocol: str
    writes_kip_778: bool = False

    def properties(self, node_id: int) -> Mapping[str, str]:
        """Return server.properties."""
        return {
            "broker.id": str(node_id),
            "zookeeper.connect": "zookeeper:2181",
            "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
            "zookeeper.connection.timeout.ms": str(CONNECTION_TIMEOUT_MS),
            "listeners": f"PLAINTEXT://broker-{node_id}:{PORT}",
            "inter.broker.protocol.version": self.inter_broker_protocol,
            "falkirk.zookeeper.refresh.ms": str(REFRESH_MS),
            "falkirk.kip.778": str(self.writes_kip_778).lower(),
            "falkirk.supported.features": ",".join(f"{name}:{levels}" for name, levels in self.supported.items()),
        }

    def config(self, node_id: int) -> ZooKeeperNodeConfig:
        """Parse server.properties as a node does."""
        hostname = f"broker-{node_id}"
        return read_zookeeper_properties(self.properties(node_id), self.release, hostname=hostname).config

    def __str__(self) -> str:
        """Return a summary in one line."""
        supported = ",".join(f"{name}:{levels}" for name, levels in self.supported.items())
        return f"{self.release.word}, IBP {self.inter_broker_protocol}, {supported}"


class Reading(NamedTuple):
    """What a node has read of the features: whether it has, the last valid state, and whether that is outdated."""

    is_known: bool
    state: "FeatureState | None"
    is_malformed: bool


@dataclass(slots=True)
class Known:
    """The answers that a node has received, and when each first came."""

    features: Znode | None = None
    are_features_read: bool = False
    # False until the session has read its own writes: a lagging server may not have a znode yet.
    is_caught_up: bool = False
    is_malformed: bool = False
    # The last state that could be parsed.
    state: "FeatureState | None" = None
    # By broker id: the znode as last read, and when this content was first read.
    brokers: dict[int, tuple[Znode, int]] = field(default_factory=dict)
    # Registrations that are gone: when they were last seen, and what the broker supported.
    over: "list[tuple[int, Supported]]" = field(default_factory=list)

    def record(self, operation: Operation, answer: Answer, features_path: str, now_ms: int) -> None:
        """Record an answer."""
        match operation, answer:
            case GetData(path), Znode() if path == features_path:
                self._features_read(answer, path)
            case GetData(path), Failed(KeeperError.NO_NODE) if path == features_path and self.is_caught_up:
                self.are_features_read, self.is_malformed = True, False
                self.features = self.state = None
            case Create(path), Done() | Failed(KeeperError.NODE_EXISTS) if path == BROKER_IDS_PATH:
                self.is_caught_up = True
            case GetChildren("/brokers/ids"), Children(names):
                for node_id in [node_id for node_id in self.brokers if str(node_id) not in names]:
                    self._forget(node_id, now_ms)
            case GetData(path), Znode() if path.startswith("/brokers/ids/"):
                node_id = int(path.rpartition("/")[2])
                if self.brokers.get(node_id, (None, 0))[0] != answer:
                    self._forget(node_id, now_ms)
                    self.brokers[node_id] = answer, now_ms
            case GetData(path), Failed(KeeperError.NO_NODE) if path.startswith("/brokers/ids/"):
                self._forget(int(path.rpartition("/")[2]), now_ms)
            case _:
                pass

    @property
    def reading(self) -> Reading:
        """Return what the node has read of the features."""
        return Reading(self.are_features_read, self.state, self.is_malformed)

    def live(self) -> Iterator[tuple[int, Supported, int]]:
        """Yield the registered brokers with readable znodes: id, supported features, and since when."""
        for node_id, (znode, since_ms) in self.brokers.items():
            supported = _supported(znode, node_id)
            if supported is not None:
                yield node_id, supported, since_ms

    def _forget(self, node_id: int, now_ms: int) -> None:
        znode, _ = self.brokers.pop(node_id, (None, 0))
        supported = None if znode is None else _supported(znode, node_id)
        if supported is not None:
            self.over.append((now_ms, supported))

    def _features_read(self, znode: Znode, path: str) -> None:
        self.are_features_read = True
        self.features = znode
        try:
            self.state, self.is_malformed = decode_features(znode.data, path), False
        except ZnodeError:
            self.is_malformed = True


def _supported(znode: Znode, node_id: int) -> Supported | None:
    """Return the features that a broker's znode supports; None if it is malformed."""
    try:
        return decode_broker(znode.data, broker_path(node_id)).features or {}
    except ZnodeError:
        return None


@dataclass(frozen=True, slots=True)
class Writer:
    """The owner of a session; `life` counts the machine's starts."""

    machine: Machine
    life: int

    @property
    def name(self) -> str:
        """The machine's name, with the life if that is over."""
        return self.machine.name if self.is_alive else f"{self.machine.name} in its life {self.life}"

    @property
    def is_alive(self) -> bool:
        """True if the process that opened the session still runs."""
        return self.machine.link is not None and self.machine.host.starts == self.life


class Machine:
    """One broker, through all its lives. `build`: that of its next life."""

    def __init__(
        self,
        node_id: int,
        build: Build,
        *,
        world: World,
        ensemble: Ensemble,
        conditions: LinkConditions,
        marks: ZooKeeperMarks,
        opened: Callable[[int, Writer], None],
    ) -> None:
        self.node_id = node_id
        self.name = f"broker-{node_id}"
        self.endpoint = Endpoint(self.name, PORT)
        self.build = build
        # The build of the current process, or of the last one.
        self.running = build
        self.config = build.config(node_id)
        self.link: SessionLink | None = None
        self.known = Known()
        # The state before the current step: a step may receive events after it has sent requests.
        self.read_before = self.known.reading
        self.started_at_ms = 0
        # When the node noticed that it is disconnected; None while connected.
        self.alone_since_ms: int | None = None
        # Called with each response to the node.
        self.listeners_to_answers: list[Callable[[Machine, Operation, Answer], None]] = []
        # Called with each request of the node.
        self.listeners_to_requests: list[Callable[[Machine, Operation], None]] = []
        self._world = world
        self._chance = world.chance(self.name)
        self._ensemble = ensemble
        self._conditions = conditions
        self._marks = marks
        self._opened = opened
        self.host = world.add_host(
            self.name,
            {"PLAINTEXT": self.endpoint},
            self._make_program,
            skew_ms=EPOCH_MS + self._chance.randrange(0, 3_600_000),
        )

    @property
    def supported(self) -> Supported:
        """The features that the running process supports, `ibp-feature` included."""
        return self.config.supported_features

    @property
    def has_features(self) -> bool:
        """True if the running process has feature versioning enabled."""
        return self.config.inter_broker_protocol.supports_features

    def crash(self) -> None:
        """Kill the process."""
        self._end_link()
        self.host.crash("killed")

    def freeze(self, for_ms: int) -> None:
        """Pause the process and its session."""
        assert self.link is not None
        self.link.freeze(for_ms)
        self.host.freeze(for_ms)

    def asks(self, operation: Operation) -> None:
        """Handle an operation of the node."""
        for tell in self.listeners_to_requests:
            tell(self, operation)

    def answered(self, operation: Operation, answer: Answer) -> None:
        """Handle an answer to the node."""
        self.known.record(operation, answer, self.config.features_path, self._world.clock.now_ms)
        for tell in self.listeners_to_answers:
            tell(self, operation, answer)

    def ended(self) -> None:
        """Handle the end of the process."""
        self._end_link()

    def _end_link(self) -> None:
        if self.link is not None:
            self.link.die()
            self.link = None

    def _make_program(self, host: Host) -> _Process:
        self.running, self.known = self.build, Known()
        self.config = self.build.config(self.node_id)
        self.started_at_ms = self.alone_since_ms = self._world.clock.now_ms
        process = _Process(self, ZooKeeperNode(self.config, random=self._chance, now_ms=host.clock.now_ms))

        def deliver(event: ZooKeeperEvent) -> None:
            if isinstance(event, SessionChanged):
                if event.state is SessionState.CONNECTED:
                    self.alone_since_ms = None
                elif self.alone_since_ms is None:
                    self.alone_since_ms = self._world.clock.now_ms
            process.inbox.append(event)
            host.wake()

        self.link = process.link = SessionLink(
            clock=self._world.clock,
            chance=self._chance,
            ensemble=self._ensemble,
            conditions=self._conditions,
            timeout_ms=SESSION_TIMEOUT_MS,
            deliver=deliver,
            marks=self._marks,
            opened=lambda session_id: self._opened(session_id, Writer(self, host.starts)),
        )
        return process


class _Process:
    """The node as its host runs it: ZooKeeper effects go to the session link."""

    link: SessionLink

    def __init__(self, machine: Machine, node: ZooKeeperNode) -> None:
        self.inbox: list[ZooKeeperEvent] = []
        self._machine = machine
        self._node = node
        self._requested: dict[int, Operation] = {}

    def step(self, events: Sequence[Event], now_ms: int) -> Sequence[Effect]:
        """Process events of connections and of the session; return the effects for the host."""
        reported, self.inbox = self.inbox, []
        self._machine.read_before = self._machine.known.reading
        for event in reported:
            if isinstance(event, SessionChanged) and event.state is SessionState.EXPIRED:
                self._machine.known.is_caught_up = False
            elif isinstance(event, ZooKeeperAnswered):
                self._machine.answered(self._requested.pop(event.request_id), event.answer)
        effects: list[Effect] = []
        for effect in self._node.step([*events, *reported], now_ms):
            if isinstance(effect, (OpenSession, CloseSession, AskZooKeeper)):
                self._execute(effect)
            else:
                effects.append(effect)
        if any(isinstance(effect, Stop) for effect in effects):
            self._machine.ended()
        return effects

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the node wants a step."""
        return self._node.next_wakeup_ms

    def _execute(self, effect: ZooKeeperEffect) -> None:
        if isinstance(effect, AskZooKeeper):
            self._requested[effect.request_id] = effect.operation
            self._machine.asks(effect.operation)
        self.link.execute(effect)
