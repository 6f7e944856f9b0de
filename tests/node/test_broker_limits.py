"""What a broker that runs does with requests that are too large, damaged, absurd or behind the times.

Each is answered as Kafka does or costs its connection; nothing of it is written, and the broker goes on.
"""

from __future__ import annotations

import struct
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from crc32c import crc32c
from replica_cluster import ReplicaCluster

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression, compress
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import FetchRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest, ProduceRequest
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsTopic
from falkirk.protocol.messages.offset_for_leader_epoch_request import OffsetForLeaderPartition, OffsetForLeaderTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from node_network import Client

MIB = 1024 * 1024
BROKER = 101


@pytest.fixture(scope="module", params=["3.7", "4.3"])
def cluster(request: pytest.FixtureRequest) -> ReplicaCluster:
    cluster = ReplicaCluster(brokers=1, release=request.param)
    cluster.create("t", factor=1, message_timestamp_after_max_ms="1000", message_timestamp_before_max_ms="1000")
    # So that there is a leader epoch before the present one.
    cluster.kill(BROKER)
    cluster.start(BROKER)
    cluster.wait_for_leader("t", BROKER)
    return cluster


@pytest.fixture
def client(cluster: ReplicaCluster) -> Iterator[Client]:
    """Yield a client; after its story all files of the log are as they were, and records can be written on."""
    assert cluster.produce("t", b"before") == 0
    log = cluster.log(BROKER, "t")
    before, end = log_files(cluster), log.log_end_offset
    yield cluster.client(BROKER)
    assert (log_files(cluster), log.log_end_offset) == (before, end)
    assert cluster.produce("t", b"after") == 0
    assert cluster.values(BROKER, "t")[-2:] == [b"before", b"after"]
    assert not [fact for fact in cluster.facts(BROKER) if fact in ("handler-failed", "log-directory-offline")]


def log_files(cluster: ReplicaCluster) -> dict[str, bytes]:
    disk = cluster.network.hosts[BROKER].disk
    return {name: disk.read(f"/d0/t-0/{name}") for name in disk.list("/d0/t-0")}


def batch(cluster: ReplicaCluster, *values: bytes, after_ms: int = 0, **fields: Any) -> bytes:
    now_ms = cluster.network.now_ms + after_ms
    return build_batch(
        [Record(place, now_ms, None, value) for place, value in enumerate(values)], base_offset=0, **fields
    )


def produce(client: Client, records: bytes, *, version: int = 8, topic: str = "t", acks: int = -1) -> int:
    return (
        client.ask(produce_request(records, topic=topic, acks=acks), version)
        .responses[0]
        .partition_responses[0]
        .error_code
    )


def produce_request(records: bytes, *, topic: str = "t", acks: int = -1) -> ProduceRequest:
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(0, records)])
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[data])


# --- Records


@pytest.mark.parametrize("after_ms", [2000, -2000, 2**62])
def test_records_of_another_time_are_refused(cluster, client, after_ms):
    assert produce(client, batch(cluster, b"v", after_ms=after_ms)) == ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("compression", list(Compression))
def test_damage_is_found_whatever_the_codec(cluster, client, compression):
    whole = batch(cluster, b"v" * 100, compression=compression)

    for place in (17, 22, 30, 61, len(whole) - 1):
        assert produce(client, whole[:place] + bytes((whole[place] ^ 1,)) + whole[place + 1 :]) == (
            ErrorCode.CORRUPT_MESSAGE
        )


def test_large_batches_are_refused_and_larger_requests_cost_their_connection(cluster, client):
    assert produce(client, batch(cluster, bytes(MIB + 100_000))) == ErrorCode.MESSAGE_TOO_LARGE

    too_large = cluster.network.hosts[BROKER].config.socket_request_max_bytes + 1
    client.send_bytes(struct.pack(">ihhih", too_large, 0, 8, 7, -1))
    cluster.network.settle()
    assert client.is_closed


def test_without_acks_a_refusal_costs_the_connection(cluster, client):
    client.send(produce_request(batch(cluster, b"v", after_ms=2000), acks=0), 8)
    cluster.network.settle()

    assert client.is_closed


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_are_refused_where_the_version_has_batches(client, magic):
    body = struct.pack(">bb", magic, 0) + bytes(8 * magic) + struct.pack(">ii", -1, 1) + b"v"
    message = struct.pack(">qiI", 0, len(body) + 4, 0) + body

    assert produce(client, message) == ErrorCode.INVALID_RECORD


# The bytes of one such request are this many at most.
REQUEST_BYTES = MIB


@pytest.mark.slow
@pytest.mark.parametrize("compression", [Compression.GZIP, Compression.LZ4, Compression.ZSTD, Compression.SNAPPY])
def test_a_bomb_costs_a_multiple_of_what_was_sent(cluster, client, compression):
    # Snappy cannot be denser than that in a batch that is not too large.
    size = 20 * MIB if compression is Compression.SNAPPY else 128 * MIB
    header = batch(cluster, b"v", compression=compression)[:61]
    body = compress(compression, bytes(size))
    bomb = with_crc(header[:8] + (49 + len(body)).to_bytes(4, "big") + header[12:] + body)
    assert len(bomb) < REQUEST_BYTES

    tracemalloc.start()
    error = produce(client, bomb)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    bound = max(16 * MIB, 128 * len(bomb))
    assert peak < min(2 * bound + 4 * MIB, 128 * MIB)
    assert error == (ErrorCode.INVALID_RECORD if compression is Compression.SNAPPY else ErrorCode.MESSAGE_TOO_LARGE)


def with_crc(data: bytes) -> bytes:
    return data[:17] + crc32c(data[21:]).to_bytes(4, "big") + data[21:]


# --- Requests that cannot be meant


ABSURD = 2**31 - 1
TOPIC = struct.pack(">h", 1) + b"t"


@pytest.mark.parametrize(
    ("api_key", "version", "body"),
    [
        # Produce: transactional id, acks, timeout, topics.
        (0, 8, struct.pack(">hhii", -1, -1, 1000, ABSURD)),
        (0, 8, struct.pack(">hhii", -1, -1, 1000, -2)),
        (0, 8, struct.pack(">hhii", -1, -1, 1000, 1) + TOPIC + struct.pack(">i", ABSURD)),
        (0, 8, struct.pack(">hhii", -1, -1, 1000, 1) + TOPIC + struct.pack(">iii", 1, 0, ABSURD)),
        (0, 9, b"\0" + struct.pack(">hi", -1, 1000) + b"\xff\xff\xff\xff\x0f"),
        (0, 9, b"\0" + struct.pack(">hi", -1, 1000) + b"\x02\x02t\x02" + bytes(4) + b"\xff\xff\xff\xff\x07"),
        # Fetch: replica, wait, min, max, isolation, session, epoch, topics.
        (1, 11, struct.pack(">iiiibiii", -1, 0, 1, MIB, 0, 0, -1, ABSURD)),
        (1, 11, struct.pack(">iiiibiii", -1, 0, 1, MIB, 0, 0, -1, 1) + TOPIC + struct.pack(">i", ABSURD)),
        (1, 11, struct.pack(">iiiibiiii", -1, 0, 1, MIB, 0, 0, -1, 0, ABSURD)),
        (1, 12, struct.pack(">iiiibii", -1, 0, 1, MIB, 0, 0, -1) + b"\xff\xff\xff\xff\x0f"),
        # ListOffsets: replica, isolation, topics.
        (2, 5, struct.pack(">ibi", -1, 0, ABSURD)),
        (2, 5, struct.pack(">ibi", -1, 0, 1) + TOPIC + struct.pack(">i", ABSURD)),
        (2, 6, struct.pack(">ib", -1, 0) + b"\xff\xff\xff\xff\x0f"),
        # A tag that is as long as nothing can be, and as many tags.
        (2, 6, struct.pack(">ib", -1, 0) + b"\x01\x01\x00\xff\xff\xff\xff\x07"),
        (2, 6, struct.pack(">ib", -1, 0) + b"\x01\xff\xff\xff\xff\x07"),
    ],
)
def test_absurd_lengths_and_counts_cost_their_connection_and_no_memory(cluster, client, api_key, version, body):
    is_flexible = version >= {0: 9, 1: 12, 2: 6}[api_key]
    frame = struct.pack(">hhih", api_key, version, 7, -1) + b"\0" * is_flexible + body
    cluster.network.settle()

    tracemalloc.start()
    client.send_bytes(struct.pack(">i", len(frame)) + frame)
    cluster.network.settle()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert client.is_closed
    assert peak < 4 * MIB


# --- Reading


def fetch(cluster: ReplicaCluster, client: Client, fetch_offset: int = 0, *, epoch: int = -1, **fields: Any) -> Any:
    fields.setdefault("max_bytes", MIB)
    asked = FetchPartition(
        partition=0,
        fetch_offset=fetch_offset,
        current_leader_epoch=epoch,
        partition_max_bytes=fields.pop("partition_max_bytes", MIB),
    )
    topic_id = cluster.network.hosts[BROKER].running.image.topics.by_name["t"].topic_id
    request = FetchRequest(topics=[FetchTopic("t", topic_id, [asked])], **fields)
    return client.ask(request, 13).responses[0].partitions[0]


@pytest.mark.parametrize("offset", [-1, -(2**63), 2**62, 2**63 - 1])
def test_offsets_that_are_not_there_are_out_of_range(cluster, client, offset):
    assert fetch(cluster, client, offset).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("size", [-(2**31), -1, 0, 2**31 - 1])
def test_sizes_that_mean_nothing_give_no_more_than_there_is(cluster, client, size):
    log = cluster.log(BROKER, "t")

    whole = fetch(cluster, client, max_bytes=size, partition_max_bytes=size, min_bytes=1)

    assert whole.error_code == 0
    assert len(whole.records) <= log.size


def test_stale_and_unknown_epochs_are_told_apart_by_all_who_take_them(cluster, client):
    epoch = cluster.state("t").leader_epoch
    for known, error in ((epoch - 1, ErrorCode.FENCED_LEADER_EPOCH), (epoch + 1, ErrorCode.UNKNOWN_LEADER_EPOCH)):
        listed = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", [ListOffsetsPartition(0, known, -1)])])
        ended = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("t", [OffsetForLeaderPartition(0, known, 0)])])

        assert fetch(cluster, client, epoch=known).error_code == error
        assert client.ask(listed, 6).topics[0].partitions[0].error_code == error
        assert client.ask(ended, 4).topics[0].partitions[0].error_code == error


def test_thousands_of_partitions_that_are_not_there_are_each_told(cluster, client):
    asked = [ListOffsetsPartition(index, -1, -1) for index in range(1, 5001)]

    answer = client.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic("t", asked)]), 6)

    errors = [partition.error_code for partition in answer.topics[0].partitions]
    assert errors == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 5000


def test_who_waits_for_ever_holds_nobody_else_up(cluster, client):
    others = [cluster.client(BROKER) for _ in range(20)]
    topic_id = cluster.network.hosts[BROKER].running.image.topics.by_name["t"].topic_id
    end = cluster.log(BROKER, "t").log_end_offset
    asked = FetchPartition(partition=0, fetch_offset=end, partition_max_bytes=MIB)
    waiting = FetchRequest(max_wait_ms=2**31 - 1, min_bytes=2**31 - 1, topics=[FetchTopic("t", topic_id, [asked])])
    for other in others:
        for _ in range(10):
            other.send(waiting, 13)
    cluster.network.settle()

    assert fetch(cluster, client).error_code == 0
    cluster.run(10_000)
    assert cluster.is_running(BROKER)
    assert not any(other.answers or other.is_closed for other in others)
    for other in others:
        cluster.network.disconnect(other)
