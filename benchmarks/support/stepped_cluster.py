"""Nodes in this process, on disks in memory and a network in memory, whose steps are measured in processor time."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from falkirk.metadata.image.metadata_image import MetadataImage
from falkirk.metadata.levels.writer import WriterOptions, write_values
from falkirk.node.config.node_config import BROKER, CONTROLLER, Listener, NodeConfig
from falkirk.node.effects import Connect, Effect, Send
from falkirk.node.events import BytesReceived, ConnectionLost, ConnectionOpened, Event
from falkirk.node.node import Node
from falkirk.protocol.connection import Connection, ResponseReceived, Role
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.schema import WireMessage
from falkirk.server.garbage_collector import GarbageCollector, Held, held_by
from falkirk.simulation.machine.host import Host
from falkirk.simulation.machine.world import World
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.meta_properties import FILE_NAME as META_PROPERTIES
from falkirk.storage.meta_properties import format_meta_properties, make_meta_properties
from falkirk.storage.partition_directory import METADATA_DIRECTORY
from falkirk.storage.quorum_state import FILE_NAME as QUORUM_STATE
from falkirk.storage.quorum_state import QuorumState, format_quorum_state
from falkirk.storage.snapshot_file import SnapshotId, SnapshotName, format_snapshot_name
from falkirk.storage.snapshot_writer import write_snapshot
from falkirk.versions.release import Release

CLUSTER_ID = "falkirk-benchmark-AAAA"
LOG_DIR = "/data"
CONTROLLER_ID = 3000
NOW_MS = 1_770_000_000_000
WAIT_MS = 600_000
# What follows an answer begins within it.
SETTLING_MS = 2_000
_LISTENERS = {CONTROLLER: "CONTROLLER", BROKER: "PLAINTEXT"}
_PORTS = {CONTROLLER: 9093, BROKER: 9092}


@dataclass(slots=True)
class MeasuredStep:
    """A step: its processor time in seconds, and what it did."""

    seconds: float = 0.0
    work: str = "nothing"


class SteppedDisk(MemoryDisk):
    """Counts the seconds of joining what `view` returns: a real disk maps its file, and that is no part of a step."""

    def __init__(self) -> None:
        super().__init__()
        self.view_seconds = 0.0

    def view(self, path: str) -> memoryview:
        """View the whole file as it is now."""
        start = time.thread_time()
        data = super().view(path)
        self.view_seconds += time.thread_time() - start
        return data


class MeasuredNode:
    """A node, and the longest of its steps since `forget`."""

    def __init__(self, node: Node, disk: SteppedDisk, garbage: GarbageCollector) -> None:
        self.node = node
        self._disk = disk
        self.longest = MeasuredStep()
        # When a step last did sliced work.
        self.sliced_at_ms = 0
        self._garbage = garbage

    def forget(self) -> None:
        self.longest = MeasuredStep()

    def step(self, events: Sequence[Event], now_ms: int) -> Sequence[Effect]:
        start = time.thread_time() - self._disk.view_seconds
        effects = self.node.step(events, now_ms)
        self._garbage.count_step()
        spent = time.thread_time() - self._disk.view_seconds - start
        if "sliced_works" in self.node.work_done:
            self.sliced_at_ms = now_ms
        if spent > self.longest.seconds:
            self.longest = MeasuredStep(spent, _described(events, self.node))
        if self._garbage.is_due:
            self._collect_garbage()
        return effects

    def _collect_garbage(self) -> None:
        start = time.thread_time()
        collected = self._garbage.collect()
        spent = time.thread_time() - start
        if spent > self.longest.seconds:
            self.longest = MeasuredStep(spent, f"garbage collection: {collected}")

    @property
    def next_wakeup_ms(self) -> int | None:
        return self.node.next_wakeup_ms


class Hand:
    """A client with one request at a time, on a connection of its own for each."""

    def __init__(self) -> None:
        self.response: WireMessage | None = None
        self._waiting: tuple[Endpoint, WireMessage, int] | None = None
        self._connection_id = -1
        self._connection = Connection(role=Role.CLIENT, client_id="hand")

    def ask(self, endpoint: Endpoint, request: WireMessage, version: int) -> None:
        self.response = None
        self._waiting = endpoint, request, version

    def step(self, events: Sequence[Event], now_ms: int) -> Sequence[Effect]:  # noqa: ARG002 - as a program
        effects: list[Effect] = []
        for event in events:
            match event:
                case ConnectionOpened(self._connection_id):
                    assert self._waiting is not None
                    _, request, version = self._waiting
                    self._waiting = None
                    effects.append(Send(event.connection_id, self._connection.send_request(request, version)[1]))
                case BytesReceived(self._connection_id, data):
                    for received in self._connection.receive_data(data):
                        assert isinstance(received, ResponseReceived)
                        self.response = received.message()
                case ConnectionLost(self._connection_id, reason):
                    assert self.response is not None, reason
        if self._waiting is not None and not events:
            self._connection_id += 2
            self._connection = Connection(role=Role.CLIENT, client_id="hand")
            effects.append(Connect(self._connection_id, self._waiting[0], "PLAINTEXT"))
        return effects

    @property
    def next_wakeup_ms(self) -> int | None:
        return None


class SteppedCluster:
    """One controller, 3000, and brokers, each on a host of its own, in simulated time."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._world = World(1, keeps_timeline=False)
        self._nodes: dict[int, MeasuredNode] = {}
        self._hosts: dict[int, Host] = {}
        # One for all: Python collects the garbage of a process.
        self._garbage = GarbageCollector(self._held)
        self._hand = Hand()
        self._hand_host = self._world.add_host("hand", {}, lambda _: self._hand)
        self._hand_host.start()

    def add(self, node_id: int, role: str, disk: SteppedDisk, **settings: Any) -> MeasuredNode:  # Any: of NodeConfig
        """Start a node from its disk; only its steps are measured, not its start."""
        listener = Listener(
            name=_LISTENERS[role],
            security_protocol="PLAINTEXT",
            endpoint=endpoint_of(node_id, role),
            advertised=endpoint_of(node_id, role),
            is_controller=role == CONTROLLER,
        )
        config = NodeConfig(
            release=self._release,
            node_id=node_id,
            process_roles=frozenset((role,)),
            listeners=(listener,),
            controller_listener_names=(_LISTENERS[CONTROLLER],),
            inter_broker_listener_name=_LISTENERS[BROKER],
            quorum_voters={CONTROLLER_ID: endpoint_of(CONTROLLER_ID, CONTROLLER)},
            quorum_bootstrap_servers=(),
            log_dirs=(LOG_DIR,),
            metadata_log_dir=LOG_DIR,
            authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            super_users="User:ANONYMOUS",
        )
        make = partial(self._make, replace(config, **settings), disk)
        listeners = {listener.name: listener.endpoint}
        host = self._hosts[node_id] = self._world.add_host(listener.endpoint.host, listeners, make, skew_ms=NOW_MS)
        host.start()
        return self._nodes[node_id]

    def run_until(self, holds: Callable[[], bool], *, wait_ms: int = WAIT_MS) -> None:
        """Advance until a condition holds and no sliced work is under way."""
        if not self._world.run(self._world.clock.now_ms + wait_ms, until=holds):
            raise TimeoutError(f"it does not hold after {wait_ms} simulated ms")
        self.settle()

    def settle(self) -> None:
        """Advance until no work is under way."""
        before = None
        while before != (before := max(node.sliced_at_ms for node in self._nodes.values())):
            self._world.run(self._world.clock.now_ms + SETTLING_MS)

    def ask(self, node_id: int, role: str, request: WireMessage, version: int) -> WireMessage:
        """Send a request; return its response once no work is under way any more."""
        self._hand.ask(endpoint_of(node_id, role), request, version)
        self._hand_host.wake()
        self.run_until(lambda: self._hand.response is not None)
        assert self._hand.response is not None
        return self._hand.response

    def forget(self) -> None:
        """Forget the steps so far."""
        for node in self._nodes.values():
            node.forget()

    def _make(self, config: NodeConfig, disk: SteppedDisk, host: Host) -> MeasuredNode:
        node = Node(config, disk, self._world.chance(host.name), host.clock.now_ms)
        self._nodes[config.node_id] = MeasuredNode(node, disk, self._garbage)
        return self._nodes[config.node_id]

    def _held(self) -> Held:
        """Return what all nodes are known to hold; what they share counts more than once."""
        each = [held_by(measured.node) for measured in self._nodes.values()]
        return Held(sum(held.objects for held in each), sum(held.blocks for held in each))


def endpoint_of(node_id: int, role: str) -> Endpoint:
    """Return the endpoint of a node in a role."""
    return Endpoint(f"{role}-{node_id}", _PORTS[role])


def snapshot_bytes(image: MetadataImage) -> bytes:
    """Return the snapshot of an image, as its level has it."""
    version, provenance = image.features.metadata_version, image.provenance
    assert version is not None
    chunks = write_snapshot(
        write_values(image, WriterOptions(metadata_version=version)),
        epoch=provenance.epoch,
        last_contained_log_timestamp=provenance.timestamp,
        clock=lambda: NOW_MS,
    )
    return b"".join(chunks)


def formatted_disk(
    node_id: int, directory_id: bytes, *, snapshot: tuple[MetadataImage, bytes] | None = None
) -> SteppedDisk:
    """Return a formatted disk, with the snapshot of an image if one is passed."""
    disk = SteppedDisk()
    disk.make_directory(LOG_DIR)
    meta = make_meta_properties(cluster_id=CLUSTER_ID, node_id=node_id, directory_id=directory_id, now_ms=NOW_MS)
    disk.write(f"{LOG_DIR}/{META_PROPERTIES}", [format_meta_properties(meta)])
    if snapshot is not None:
        image, contents = snapshot
        partition = f"{LOG_DIR}/{METADATA_DIRECTORY}"
        disk.make_directory(partition)
        name = SnapshotName(id=SnapshotId(end_offset=image.provenance.end_offset, epoch=image.provenance.epoch))
        disk.write(f"{partition}/{format_snapshot_name(name)}", [contents])
        state = QuorumState(data_version=0, leader_epoch=image.provenance.epoch, current_voters=(CONTROLLER_ID,))
        disk.write(f"{partition}/{QUORUM_STATE}", [format_quorum_state(state)])
    return disk


def _described(events: Sequence[Event], node: Node) -> str:
    kinds = " ".join(sorted({type(event).__name__ for event in events}))
    done = " ".join(f"{name}={value}" for name, value in node.work_done.items())
    return f"{kinds} {done}".strip() or "periodic work"
