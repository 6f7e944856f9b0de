"""Offsets of many partitions are read and written some at a time, and answered as one request's."""

from typing import Any

import pytest
from group_cluster import GroupCluster
from transaction_cluster import TransactionCluster

from falkirk.node.broker.coordinator_runtime import hosted_shard
from falkirk.node.effects import Send
from falkirk.node.handlers import write_txn_markers
from falkirk.node.handlers.parts import requested_topics
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import JoinGroupRequest, OffsetDeleteRequest, OffsetFetchRequest, WriteTxnMarkersRequest
from falkirk.protocol.messages import offset_delete_request as deletions
from falkirk.protocol.messages import offset_fetch_request as fetches
from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol
from falkirk.protocol.messages.write_txn_markers_request import WritableTxnMarker, WritableTxnMarkerTopic

pytestmark = pytest.mark.source
ALL_OF_T = range(7)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> GroupCluster:
    monkeypatch.setattr(requested_topics, "OFFSETS_AT_ONCE", 3)
    made = GroupCluster(brokers=1, offsets_partitions=1)
    made.create("t", partitions=7, factor=1)
    made.create("u", partitions=2, factor=1)
    return made


def test_many_offsets_are_committed_some_at_a_time_and_fetched_so(cluster: GroupCluster) -> None:
    wanted = {("t", index): 10 + index for index in range(7)} | {("u", 0): 3, ("u", 1): 4, ("no", 0): 5}
    errors = cluster.commit("g", wanted)
    assert {key for key, error in errors.items() if error} == {("no", 0)}
    assert set(errors) == set(wanted)
    del wanted["no", 0]
    assert cluster.fetch_offsets("g") == wanted
    topics = [fetches.OffsetFetchRequestTopics("t", partition_indexes=tuple(range(8)))]
    topics.append(fetches.OffsetFetchRequestTopics("u", partition_indexes=(1, 0)))
    request = OffsetFetchRequest(groups=[fetches.OffsetFetchRequestGroup("g", topics=topics)])
    (group,) = cluster.ask("g", request, 8).groups
    assert [topic.name for topic in group.topics] == ["t", "u"]
    found = {
        (topic.name, each.partition_index): each.committed_offset for topic in group.topics for each in topic.partitions
    }
    assert found == wanted | {("t", 7): -1}


def deleted(cluster: GroupCluster, group_id: str, **wanted: range) -> tuple[int, dict[tuple[str, int], int]]:
    topics = [
        deletions.OffsetDeleteRequestTopic(name, list(map(deletions.OffsetDeleteRequestPartition, indexes)))
        for name, indexes in wanted.items()
    ]
    answer = cluster.ask(group_id, OffsetDeleteRequest(group_id, topics), 0)
    errors = {
        (topic.name, each.partition_index): each.error_code for topic in answer.topics for each in topic.partitions
    }
    return answer.error_code, errors


def test_many_offsets_are_deleted_some_at_a_time(cluster: GroupCluster) -> None:
    offsets = {("t", index): 10 + index for index in ALL_OF_T} | {("u", 0): 3, ("u", 1): 4}
    cluster.commit("g", offsets)
    error, errors = deleted(cluster, "g", t=ALL_OF_T, no=range(1), u=range(2))
    assert not error
    assert errors == dict.fromkeys(offsets, 0) | {("no", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert cluster.fetch_offsets("g") == {}


def test_an_error_of_the_group_is_the_answer_to_all_of_its_offsets(cluster: GroupCluster) -> None:
    assert deleted(cluster, "absent", no=ALL_OF_T, t=ALL_OF_T) == (ErrorCode.GROUP_ID_NOT_FOUND, {})


@pytest.mark.parametrize("is_version_2", [False, True])
def test_many_offsets_of_a_transaction_are_committed_some_at_a_time(
    monkeypatch: pytest.MonkeyPatch, *, is_version_2: bool
) -> None:
    monkeypatch.setattr(requested_topics, "OFFSETS_AT_ONCE", 3)
    cluster = TransactionCluster(brokers=1)
    cluster.create("t", partitions=7, factor=1)
    producer = cluster.producer("tx", is_version_2=is_version_2)
    for offset in (8, 9):
        assert producer.commit_offset("g", "t", offset, partitions=7) is ErrorCode.NONE
        assert cluster.fetch_offsets("g") == {("t", index): 8 for index in ALL_OF_T if offset > 8}
        assert producer.end(is_commit=True) is ErrorCode.NONE
        cluster.run_until(cluster.is_idle)
    assert cluster.fetch_offsets("g") == {("t", index): 9 for index in ALL_OF_T}


def test_many_markers_are_written_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_txn_markers, "PARTITIONS_AT_ONCE", 3)
    cluster = TransactionCluster(brokers=1)
    cluster.create("t", partitions=7, factor=1)
    producer = cluster.producer("tx")
    producer.add(*(("t", index) for index in ALL_OF_T))
    for index in ALL_OF_T:
        producer.write("t", b"value", index=index)
    topics = [WritableTxnMarkerTopic("t", tuple(range(8))), WritableTxnMarkerTopic("no", (0,))]
    marker = WritableTxnMarker(producer.producer_id, producer.epoch, transaction_result=True, topics=topics)
    (answer,) = cluster.client(cluster.up[0]).ask(WriteTxnMarkersRequest([marker]), 1).markers
    errors = {(each.name, part.partition_index): part.error_code for each in answer.topics for part in each.partitions}
    unknown = {("t", 7), ("no", 0)}
    assert errors == dict.fromkeys(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) | {("t", i): 0 for i in ALL_OF_T}
    assert [cluster.committed("t", index) for index in ALL_OF_T] == [[b"value"]] * 7


def test_many_members_that_have_waited_for_the_last_are_answered_some_in_a_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hosted_shard, "REPLIES_AT_ONCE", 3)
    cluster = GroupCluster(brokers=1, offsets_partitions=1, properties={"group.initial.rebalance.delay.ms": "3000"})
    broker = cluster.coordinator("g")
    protocols = [JoinGroupRequestProtocol("range", b"")]
    clients = [cluster.client(broker) for _ in range(10)]
    sent = [
        (client, client.send(JoinGroupRequest("g", 60_000, 60_000, "", None, "consumer", protocols), 3))
        for client in clients
    ]
    node, answered = cluster.network.hosts[broker].running, [0]
    step = node.step

    def observed(events: Any, now_ms: int) -> Any:
        effects = step(events, now_ms)
        answered.append(sum(isinstance(effect, Send) for effect in effects))
        return effects

    monkeypatch.setattr(node, "step", observed)
    cluster.run_until(lambda: all(number in client.answers for client, number in sent))
    assert len({client.answers[number].member_id for client, number in sent}) == 10
    assert {client.answers[number].error_code for client, number in sent} == {0}
    assert max(answered) <= 2 * 3


@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_chunks_have_all_partitions_of_all_topics_in_order(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(requested_topics, "OFFSETS_AT_ONCE", count)
    topics = [
        fetches.OffsetFetchRequestTopics(name, partition_indexes=tuple(range(size)))
        for name, size in (("a", 5), ("b", 0), ("c", 1), ("d", 12))
    ]
    chunks = list(requested_topics.topic_chunks(topics, partitions="partition_indexes"))
    assert max(sum(len(topic.partition_indexes) for topic in chunk) for chunk in chunks) <= count
    found = [(topic.name, index) for chunk in chunks for topic in chunk for index in topic.partition_indexes]
    assert found == [(topic.name, index) for topic in topics for index in topic.partition_indexes]
    assert {topic.name for chunk in chunks for topic in chunk} == {"a", "b", "c", "d"}
