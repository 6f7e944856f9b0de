"""Nodes in one process, joined by a byte network without delay, on in-memory disks.

Time advances only when nothing else happens.

network = NodeNetwork(release="4.3")
network.add_controllers(3)
network.run_until(lambda: network.active is not None)
answer = network.client(1).ask(MetadataRequest(), 12)
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from slow_disk import SlowDisk

from falkirk.metadata.records.batch import VersionedRecord
from falkirk.node.config.node_config import BROKER, CONTROLLER, Listener, NodeConfig
from falkirk.node.effects import Close, Connect, Fact, Send, Started, Stop
from falkirk.node.events import (
    BytesReceived,
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    ShutdownRequested,
)
from falkirk.node.node import Node
from falkirk.protocol.connection import Connection, ResponseReceived, Role
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.messages import FeatureLevelRecord, VotersRecord
from falkirk.protocol.messages.voters_record import Endpoint as VoterEndpoint
from falkirk.protocol.messages.voters_record import KRaftVersionFeature, Voter
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.storage.bootstrap_checkpoint import (
    BOOTSTRAP_SNAPSHOT,
    FILE_NAME,
    write_bootstrap_checkpoint,
    write_bootstrap_snapshot,
)
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.meta_properties import format_meta_properties, make_meta_properties
from falkirk.storage.snapshot_file import format_snapshot_name
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from falkirk.node.effects import Effect
    from falkirk.node.events import Event
    from falkirk.protocol.schema import WireMessage

CLUSTER_ID = "falkirk-test-cluster-AA"
LOG_DIR = "/d0"
CONTROLLER_LISTENER = "CONTROLLER"
BROKER_LISTENER = "PLAINTEXT"
START_MS = 1_770_000_000_000


def directory_id(node_id: int, number: int = 0) -> bytes:
    """Return the id of a node's log directory, by number if there are several."""
    return bytes([0x40, 0, 0, 0, 0, number, 0x40, 0, 0x80, 0, 0, 0]) + node_id.to_bytes(4, "big")


def controller_endpoint(node_id: int) -> Endpoint:
    """Return a node's controller endpoint."""
    return Endpoint(f"node{node_id}", 9093)


def broker_endpoint(node_id: int) -> Endpoint:
    """Return a node's broker endpoint."""
    return Endpoint(f"node{node_id}", 9092)


def format_disk(
    disk: MemoryDisk,
    node_id: int,
    release: Release,
    level: MetadataVersion | None = None,
    dynamic_voters: tuple[int, ...] | None = None,
    *,
    further_log_dirs: tuple[str, ...] = (),
) -> None:
    """Format a node's directories as `storage format` does.

    `dynamic_voters`: the first voters at kraft.version 1 (empty: the node joins later). None: static voters.
    """
    version = level or release.latest_metadata_version
    meta = make_meta_properties(
        cluster_id=CLUSTER_ID, node_id=node_id, directory_id=directory_id(node_id), now_ms=START_MS
    )
    disk.make_directory(LOG_DIR)
    disk.write(f"{LOG_DIR}/meta.properties", [format_meta_properties(meta)])
    for number, log_dir in enumerate(further_log_dirs, 1):
        further = make_meta_properties(
            cluster_id=CLUSTER_ID, node_id=node_id, directory_id=directory_id(node_id, number), now_ms=START_MS
        )
        disk.make_directory(log_dir)
        disk.write(f"{log_dir}/meta.properties", [format_meta_properties(further)])
    records = [VersionedRecord(FeatureLevelRecord(METADATA_VERSION, version.level), 0)]
    values = [encode_metadata_record(*record) for record in records]
    if not release.bootstraps_from_snapshot:
        disk.write(f"{LOG_DIR}/{FILE_NAME}", write_bootstrap_checkpoint(values, clock=lambda: START_MS))
    if release.bootstraps_from_snapshot or dynamic_voters:
        partition = f"{LOG_DIR}/__cluster_metadata-0"
        disk.make_directory(partition)
        name = format_snapshot_name(BOOTSTRAP_SNAPSHOT)
        chunks = write_bootstrap_snapshot(
            values if release.bootstraps_from_snapshot else (),
            clock=lambda: START_MS,
            kraft_version=1 if dynamic_voters else 0,
            voters=_voters_record(dynamic_voters) if dynamic_voters else None,
        )
        disk.write(f"{partition}/{name}", chunks)


def _voters_record(voters: tuple[int, ...]) -> VotersRecord:
    return VotersRecord(
        voters=[
            Voter(
                voter_id=voter,
                voter_directory_id=directory_id(voter),
                endpoints=[VoterEndpoint(CONTROLLER_LISTENER, *controller_endpoint(voter))],
                kraft_version_feature=KRaftVersionFeature(0, 1),
            )
            for voter in voters
        ]
    )


@dataclass(eq=False)
class Host:
    """A machine with a disk; `node` is None while it is down."""

    config: NodeConfig
    disk: MemoryDisk
    node: Node | None = None
    inbox: deque[Event] = field(default_factory=deque)
    facts: list[Fact] = field(default_factory=list)
    stop: Stop | None = None
    next_accepted_id: int = 0
    # On a slow disk: until when the last step takes, and what it does at its end.
    busy_until_ms: int = 0
    late: list[Effect] = field(default_factory=list)
    starts: int = 0
    # How often the node that runs has told that it serves.
    times_started: int = 0

    @property
    def running(self) -> Node:
        """Return the node, which must be running."""
        assert self.node is not None, f"node {self.config.node_id} is down: {self.stop}"
        return self.node


@dataclass(eq=False)
class Client:
    """A client of one node."""

    network: NodeNetwork
    host: Host
    connection_id: int
    connection: Connection = field(default_factory=lambda: Connection(role=Role.CLIENT, client_id="tester"))
    answers: dict[int, WireMessage] = field(default_factory=dict)
    is_closed: bool = False

    def send(self, message: WireMessage, version: int) -> int:
        """Send a request; return its correlation id."""
        correlation_id, data = self.connection.send_request(message, version)
        self.send_bytes(data)
        return correlation_id

    def send_bytes(self, data: bytes) -> None:
        """Send raw bytes."""
        self.host.inbox.append(BytesReceived(self.connection_id, bytes(data)))

    def ask(self, message: WireMessage, version: int) -> Any:
        """Send a request and wait for the response."""
        correlation_id = self.send(message, version)
        self.network.run_until(lambda: correlation_id in self.answers or self.is_closed)
        assert correlation_id in self.answers, "the connection was closed"
        return self.answers.pop(correlation_id)

    def receive(self, data: bytes) -> None:
        """Receive bytes from the node."""
        for event in self.connection.receive_data(data):
            assert isinstance(event, ResponseReceived)
            self.answers[event.correlation_id] = event.message()


class NodeNetwork:
    """All hosts of a cluster, and the bytes in flight."""

    def __init__(self, *, release: str = "4.3", seed: int = 1) -> None:
        self.release = Release.parse(release)
        self.random = Random(seed)
        self.now_ms = START_MS
        self.hosts: dict[int, Host] = {}
        # What nodes that start measure their work by.
        self.thread_ns: Callable[[], int] = lambda: 0
        # Pairs of nodes between which nothing gets through.
        self.cut: set[frozenset[int]] = set()
        self._endpoints: dict[Endpoint, tuple[Host, str]] = {}
        # (node id, connection id) to the other end: another such pair, or a client.
        self._links: dict[tuple[int, int], tuple[int, int] | Client] = {}

    # --- Making a cluster

    def add_controllers(self, count: int, **settings: Any) -> list[Host]:
        """Add formatted controllers 1 to `count` with static voters, and start them."""
        voters = {node_id: controller_endpoint(node_id) for node_id in range(1, count + 1)}
        hosts = [self.add(node_id, roles={CONTROLLER}, quorum_voters=voters, **settings) for node_id in voters]
        for node_id in voters:
            self.start(node_id)
        return hosts

    def add(
        self,
        node_id: int,
        *,
        roles: Iterable[str],
        release: Release | None = None,
        level: MetadataVersion | None = None,
        disk: MemoryDisk | None = None,
        is_formatted: bool = True,
        dynamic_voters: tuple[int, ...] | None = None,
        further_log_dirs: tuple[str, ...] = (),
        **settings: Any,
    ) -> Host:
        """Add a host without starting it."""
        runs = release or self.release
        listeners = []
        if BROKER in roles:
            listeners.append(_listener(BROKER_LISTENER, broker_endpoint(node_id)))
        if CONTROLLER in roles:
            listeners.append(_listener(CONTROLLER_LISTENER, controller_endpoint(node_id)))
        config = NodeConfig(
            release=runs,
            node_id=node_id,
            process_roles=frozenset(roles),
            listeners=tuple(listeners),
            controller_listener_names=(CONTROLLER_LISTENER,),
            quorum_voters=settings.pop("quorum_voters", None),
            quorum_bootstrap_servers=settings.pop("quorum_bootstrap_servers", ()),
            log_dirs=(LOG_DIR, *further_log_dirs),
            metadata_log_dir=LOG_DIR,
            **settings,
        )
        host = Host(config, disk or MemoryDisk())
        if is_formatted:
            format_disk(host.disk, node_id, runs, level, dynamic_voters, further_log_dirs=further_log_dirs)
        self.hosts[node_id] = host
        for listener in listeners:
            self._endpoints[listener.endpoint] = (host, listener.name)
        return host

    def start(self, node_id: int) -> Host:
        """Start a node from its disk. Raises StartupError."""
        host = self.hosts[node_id]
        assert host.node is None
        host.starts += 1
        host.times_started = 0
        host.stop = None
        host.inbox.clear()
        host.late.clear()
        host.busy_until_ms = self.now_ms
        host.node = Node(host.config, host.disk, Random(self.random.random()), self.now_ms, self.thread_ns)
        return host

    def kill(self, node_id: int) -> None:
        """Cut a node's power."""
        host = self.hosts[node_id]
        host.node = None
        host.inbox.clear()
        for end in [end for end in self._links if end[0] == node_id]:
            self._unlink(end, "connection reset")

    def restart(self, node_id: int) -> Host:
        """Kill a node and start it again."""
        self.kill(node_id)
        return self.start(node_id)

    def shut_down(self, node_id: int) -> None:
        """Ask a node to stop, and wait until it has stopped."""
        self.hosts[node_id].inbox.append(ShutdownRequested())
        self.run_until(lambda: self.hosts[node_id].node is None)

    def isolate(self, node_id: int) -> None:
        """Partition a node from all others."""
        for other in self.hosts:
            if other != node_id:
                self.cut.add(frozenset((node_id, other)))
                self.unlink(node_id, other)

    def unlink(self, node_id: int, other: int) -> None:
        """Close the connections between two nodes; both notice."""
        for end, peer in list(self._links.items()):
            if end[0] == node_id and isinstance(peer, tuple) and peer[0] == other:
                self._unlink(end, "unreachable")

    def heal(self) -> None:
        """Remove all network partitions."""
        self.cut.clear()

    # --- Looking at it

    @property
    def running(self) -> list[Host]:
        """Return the hosts whose nodes run."""
        return [host for host in self.hosts.values() if host.node is not None]

    @property
    def active(self) -> Host | None:
        """Return the host of the active controller; of two (one may be isolated and not know yet), the newer."""
        active = [host for host in self.running if host.running.is_active_controller]
        return max(active, key=lambda host: host.running.raft.epoch, default=None)

    def facts(self, event: str) -> list[Fact]:
        """Return the facts of one event that all nodes reported."""
        return [fact for host in self.hosts.values() for fact in host.facts if fact.event == event]

    def client(self, node_id: int, listener: str = CONTROLLER_LISTENER) -> Client:
        """Connect to a node."""
        host = self.hosts[node_id]
        assert host.node is not None
        connection_id = self._accepted_id(host)
        client = Client(self, host, connection_id)
        self._links[node_id, connection_id] = client
        host.inbox.append(ConnectionAccepted(connection_id, listener, "10.0.0.1"))
        return client

    def disconnect(self, client: Client) -> None:
        """Close a client's connection from its side."""
        self._links.pop((client.host.config.node_id, client.connection_id), None)
        client.host.inbox.append(ConnectionLost(client.connection_id, "closed by the client"))

    # --- Running it

    def run_until(self, condition: Callable[[], object], *, within_ms: int = 60_000) -> None:
        """Run until a condition holds. Fails if it does not in time."""
        deadline_ms = self.now_ms + within_ms
        while not condition():
            assert self.now_ms < deadline_ms, "it did not come about"
            self._run_once()

    def run_for(self, duration_ms: int) -> None:
        """Run for a duration."""
        end_ms = self.now_ms + duration_ms
        while self.now_ms < end_ms:
            self._run_once(end_ms)

    def settle(self) -> None:
        """Run until nothing more happens at the current time."""
        while any(host.inbox for host in self.running):
            self._run_events()

    def _run_once(self, until_ms: int | None = None) -> None:
        if any(host.inbox for host in self.running if not self._is_busy(host)):
            self._run_events()
            return
        wakeups = [host.busy_until_ms if self._is_busy(host) else host.running.next_wakeup_ms for host in self.running]
        next_ms = min((wakeup for wakeup in wakeups if wakeup is not None), default=self.now_ms + 1000)
        next_ms = max(next_ms, self.now_ms + 1)
        self.now_ms = next_ms if until_ms is None else min(next_ms, until_ms)
        for host in self.running:
            self._step(host)

    def _run_events(self) -> None:
        for host in self.running:
            if host.inbox:
                self._step(host)

    def _step(self, host: Host) -> None:
        if host.node is None or self._is_busy(host):
            return
        events = list(host.inbox)
        host.inbox.clear()
        late, host.late = host.late, []
        for effect in late:
            self._execute(host, effect)
        if host.node is None:
            return
        disk = host.disk
        syncs = disk.syncs if isinstance(disk, SlowDisk) else 0
        effects = host.node.step(events, self.now_ms)
        if isinstance(disk, SlowDisk) and disk.syncs > syncs:
            host.busy_until_ms = self.now_ms + (disk.syncs - syncs) * disk.sync_ms
            host.late = effects
        else:
            for effect in effects:
                self._execute(host, effect)

    def _is_busy(self, host: Host) -> bool:
        return host.busy_until_ms > self.now_ms

    def _execute(self, host: Host, effect: Effect) -> None:
        end = (host.config.node_id, getattr(effect, "connection_id", 0))
        match effect:
            case Connect(connection_id, endpoint, _):
                self._connect(host, connection_id, endpoint)
            case Send(_, data):
                self._send(end, data)
            case Close():
                self._unlink(end, "closed by the other side")
            case Fact():
                host.facts.append(effect)
            case Started():
                host.times_started += 1
            case Stop():
                host.stop = effect
                self.kill(host.config.node_id)

    def _connect(self, host: Host, connection_id: int, endpoint: Endpoint) -> None:
        target = self._endpoints.get(endpoint)
        node_id = host.config.node_id
        if target is None or target[0].node is None or frozenset((node_id, target[0].config.node_id)) in self.cut:
            host.inbox.append(ConnectionLost(connection_id, "connection refused"))
            return
        other, listener = target
        accepted_id = self._accepted_id(other)
        here, there = (node_id, connection_id), (other.config.node_id, accepted_id)
        self._links[here], self._links[there] = there, here
        other.inbox.append(ConnectionAccepted(accepted_id, listener, "10.0.0.2"))
        host.inbox.append(ConnectionOpened(connection_id))

    def _send(self, end: tuple[int, int], data: bytes) -> None:
        peer = self._links.get(end)
        if isinstance(peer, Client):
            peer.receive(data)
        elif peer is not None:
            self.hosts[peer[0]].inbox.append(BytesReceived(peer[1], bytes(data)))

    def _unlink(self, end: tuple[int, int], reason: str) -> None:
        """Close a connection; the other end notices."""
        peer = self._links.pop(end, None)
        if isinstance(peer, Client):
            peer.is_closed = True
        elif peer is not None:
            self._links.pop(peer, None)
            other = self.hosts[peer[0]]
            if other.node is not None:
                other.inbox.append(ConnectionLost(peer[1], reason))
        host = self.hosts[end[0]]
        if host.node is not None and reason == "unreachable":
            host.inbox.append(ConnectionLost(end[1], reason))

    def _accepted_id(self, host: Host) -> int:
        host.next_accepted_id += 2
        return host.next_accepted_id


def _listener(name: str, endpoint: Endpoint) -> Listener:
    return Listener(
        name=name,
        security_protocol="PLAINTEXT",
        endpoint=endpoint,
        advertised=endpoint,
        is_controller=name == CONTROLLER_LISTENER,
    )
