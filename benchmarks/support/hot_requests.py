"""The requests that a broker gets most, sent to a node in this process whose disk is memory; each step is measured.

Some are measured with the driver, too: from a connection's bytes to the bytes for its transport, which is none.

`hot_requests.py [--profile NAME]` prints the processor time of a request of each kind, in seconds, as one JSON object.
"""

import asyncio
import cProfile
import gc
import io
import json
import pstats
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from falkirk.node.config.node_config import BROKER
from falkirk.node.effects import Fact, Send
from falkirk.node.events import BytesReceived, ConnectionAccepted
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.connection import Connection, ResponseReceived, Role
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    CreateTopicsRequest,
    FetchRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    ProduceRequest,
    SyncGroupRequest,
)
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol
from falkirk.protocol.messages.offset_commit_request import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.messages.sync_group_request import SyncGroupRequestAssignment
from falkirk.protocol.record import Record
from falkirk.protocol.schema import WireMessage
from falkirk.server import process
from falkirk.server.clock import Clock
from falkirk.server.connection_limits import ConnectionLimits, LimitSettings
from falkirk.server.fact_log import FactLog, LogFormat, LogLevel
from falkirk.server.garbage_collector import GarbageCollector, Held
from falkirk.server.node_driver import NodeDriver
from falkirk.server.step_meter import StepMeter
from support.large_image import AWAY, RELEASE, cluster_records, image_of
from support.plays import active_controller, check, start_broker
from support.stepped_cluster import NOW_MS, MeasuredNode, SteppedCluster, snapshot_bytes

TOPIC = "hot"
GROUP = "readers"
RECORD_BYTES = 1024
VALUE = bytes(number * 7 % 251 for number in range(RECORD_BYTES))
CONSUMER = 0
RANGE = "range"
SECONDS = 0.25
TURNS = 5
CLIENT_ID = 1_000_000
DRIVEN = ("produce 1 KB", "offset commit, 1 partition", "heartbeat", "ApiVersions")


@dataclass(frozen=True)
class Kind:
    """A request that is sent again and again: `in_flight` of them in one step."""

    request: WireMessage
    version: int
    in_flight: int = 1


class Client:
    """A client of the node, without a network between them."""

    def __init__(self, node: MeasuredNode) -> None:
        self._node = node.node
        self._connection = Connection(role=Role.CLIENT, client_id="client")
        self._now_ms = NOW_MS + 10_000_000
        self._node.step([ConnectionAccepted(CLIENT_ID, "PLAINTEXT", "127.0.0.1")], self._now_ms)

    @property
    def now_ms(self) -> int:
        """The time of its last step."""
        return self._now_ms

    def ask(self, request: WireMessage, version: int) -> WireMessage:
        """Return the response to a request; time passes until it comes."""
        _, data = self._connection.send_request(request, version)
        answer = self._step([BytesReceived(CLIENT_ID, data)])
        for _ in range(100):
            responses = [each for each in self._connection.receive_data(answer) if isinstance(each, ResponseReceived)]
            if responses:
                return responses[0].message()
            self._now_ms += 100
            answer = self._step([])
        raise TimeoutError(type(request).__name__)

    def seconds(self, kind: Kind, repeats: int) -> float:
        """Return the processor time of one request; all must be answered in their step."""
        _, data = self._connection.send_request(kind.request, kind.version)
        correlation = data[8:12]
        received = BytesReceived(CLIENT_ID, data * kind.in_flight)
        step, now_ms = self._node.step, self._now_ms
        start = time.process_time()
        for _ in range(repeats):
            effects = step([received], now_ms)
        taken = time.process_time() - start
        failed = [effect for effect in effects if isinstance(effect, Fact) and effect.level == "error"]
        assert failed == [], failed
        sent = b"".join(bytes(piece) for piece in sends(effects))
        assert sent.count(correlation) >= kind.in_flight, effects
        self._connection = Connection(role=Role.CLIENT, client_id="client")
        return taken / repeats / kind.in_flight

    def _step(self, events: Sequence[BytesReceived]) -> bytes:
        return b"".join(bytes(piece) for piece in sends(self._node.step(events, self._now_ms)))


class FixedClock(Clock):
    """Stands still, so that steps have no periodic work."""

    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms


class NoTransport(asyncio.Transport):
    """A transport whose other side is nobody."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1)})
        self.writes = 0

    def writelines(self, _pieces: object) -> None:
        self.writes += 1

    def get_write_buffer_size(self) -> int:
        return 0

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return False


class DrivenClient:
    """A client of a driver of the node, in one process with it."""

    def __init__(self, node: MeasuredNode, now_ms: int) -> None:
        driver = NodeDriver(
            node.node,
            clock=FixedClock(now_ms),
            log=FactLog(io.StringIO(), LogFormat.TEXT, LogLevel.INFO),
            limits=ConnectionLimits(LimitSettings()),
            meter=StepMeter(),
            garbage=GarbageCollector(Held),
            max_idle_ms=-1,
            connect_timeout_ms=1_000,
        )
        self._transport = NoTransport()
        self._peer = driver.accept("PLAINTEXT")
        self._peer.connection_made(self._transport)

    async def seconds(self, kind: Kind, repeats: int) -> float:
        """Return the processor time of one request, a round of the loop included."""
        _, data = Connection(role=Role.CLIENT, client_id="client").send_request(kind.request, kind.version)
        before = self._transport.writes
        start = time.process_time()
        for _ in range(repeats):
            self._peer.data_received(data)
            await asyncio.sleep(0)
        taken = time.process_time() - start
        assert self._transport.writes - before >= repeats - 1, kind
        return taken / repeats


async def driven(node: MeasuredNode, client: Client, wanted: Mapping[str, Kind]) -> dict[str, float]:
    """Return the processor time of a request of each kind, by name."""
    driven_client = DrivenClient(node, client.now_ms)
    await asyncio.sleep(0)
    taken = {}
    for name, kind in wanted.items():
        repeats = max(round(SECONDS / TURNS / await driven_client.seconds(kind, 20)), 1)
        taken[f"{name}, with the driver"] = min([await driven_client.seconds(kind, repeats) for _ in range(TURNS)])
    return taken


def sends(effects: Sequence[object]) -> list[bytes]:
    return [effect.data for effect in effects if isinstance(effect, Send)]


def broker() -> tuple[SteppedCluster, MeasuredNode]:
    """Return a running broker with the topic, and its controller."""
    cluster = SteppedCluster(RELEASE)
    image = image_of(list(cluster_records(range(AWAY, AWAY + 1))))
    active_controller(cluster, image, snapshot_bytes(image))
    node = start_broker(cluster, AWAY, properties={"offsets.topic.replication.factor": "1"})
    topics = [CreatableTopic(TOPIC, num_partitions=10, replication_factor=1)]
    check(cluster.ask(AWAY, BROKER, CreateTopicsRequest(topics, timeout_ms=30_000), 7))
    while cluster.ask(AWAY, BROKER, find_coordinator(), 4).coordinators[0].error_code:  # type: ignore[attr-defined]
        cluster.settle()
    cluster.settle()
    return cluster, node


def find_coordinator() -> FindCoordinatorRequest:
    return FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])


def kinds(client: Client) -> Mapping[str, Kind]:
    """Return the requests by name. The group has one member."""
    join = JoinGroupRequest(
        GROUP,
        session_timeout_ms=1_800_000,
        rebalance_timeout_ms=300_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(RANGE, b"")],
    )
    joined = client.ask(join, 9)
    if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:  # type: ignore[attr-defined]
        join.member_id = joined.member_id  # type: ignore[attr-defined]
        joined = client.ask(join, 9)
    member_id, generation = joined.member_id, joined.generation_id  # type: ignore[attr-defined]
    assignments = [SyncGroupRequestAssignment(member_id, b"")]
    client.ask(SyncGroupRequest(GROUP, generation, member_id, None, "consumer", RANGE, assignments), 5)

    def commits(partitions: int) -> OffsetCommitRequest:
        committed = [OffsetCommitRequestPartition(at, committed_offset=1_000) for at in range(partitions)]
        topics = [OffsetCommitRequestTopic(TOPIC, partitions=committed)]
        return OffsetCommitRequest(GROUP, generation, member_id, topics=topics)

    heartbeat = HeartbeatRequest(GROUP, generation, member_id)
    return {
        "produce 1 KB": Kind(produce(1), 9),
        "produce 1 KB, 5 at a time": Kind(produce(1), 9, 5),
        "produce 16 KB": Kind(produce(16), 9),
        "produce 1 MB": Kind(produce(1_000), 9),
        "fetch 1 MB": Kind(fetch(), 11),
        "offset commit, 1 partition": Kind(commits(1), 9),
        "offset commit, 1 partition, 8 at a time": Kind(commits(1), 9, 8),
        "offset commit, 10 partitions, 8 at a time": Kind(commits(10), 9, 8),
        "heartbeat": Kind(heartbeat, 4),
        "heartbeat, 8 at a time": Kind(heartbeat, 4, 8),
        "ApiVersions": Kind(ApiVersionsRequest("client", "1"), 3),
    }


def produce(count: int) -> ProduceRequest:
    records = [Record(offset=number, timestamp=NOW_MS, key=None, value=VALUE) for number in range(count)]
    data = PartitionProduceData(0, build_batch(records, base_offset=0))
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(TOPIC, partition_data=[data])])


def fetch() -> FetchRequest:
    partition = FetchPartition(0, fetch_offset=0, partition_max_bytes=1 << 20)
    return FetchRequest(max_bytes=1 << 20, topics=[FetchTopic(TOPIC, partitions=[partition])])


def measured(profiled: str | None) -> Mapping[str, float]:
    _, node = broker()
    client = Client(node)
    taken: dict[str, float] = {}
    wanted = kinds(client)
    for name, kind in wanted.items():
        if profiled not in (None, name):
            continue
        once = min(client.seconds(kind, 20) for _ in range(3))
        repeats = max(round(SECONDS / TURNS / once / kind.in_flight), 1)
        gc.collect()
        if profiled is not None:
            profile = cProfile.Profile(time.process_time)
            profile.runcall(client.seconds, kind, repeats)
            pstats.Stats(profile).sort_stats("tottime").print_stats(60)
        taken[f"{name}, Node.step"] = min(client.seconds(kind, repeats) for _ in range(TURNS))
    if profiled is None:
        taken |= process.run(driven(node, client, {name: wanted[name] for name in DRIVEN}))
    return taken


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[2] if "--profile" in sys.argv else None)))
