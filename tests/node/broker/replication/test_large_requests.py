"""Requests of many partitions take many steps: a bounded number of partitions in each, and the order is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from replica_cluster import ReplicaCluster

from falkirk.node.broker import fetch_sessions
from falkirk.node.broker.replication import appends, fetches
from falkirk.node.handlers import fetch, produce
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import FetchRequest, ProduceRequest
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record
from falkirk.storage.log.unified_log import UnifiedLog

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.source

BROKER = 101
PARTITIONS = 24
AT_ONCE = 5


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> ReplicaCluster:
    for module, name in (
        (produce, "PARTITIONS_AT_ONCE"),
        (fetch, "PARTITIONS_AT_ONCE"),
        (appends, "APPENDED_PER_SLICE"),
        (fetches, "READ_PER_SLICE"),
        (fetch_sessions, "REMEMBERED_PER_SLICE"),
    ):
        monkeypatch.setattr(module, name, AT_ONCE)
    made = ReplicaCluster(brokers=1)
    made.create("t", partitions=PARTITIONS, factor=1)
    return made


def most_in_a_step(cluster: ReplicaCluster, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[int]:
    """Count the calls of a function; the list has how often the broker called it in each of its steps."""
    calls, counts = 0, []
    called, node = getattr(owner, name), cluster.network.hosts[BROKER].running
    step = node.step

    def counted(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        return called(*arguments, **named)

    def one_step(*arguments: Any) -> Any:
        nonlocal calls
        calls = 0
        effects = step(*arguments)
        counts.append(calls)
        return effects

    monkeypatch.setattr(owner, name, counted)
    monkeypatch.setattr(node, "step", one_step)
    return counts


def produced(cluster: ReplicaCluster, *indexes: int, acks: int = -1) -> ProduceRequest:
    batch = build_batch([Record(0, cluster.network.now_ms, None, b"v")], base_offset=0)
    data = [PartitionProduceData(index, batch) for index in indexes]
    return ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[TopicProduceData(name="t", partition_data=data)])


def offsets(answer: Any) -> list[tuple[int, int, int]]:
    (topic,) = answer.responses
    return [(each.index, each.error_code, each.base_offset) for each in topic.partition_responses]


def fetch_request(*indexes: int, **fields: Any) -> FetchRequest:
    partitions = [FetchPartition(index, partition_max_bytes=1_000) for index in indexes]
    topics = [FetchTopic("t", partitions=partitions)] if partitions else []
    return FetchRequest(topics=topics, **{"max_wait_ms": 100, "min_bytes": 0, "session_epoch": 0} | fields)


def fetched(answer: Any) -> list[int]:
    assert answer.error_code == ErrorCode.NONE
    return [partition.partition_index for topic in answer.responses for partition in topic.partitions]


def test_a_step_appends_to_few_of_the_partitions_of_one_request(
    cluster: ReplicaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = most_in_a_step(cluster, monkeypatch, UnifiedLog, "append_as_leader")
    answer = cluster.client(BROKER).ask(produced(cluster, *range(PARTITIONS)), 9)
    assert offsets(answer) == [(index, 0, 0) for index in range(PARTITIONS)]
    assert sum(counts) == PARTITIONS
    assert max(counts) <= AT_ONCE


def test_what_a_producer_sends_behind_a_large_request_is_appended_behind_it(cluster: ReplicaCluster) -> None:
    client, last = cluster.client(BROKER), PARTITIONS - 1
    client.send(produced(cluster, *range(PARTITIONS)), 9)
    small = client.send(produced(cluster, last), 9)
    cluster.run_until(lambda: small in client.answers)
    assert offsets(client.answers[small]) == [(last, 0, 1)]


def test_a_large_request_is_appended_to_the_end_though_its_client_has_gone(cluster: ReplicaCluster) -> None:
    client = cluster.client(BROKER)
    client.send(produced(cluster, *range(PARTITIONS), acks=0), 9)
    cluster.network.disconnect(client)
    cluster.run(1_000)
    assert [cluster.log(BROKER, "t", index).log_end_offset for index in range(PARTITIONS)] == [1] * PARTITIONS


def test_a_large_request_that_fails_lets_those_behind_it_go_on(
    cluster: ReplicaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_arguments: Any, **_named: Any) -> None:
        raise ValueError("planted")

    client = cluster.client(BROKER)
    with monkeypatch.context() as planted:
        planted.setattr(UnifiedLog, "append_as_leader", failing)
        answer = client.ask(produced(cluster, *range(PARTITIONS)), 9)
    assert {error for _, error, _ in offsets(answer)} == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert offsets(client.ask(produced(cluster, 0), 9)) == [(0, 0, 0)]


@pytest.mark.parametrize("records", [0, 1])
def test_a_step_reads_few_of_the_partitions_of_one_request(
    cluster: ReplicaCluster, monkeypatch: pytest.MonkeyPatch, records: int
) -> None:
    client = cluster.client(BROKER)
    if records:
        client.ask(produced(cluster, *range(PARTITIONS)), 9)
    reads = most_in_a_step(cluster, monkeypatch, fetches, "read_partition")
    told = most_in_a_step(cluster, monkeypatch, fetch, "fetched_partition")
    first = client.ask(fetch_request(*range(PARTITIONS)), 12)
    assert fetched(first) == [*range(PARTITIONS)]
    assert sum(told) == PARTITIONS
    assert max(reads) <= AT_ONCE
    assert max(told) <= AT_ONCE
    # A request of the session names none of them.
    second = client.ask(fetch_request(session_id=first.session_id, session_epoch=1), 12)
    assert fetched(second) == ([*range(PARTITIONS)] if records else [])
    assert max(reads) <= AT_ONCE
    assert max(told) <= AT_ONCE


def test_a_request_that_overtakes_a_large_one_of_its_session_is_the_one_that_counts(cluster: ReplicaCluster) -> None:
    client = cluster.client(BROKER)
    session_id = client.ask(fetch_request(*range(PARTITIONS)), 12).session_id
    client.ask(produced(cluster, *range(PARTITIONS)), 9)
    slow = client.send(fetch_request(session_id=session_id, session_epoch=1), 12)
    other = cluster.client(BROKER)
    forgets: Callable[..., FetchRequest] = fetch_request
    fast = other.send(forgets(session_id=session_id, session_epoch=2), 12)
    cluster.run_until(lambda: slow in client.answers and fast in other.answers)
    errors = [client.answers[slow].error_code, other.answers[fast].error_code]
    assert errors == [ErrorCode.INVALID_FETCH_SESSION_EPOCH, ErrorCode.NONE]


@pytest.mark.parametrize("min_bytes", [1, 100])
def test_a_fetch_that_waits_knows_what_came_while_it_was_read(
    cluster: ReplicaCluster, monkeypatch: pytest.MonkeyPatch, min_bytes: int
) -> None:
    """Else a large fetch would wait to its end, with records that are there."""
    consumer, producer, read = cluster.client(BROKER), cluster.client(BROKER), fetches.read_partition

    def read_partition(partition: Any, *arguments: Any, **named: Any) -> Any:
        if partition.topic_partition.partition == AT_ONCE:
            producer.send(produced(cluster, 0, 1), 9)
        return read(partition, *arguments, **named)

    monkeypatch.setattr(fetches, "read_partition", read_partition)
    began_ms = cluster.network.now_ms
    answer = consumer.ask(fetch_request(*range(PARTITIONS), max_wait_ms=5_000, min_bytes=min_bytes), 12)
    (topic,) = answer.responses
    assert {each.partition_index for each in topic.partitions if each.records} == {0, 1}
    assert cluster.network.now_ms - began_ms < 5_000
