"""A broker's machine: a host, what the operator has configured, and the life that its process lives now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.metadata.zookeeper.broker_znode import BROKER_IDS_PATH, broker_path, decode_broker
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.features_znode import decode_features
from falkirk.node.effects import Stop
from falkirk.node.zookeeper.exchange import (
    AskZooKeeper,
    CloseSession,
    OpenSession,
    SessionChanged,
    SessionState,
    ZooKeeperAnswered,
)
from falkirk.node.zookeeper.node import ZooKeeperNode
from falkirk.node.zookeeper.operations import Children, Create, Done, Failed, GetChildren, GetData, Refusal, Znode
from falkirk.node.zookeeper.properties import read_zookeeper_properties
from falkirk.protocol.endpoint import Endpoint
from falkirk.simulation.zookeeper.session_link import SessionLink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from falkirk.metadata.zookeeper.finalized_features import FeatureState, Supported
    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.node.zookeeper.config import ZooKeeperNodeConfig
    from falkirk.node.zookeeper.exchange import ZooKeeperEffect, ZooKeeperEvent
    from falkirk.node.zookeeper.operations import Answer, Operation
    from falkirk.simulation.host import Host
    from falkirk.simulation.world import World
    from falkirk.simulation.zookeeper.ensemble import Ensemble
    from falkirk.simulation.zookeeper.session_link import LinkConditions
    from falkirk.simulation.zookeeper.zookeeper_marks import ZooKeeperMarks
    from falkirk.versions.release import Release

PORT: Final = 9092
SESSION_TIMEOUT_MS: Final = 2000
CONNECTION_TIMEOUT_MS: Final = 4000
REFRESH_MS: Final = 2000
# Simulated time starts here, so that time stamps look like such.
EPOCH_MS: Final = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class Build:
    """What runs on a machine: a release, what it supports beside that, and the protocol in its configuration."""

    release: Release
    supported: Supported
    inter_broker_protocol: str
    writes_kip_778: bool = False

    def properties(self, node_id: int) -> Mapping[str, str]:
        """Write server.properties."""
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
        """Read server.properties as a node would."""
        hostname = f"broker-{node_id}"
        return read_zookeeper_properties(self.properties(node_id), self.release, hostname=hostname).config

    def __str__(self) -> str:
        """Say it in a line."""
        supported = ",".join(f"{name}:{levels}" for name, levels in self.supported.items())
        return f"{self.release.word}, IBP {self.inter_broker_protocol}, {supported}"


class Reading(NamedTuple):
    """What a node has read of the features: whether it did, what could be read last, and whether that is over."""

    is_known: bool
    state: FeatureState | None
    is_malformed: bool


@dataclass(slots=True)
class Known:
    """What a node has been answered, and when it was told first; what it makes of it is its own business."""

    features: Znode | None = None
    are_features_read: bool = False
    # Whether what this session reads is behind what it has written: a server that lags may not have a znode yet.
    is_caught_up: bool = False
    is_malformed: bool = False
    # As it could be read last.
    state: FeatureState | None = None
    # By id: the znode as it was read, and since when it has been so.
    brokers: dict[int, tuple[Znode, int]] = field(default_factory=dict)
    # What stood so and does not any more: when it was told last, and what the broker supported.
    over: list[tuple[int, Supported]] = field(default_factory=list)

    def take(self, operation: Operation, answer: Answer, features_path: str, now_ms: int) -> None:
        """Take an answer in."""
        match operation, answer:
            case GetData(path), Znode() if path == features_path:
                self._features_read(answer, path)
            case GetData(path), Failed(Refusal.NO_NODE) if path == features_path and self.is_caught_up:
                self.are_features_read, self.is_malformed = True, False
                self.features = self.state = None
            case Create(path), Done() | Failed(Refusal.NODE_EXISTS) if path == BROKER_IDS_PATH:
                self.is_caught_up = True
            case GetChildren("/brokers/ids"), Children(names):
                for node_id in [node_id for node_id in self.brokers if str(node_id) not in names]:
                    self._forget(node_id, now_ms)
            case GetData(path), Znode() if path.startswith("/brokers/ids/"):
                node_id = int(path.rpartition("/")[2])
                if self.brokers.get(node_id, (None, 0))[0] != answer:
                    self._forget(node_id, now_ms)
                    self.brokers[node_id] = answer, now_ms
            case GetData(path), Failed(Refusal.NO_NODE) if path.startswith("/brokers/ids/"):
                self._forget(int(path.rpartition("/")[2]), now_ms)
            case _:
                pass

    @property
    def reading(self) -> Reading:
        """Give what it has read of the features."""
        return Reading(self.are_features_read, self.state, self.is_malformed)

    def live(self) -> Iterator[tuple[int, Supported, int]]:
        """Give the brokers that it was told of and whose znodes can be read: what they support, and since when."""
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
    """Read what a broker supports; None if its znode cannot be read."""
    try:
        return decode_broker(znode.data, broker_path(node_id)).features or {}
    except ZnodeError:
        return None


@dataclass(frozen=True, slots=True)
class Writer:
    """Whose session it is: `life` counts the machine's starts."""

    machine: Machine
    life: int

    @property
    def name(self) -> str:
        """Name the machine, and its life if that is over."""
        return self.machine.name if self.is_alive else f"{self.machine.name} in its life {self.life}"

    @property
    def is_alive(self) -> bool:
        """Say whether the process that began the session still runs: what it knows is what the machine knows."""
        return self.machine.link is not None and self.machine.host.starts == self.life


class Machine:
    """One broker, life after life. `build` is what its next life begins with."""

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
        # Of the life that it lives now, or lived last.
        self.running = build
        self.config = build.config(node_id)
        self.link: SessionLink | None = None
        self.known = Known()
        # As it was before the step that is under way: what is told in a step may come after what is asked in it.
        self.read_before = self.known.reading
        self.started_at_ms = 0
        # Since when the node has not been told that it is connected; None while it is.
        self.alone_since_ms: int | None = None
        # Asked about each answer that the node is given.
        self.listeners_to_answers: list[Callable[[Machine, Operation, Answer], None]] = []
        # Told of each operation that the node asks for.
        self.listeners_to_questions: list[Callable[[Machine, Operation], None]] = []
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
        """What the process that runs supports, `ibp-feature` included."""
        return self.config.supported_features

    @property
    def has_features(self) -> bool:
        """Say whether the process that runs takes part in the versioning of features."""
        return self.config.inter_broker_protocol.supports_features

    def crash(self) -> None:
        """End the process without further notice."""
        self._end_link()
        self.host.crash("killed")

    def freeze(self, for_ms: int) -> None:
        """Stand still for a while."""
        assert self.link is not None
        self.link.freeze(for_ms)
        self.host.freeze(for_ms)

    def asks(self, operation: Operation) -> None:
        """Take note of what the node asks for."""
        for tell in self.listeners_to_questions:
            tell(self, operation)

    def answered(self, operation: Operation, answer: Answer) -> None:
        """Take note of what the node is told."""
        self.known.take(operation, answer, self.config.features_path, self._world.clock.now_ms)
        for tell in self.listeners_to_answers:
            tell(self, operation, answer)

    def ended(self) -> None:
        """Take note that the process stops."""
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
    """The node as its host runs it: what is ZooKeeper's goes over the link."""

    link: SessionLink

    def __init__(self, machine: Machine, node: ZooKeeperNode) -> None:
        self.inbox: list[ZooKeeperEvent] = []
        self._machine = machine
        self._node = node
        self._asked: dict[int, Operation] = {}

    def step(self, events: Sequence[Event], now_ms: int) -> Sequence[Effect]:
        """Take events of connections and of the session; give what the host does."""
        told, self.inbox = self.inbox, []
        self._machine.read_before = self._machine.known.reading
        for event in told:
            if isinstance(event, SessionChanged) and event.state is SessionState.EXPIRED:
                self._machine.known.is_caught_up = False
            elif isinstance(event, ZooKeeperAnswered):
                self._machine.answered(self._asked.pop(event.request_id), event.answer)
        effects: list[Effect] = []
        for effect in self._node.step([*events, *told], now_ms):
            if isinstance(effect, (OpenSession, CloseSession, AskZooKeeper)):
                self._execute(effect)
            else:
                effects.append(effect)
        if any(isinstance(effect, Stop) for effect in effects):
            self._machine.ended()
        return effects

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the node wants to be stepped."""
        return self._node.next_wakeup_ms

    def _execute(self, effect: ZooKeeperEffect) -> None:
        if isinstance(effect, AskZooKeeper):
            self._asked[effect.request_id] = effect.operation
            self._machine.asks(effect.operation)
        self.link.execute(effect)
