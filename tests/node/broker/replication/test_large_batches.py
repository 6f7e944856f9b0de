"""Batches of very many records take many steps, none of them a long one; the order is kept."""

from __future__ import annotations

import struct
import zlib
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from replica_cluster import ReplicaCluster

from falkirk.node.step import STEP_MS_MAX
from falkirk.protocol.batch_builder import assemble_batch, build_batch
from falkirk.protocol.compression import Compression, compress
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ProduceRequest
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record
from falkirk.protocol.varint import encode_varlong
from falkirk.simulation.machine.step_costs import StepCosts
from falkirk.storage.log.append import AppendOrigin
from falkirk.storage.log.log_config import LogConfig
from falkirk.storage.log.read import FetchIsolation
from falkirk.storage.log.record_validator import validate_produced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.node.events import Event

pytestmark = [pytest.mark.slow, pytest.mark.source]

BROKER = 101
MANY, FEWER = 100_000, 30_000


def record(delta: int, value_bytes: int, *, headers: int = 0) -> bytes:
    """Return an encoded record, quickly: no key and zero bytes as its value, with the smallest headers."""
    body = b"\0\0" + encode_varlong(delta) + b"\x01" + encode_varlong(value_bytes) + bytes(value_bytes)
    body += encode_varlong(headers) + b"\x00\x01" * headers
    return encode_varlong(len(body)) + body


def records(count: int) -> list[bytes]:
    """Encode records of random sizes, so that none is like the one before."""
    chance = Random(1)
    return [record(delta, chance.randrange(4)) for delta in range(count)]


def batch(encoded: list[bytes], codec: Compression, timestamp: int) -> bytes:
    return assemble_batch(
        compress(codec, b"".join(encoded)),
        base_offset=0,
        last_offset_delta=len(encoded) - 1,
        leader_epoch=-1,
        attributes=codec,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=len(encoded),
    )


def a_cluster(brokers: int = 1, partitions: int = 1, **configs: str) -> ReplicaCluster:
    made = ReplicaCluster(brokers=brokers)
    made.create("t", partitions=partitions, factor=brokers, **{"max.message.bytes": str(3 << 20), **configs})
    return made


def request(*data: bytes, acks: int = -1) -> ProduceRequest:
    partitions = [PartitionProduceData(index, each) for index, each in enumerate(data)]
    return ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[TopicProduceData("t", partition_data=partitions)])


def counted_steps(cluster: ReplicaCluster, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the cost in us of each step of the broker."""
    node, costs, measured = cluster.network.hosts[BROKER].running, StepCosts(), []
    step = node.step

    def counted(events: Sequence[Event], now_ms: int) -> list[Any]:
        effects = costs.measure(lambda: step(events, now_ms))
        measured.append(costs.last.us)
        return effects

    monkeypatch.setattr(node, "step", counted)
    return measured


def written(cluster: ReplicaCluster) -> bytes:
    """Return all bytes of the log of partition 0."""
    return bytes(cluster.log(BROKER, "t", 0).read(0, 1 << 30, FetchIsolation.LOG_END).records)


def told(answer: Any, index: int = 0) -> tuple[ErrorCode, int]:
    partition = answer.responses[0].partition_responses[index]
    return ErrorCode(partition.error_code), partition.base_offset


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP, Compression.ZSTD])
def test_no_step_is_long_however_many_records_a_batch_has(codec: Compression, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = a_cluster()
    produced = batch(records(MANY), codec, cluster.network.now_ms)
    measured = counted_steps(cluster, monkeypatch)
    answer = cluster.client(BROKER).ask(request(produced), 9)
    assert told(answer) == (ErrorCode.NONE, 0)
    assert len(measured) >= MANY // 2_000
    assert max(measured) <= 1_000 * STEP_MS_MAX
    at_once = validate_produced(
        produced,
        topic="t-0",
        config=LogConfig(max_message_bytes=3 << 20),
        first_offset=0,
        leader_epoch=0,
        now_ms=cluster.network.now_ms,
        origin=AppendOrigin.CLIENT,
    )
    assert written(cluster) == bytes(at_once.data)


@pytest.mark.parametrize(
    ("configs", "produced", "error"),
    [
        ({"compression.type": "gzip"}, lambda now: batch(records(FEWER), Compression.ZSTD, now), ErrorCode.NONE),
        (
            {"compression.type": "zstd", "message.timestamp.type": "LogAppendTime"},
            lambda now: batch([b"\x0c\0\x02" + record(0, 0)[3:], *records(FEWER)[1:]], Compression.LZ4, now),
            ErrorCode.NONE,
        ),
        (
            {"cleanup.policy": "compact"},
            lambda now: batch(records(MANY), Compression.ZSTD, now),
            ErrorCode.INVALID_RECORD,
        ),
        ({}, lambda now: batch(records(FEWER), Compression.NONE, now - 10**9), ErrorCode.NONE),
        (
            {"message.timestamp.before.max.ms": "1000"},
            lambda now: batch(records(FEWER), Compression.GZIP, now - 10**9),
            ErrorCode.INVALID_TIMESTAMP,
        ),
        ({}, lambda now: batch([record(0, 0, headers=10_001)] * 9, Compression.ZSTD, now), ErrorCode.INVALID_RECORD),
        (
            {},
            lambda now: batch([record(each, 0, headers=9_999) for each in range(9)], Compression.NONE, now),
            ErrorCode.NONE,
        ),
        (
            {"cleanup.policy": "compact"},
            lambda now: batch([record(each, 0, headers=10_000) for each in range(9)], Compression.NONE, now),
            ErrorCode.INVALID_RECORD,
        ),
        ({}, lambda now: batch([record(0, 0, headers=500_000)], Compression.NONE, now), ErrorCode.INVALID_RECORD),
        (
            {},
            lambda now: batch([record(each, 0, headers=20) for each in range(5_000)], Compression.ZSTD, now),
            ErrorCode.NONE,
        ),
    ],
)
def test_nor_is_one_that_rewrites_or_refuses_them(
    configs: dict[str, str], produced: Any, error: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = a_cluster(**configs)
    data = produced(cluster.network.now_ms)
    measured = counted_steps(cluster, monkeypatch)
    assert told(cluster.client(BROKER).ask(request(data), 9))[0] == error
    assert max(measured) <= 1_000 * STEP_MS_MAX


def test_nor_is_one_with_batches_for_many_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = a_cluster(partitions=200)
    few, some = (batch(records(count), Compression.NONE, cluster.network.now_ms) for count in (180, 2_000))
    data = [few, some] * 100
    measured = counted_steps(cluster, monkeypatch)
    answer = cluster.client(BROKER).ask(request(*data), 9)
    assert {told(answer, index) for index in range(200)} == {(ErrorCode.NONE, 0)}
    assert max(measured) <= 1_000 * STEP_MS_MAX


def test_what_comes_behind_on_a_connection_is_appended_behind_it() -> None:
    cluster = a_cluster()
    now_ms, client = cluster.network.now_ms, cluster.client(BROKER)
    large = client.send(request(batch(records(MANY), Compression.ZSTD, now_ms)), 9)
    small = client.send(request(build_batch([Record(0, now_ms, None, b"v")], base_offset=0)), 9)
    cluster.run_until(lambda: small in client.answers)
    assert [told(client.answers[each]) for each in (large, small)] == [(ErrorCode.NONE, 0), (ErrorCode.NONE, MANY)]


def test_other_clients_are_served_meanwhile() -> None:
    cluster = a_cluster()
    now_ms, one, other = cluster.network.now_ms, cluster.client(BROKER), cluster.client(BROKER)
    large = one.send(request(batch(records(MANY), Compression.ZSTD, now_ms)), 9)
    small = other.send(request(build_batch([Record(0, now_ms, None, b"v")], base_offset=0)), 9)
    cluster.run_until(lambda: small in other.answers)
    assert large not in one.answers
    cluster.run_until(lambda: large in one.answers)
    assert [told(other.answers[small]), told(one.answers[large])] == [(ErrorCode.NONE, 0), (ErrorCode.NONE, 1)]


def test_two_that_grow_much_are_uncompressed_one_after_the_other() -> None:
    cluster = a_cluster()
    data = batch(records(MANY * 3), Compression.ZSTD, cluster.network.now_ms)
    clients = [cluster.client(BROKER) for _ in range(3)]
    sent = [client.send(request(data), 9) for client in clients]
    cluster.run_until(lambda: all(each in client.answers for client, each in zip(clients, sent, strict=True)))
    answers = [told(client.answers[each]) for client, each in zip(clients, sent, strict=True)]
    assert sorted(answers) == [(ErrorCode.NONE, 3 * MANY * turn) for turn in range(3)]


def test_a_large_batch_is_appended_though_its_client_has_gone() -> None:
    cluster = a_cluster()
    client = cluster.client(BROKER)
    client.send(request(batch(records(MANY), Compression.GZIP, cluster.network.now_ms), acks=0), 9)
    cluster.network.disconnect(client)
    cluster.run(1_000)
    assert cluster.log(BROKER, "t", 0).log_end_offset == MANY


def test_a_broker_that_no_longer_leads_when_all_is_read_appends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = a_cluster()
    client = cluster.client(BROKER)
    sent = client.send(request(batch(records(MANY), Compression.ZSTD, cluster.network.now_ms)), 9)
    steps = counted_steps(cluster, monkeypatch)
    cluster.run_until(lambda: len(steps) > 5)
    assert sent not in client.answers
    partition = cluster.partition(BROKER, "t", 0)
    log = partition.leader_log
    monkeypatch.setattr(type(partition), "leader_log", property(lambda _: None))
    cluster.run_until(lambda: sent in client.answers)
    assert told(client.answers[sent]) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert log is not None
    assert log.log_end_offset == 0


def old_message(timestamp: int, value: bytes | None, *, codec: Compression = Compression.NONE) -> bytes:
    size = -1 if value is None else len(value)
    body = struct.pack(">bBqii", 1, codec, timestamp, -1, size) + (value or b"")
    return struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_many_old_messages_take_many_steps(codec: Compression, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = ReplicaCluster(brokers=1, release="3.9")
    cluster.create("t", factor=1)
    now_ms = cluster.network.now_ms
    data = old_message(now_ms, None) * FEWER
    if codec is not Compression.NONE:
        data = old_message(now_ms, compress(codec, data), codec=codec)
    measured = counted_steps(cluster, monkeypatch)
    assert told(cluster.client(BROKER).ask(request(data), 2)) == (ErrorCode.NONE, 0)
    assert cluster.log(BROKER, "t", 0).log_end_offset == FEWER
    assert max(measured) <= 1_000 * STEP_MS_MAX
