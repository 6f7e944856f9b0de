"""Brokers on an in-memory ZooKeeper in one process; time advances only when nothing else happens.

network = ZooKeeperNetwork()
network.start(1, falkirk_supported_features="gc:1-2")
answer = network.client(1).ask(MetadataRequest(), 12)
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING

from ensemble_client import EnsembleClient
from node_network import Client

from falkirk.metadata.zookeeper.features_znode import decode_features
from falkirk.node.effects import Close, Fact, Send, Started, Stop
from falkirk.node.events import ConnectionAccepted, ShutdownRequested
from falkirk.simulation.zookeeper.world.ensemble import Ensemble
from falkirk.versions.release import Release
from falkirk.zookeeper_node.config.properties import read_security_settings, read_zookeeper_properties
from falkirk.zookeeper_node.node import ZooKeeperNode
from falkirk.zookeeper_node.session.exchange import AskZooKeeper, CloseSession, OpenSession
from falkirk.zookeeper_node.session.operations import Multi

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.zookeeper.finalized_features import FeatureState
    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.zookeeper_node.config.zookeeper_node_config import ZooKeeperNodeConfig
    from falkirk.zookeeper_node.session.exchange import ZooKeeperEffect, ZooKeeperEvent

LISTENER = "PLAINTEXT"
START_MS = 1_770_000_000_000


@dataclass(eq=False)
class ZooKeeperHost:
    """A machine with one broker; `is_cut_off`: it cannot reach its ZooKeeper.

    Its operations on `held_path` and below are held until `release`.
    """

    config: ZooKeeperNodeConfig
    node: ZooKeeperNode
    link: EnsembleClient
    inbox: deque[Event | ZooKeeperEvent] = field(default_factory=deque)
    facts: list[Fact] = field(default_factory=list)
    clients: dict[int, Client] = field(default_factory=dict)
    is_cut_off: bool = False
    held_path: str | None = None
    held: list[AskZooKeeper] = field(default_factory=list)
    times_started: int = 0
    stop: Stop | None = None
    next_connection_id: int = 0

    def holds(self, asked: AskZooKeeper) -> bool:
        """True if an operation has to wait."""
        operation = asked.operation
        return (
            self.held_path is not None
            and not isinstance(operation, Multi)
            and (operation.path == self.held_path or operation.path.startswith(f"{self.held_path}/"))
        )

    def told(self, event: str) -> list[Fact]:
        """Return the facts of one kind."""
        return [fact for fact in self.facts if fact.event == event]


class ZooKeeperNetwork:
    """All brokers of a cluster and their ZooKeeper."""

    def __init__(self) -> None:
        self.ensemble = Ensemble()
        self.now_ms = START_MS
        self.random = Random(1)
        self.hosts: dict[int, ZooKeeperHost] = {}

    def add(
        self,
        node_id: int,
        properties: Mapping[str, str] | None = None,
        *,
        release: str = "3.9",
        is_cut_off: bool = False,
        held_path: str | None = None,
        **given: str,
    ) -> ZooKeeperHost:
        """Start a broker; property keys may have _ for every dot."""
        read = read_zookeeper_properties(
            {
                "broker.id": str(node_id),
                "zookeeper.connect": "zoo:2181",
                "listeners": f"{LISTENER}://node{node_id}:9092",
                **(properties or {}),
                **{key.replace("_", "."): value for key, value in given.items()},
            },
            Release.parse(release),
            hostname="host.test",
        )
        config = replace(read.config, security=read_security_settings(read))
        node = ZooKeeperNode(config, random=self.random, now_ms=self.now_ms)
        inbox: deque[Event | ZooKeeperEvent] = deque()
        host = ZooKeeperHost(config, node, EnsembleClient(self.ensemble, inbox.append), inbox)
        host.is_cut_off, host.held_path = is_cut_off, held_path
        self.hosts[node_id] = host
        self._step(host)
        return host

    def start(
        self, node_id: int, properties: Mapping[str, str] | None = None, *, release: str = "3.9", **given: str
    ) -> ZooKeeperHost:
        """Start a broker, and run until it serves or has ended."""
        host = self.add(node_id, properties, release=release, **given)
        self.settle()
        return host

    def crash(self, node_id: int) -> None:
        """End a broker without notice; its session lives until it expires."""
        del self.hosts[node_id]

    def shut_down(self, node_id: int) -> Stop:
        """Ask a broker to stop, and wait until it has."""
        host = self.hosts[node_id]
        host.inbox.append(ShutdownRequested())
        self.settle()
        assert host.stop is not None
        return host.stop

    def connect(self, node_id: int) -> None:
        """Reconnect a broker that was cut off."""
        host = self.hosts[node_id]
        host.is_cut_off = False
        host.link.execute(OpenSession(), self.now_ms)
        self.settle()

    def release(self, node_id: int) -> None:
        """Execute the held operations."""
        host = self.hosts[node_id]
        host.held_path = None
        held, host.held = host.held, []
        for asked in held:
            host.link.execute(asked, self.now_ms)
        self.settle()

    def settle(self) -> None:
        """Run everything that happens at the current time."""
        rounds = 0
        while any(host.inbox for host in self.hosts.values()):
            for host in list(self.hosts.values()):
                if host.inbox:
                    self._step(host)
            rounds += 1
            assert rounds < 1000, "it never comes to rest"

    def run_for(self, time_ms: int) -> None:
        """Run for a duration."""
        end_ms = self.now_ms + time_ms
        self.settle()
        while True:
            wakeups = [host.node.next_wakeup_ms for host in self.hosts.values()]
            due_ms = min((wakeup for wakeup in wakeups if wakeup is not None), default=end_ms + 1)
            self.now_ms = max(self.now_ms, min(due_ms, end_ms))
            for host in self.hosts.values():
                if host.node.next_wakeup_ms is not None and host.node.next_wakeup_ms <= self.now_ms:
                    self._step(host)
            self.settle()
            if due_ms > end_ms:
                return

    def run_until(self, condition: Callable[[], bool]) -> None:
        """Run until a condition holds, a minute at most."""
        self.settle()
        for _ in range(600):
            if condition():
                return
            self.run_for(100)
        raise AssertionError("it does not come to be")

    def client(self, node_id: int, listener: str = LISTENER, *, client_host: str = "10.0.0.1") -> Client:
        """Connect to a broker."""
        host = self.hosts[node_id]
        host.next_connection_id += 2
        client = Client(self, host, host.next_connection_id)
        host.clients[client.connection_id] = client
        host.inbox.append(ConnectionAccepted(client.connection_id, listener, client_host))
        self.settle()
        return client

    def finalized(self, path: str = "/features") -> tuple[FeatureState, int] | None:
        """Return the features in ZooKeeper, and the version of their znode."""
        znode = self.ensemble.znode(path)
        return None if znode is None else (decode_features(znode.data, path), znode.version)

    def execute(self, host: ZooKeeperHost, effect: Effect | ZooKeeperEffect) -> None:
        """Execute an effect of a node."""
        match effect:
            case OpenSession() if host.is_cut_off:
                pass
            case AskZooKeeper() if host.holds(effect):
                host.held.append(effect)
            case OpenSession() | CloseSession() | AskZooKeeper():
                host.link.execute(effect, self.now_ms)
            case Send(connection_id, data):
                host.clients[connection_id].receive(data)
            case Close(connection_id):
                host.clients[connection_id].is_closed = True
            case Fact():
                host.facts.append(effect)
            case Started():
                host.times_started += 1
            case Stop():
                host.stop = effect
            case _:
                raise AssertionError(effect)

    def _step(self, host: ZooKeeperHost) -> None:
        events = tuple(host.inbox)
        host.inbox.clear()
        for effect in host.node.step(events, self.now_ms):
            self.execute(host, effect)
