"""OffsetForLeaderEpoch, DeleteRecords, InitProducerId, DescribeProducers, DescribeLogDirs, AlterReplicaLogDirs."""

from dataclasses import dataclass

import pytest
from broker_views import ask_broker, broker_view, pending_response
from fake_groups import FakeTransactions
from fake_replicas import FakeLog, FakeReplicas
from node_views import cluster_authorizer
from topic_authorizers import topic_authorizer

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.broker.replication.answers import RecordsDeleted
from falkirk.node.broker.replication.replica_log_dirs import LogDirState
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AlterReplicaLogDirsRequest,
    DeleteRecordsRequest,
    DescribeLogDirsRequest,
    DescribeProducersRequest,
    InitProducerIdRequest,
    InitProducerIdResponse,
    OffsetForLeaderEpochRequest,
)
from falkirk.protocol.messages.alter_replica_log_dirs_request import AlterReplicaLogDir, AlterReplicaLogDirTopic
from falkirk.protocol.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsTopic
from falkirk.protocol.messages.describe_log_dirs_request import DescribableLogDirTopic
from falkirk.protocol.messages.describe_producers_request import TopicRequest
from falkirk.protocol.messages.offset_for_leader_epoch_request import OffsetForLeaderPartition, OffsetForLeaderTopic
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.storage.producer_state import ProducerEntry

A_0, A_1, B_0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
REFUSED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


# --- OffsetForLeaderEpoch


def epoch_request(*epochs, topic="a", current=-1):
    return OffsetForLeaderEpochRequest(
        -1,
        [
            OffsetForLeaderTopic(
                topic, [OffsetForLeaderPartition(index, current, epoch) for index, epoch in enumerate(epochs)]
            )
        ],
    )


@pytest.mark.parametrize("version", range(5))
def test_where_an_epoch_ends_is_told_in_every_version(version):
    replicas = FakeReplicas()
    replicas.current[A_0] = FakeLog(epochs={1: 0, 3: 40}, log_end_offset=50)
    replicas.current[A_1] = FakeLog()
    answer = ask_broker(broker_view(replicas), epoch_request(2, 2, 2), version)
    told = [
        (each.partition, each.error_code, each.leader_epoch, each.end_offset) for each in answer.topics[0].partitions
    ]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert told == [(0, 0, 1 if version else -1, 40), (1, 0, -1, -1), (2, unknown, -1, -1)]


def test_the_epoch_that_the_client_knows_is_checked():
    replicas = FakeReplicas()
    ask_broker(broker_view(replicas), epoch_request(2, current=7), 4)
    assert replicas.asked == [("leader_log", (A_0, 7))]


@pytest.mark.parametrize(
    ("authorizer", "error"),
    [
        (topic_authorizer({"a": (AclOperation.DESCRIBE,)}), ErrorCode.NONE),
        (topic_authorizer({"b": (AclOperation.DESCRIBE,)}), REFUSED),
        (topic_authorizer({}, cluster=(AclOperation.CLUSTER_ACTION,)), ErrorCode.NONE),
    ],
)
def test_epochs_are_told_to_who_may_describe_the_topic_or_replicate(authorizer, error):
    replicas = FakeReplicas()
    replicas.current[A_0] = FakeLog()
    answer = ask_broker(broker_view(replicas, authorizer=authorizer), epoch_request(0), 4)
    assert answer.topics[0].partitions[0].error_code == error


# --- DeleteRecords


def delete_request(*offsets, topic="a"):
    partitions = [DeleteRecordsPartition(index, offset) for index, offset in enumerate(offsets)]
    return DeleteRecordsRequest([DeleteRecordsTopic(topic, partitions)], 1234)


@pytest.mark.parametrize("version", range(3))
def test_records_are_deleted_where_there_is_a_partition(version):
    replicas = FakeReplicas()
    replicas.results[A_1] = RecordsDeleted(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
    answer = ask_broker(broker_view(replicas), delete_request(5, -1, 3), version)
    assert replicas.asked == [("delete", ({A_0: 5, A_1: -1}, 1234))]
    told = [(each.partition_index, each.error_code, each.low_watermark) for each in answer.topics[0].partitions]
    assert told == [
        (0, ErrorCode.NONE, 7),
        (1, ErrorCode.OFFSET_OUT_OF_RANGE, -1),
        (2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]


def test_records_are_deleted_by_who_may_and_answered_when_it_is_done():
    replicas = FakeReplicas(answers_later=True)
    view = broker_view(replicas, authorizer=topic_authorizer({"a": (AclOperation.DELETE,)}))
    answer = pending_response(view, delete_request(5))
    assert answer() is None
    replicas.answer()
    assert answer().topics[0].partitions[0].low_watermark == 7
    refused = ask_broker(view, delete_request(5, topic="b"))
    assert [each.error_code for each in refused.topics[0].partitions] == [REFUSED]
    assert len(replicas.asked) == 1


# --- InitProducerId


@dataclass
class Ids:
    """Returns these ids, then none."""

    left: list

    def next_id(self):
        return self.left.pop(0) if self.left else None


@pytest.mark.parametrize("version", range(7))
def test_ids_are_given_as_long_as_there_are_any(version):
    view = broker_view(producer_ids=Ids([7000, 7001]))
    told = []
    for _ in range(3):
        answer = ask_broker(view, InitProducerIdRequest(None), version)
        told.append((answer.error_code, answer.producer_id, answer.producer_epoch))
    assert told == [(0, 7000, 0), (0, 7001, 0), (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, -1, -1)]


@pytest.mark.parametrize(
    ("authorizer", "error"),
    [
        (cluster_authorizer([AclOperation.IDEMPOTENT_WRITE]), ErrorCode.NONE),
        (topic_authorizer({"any": (AclOperation.WRITE,)}), ErrorCode.NONE),
        (cluster_authorizer([AclOperation.DESCRIBE]), ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        (topic_authorizer({"any": (AclOperation.READ,)}), ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    ],
)
def test_who_may_write_anywhere_gets_an_id(authorizer, error):
    view = broker_view(producer_ids=Ids([1]), authorizer=authorizer)
    assert ask_broker(view, InitProducerIdRequest(None)).error_code == error


def test_the_shard_of_a_transactional_id_answers_for_it():
    asked = InitProducerIdRequest("t", 1000)
    transactions = FakeTransactions({"t": InitProducerIdResponse(producer_id=7, producer_epoch=2)})
    answer = ask_broker(broker_view(transactions=transactions), asked)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (ErrorCode.NONE, 7, 2)
    assert [(name, request.transactional_id) for name, (_, request) in transactions.asked] == [
        ("init_producer_id", "t")
    ]


def test_a_transactional_id_needs_a_right_a_name_and_a_coordinator():
    view = broker_view(transactions=FakeTransactions({"t": ErrorCode.NOT_LEADER_OR_FOLLOWER}))
    for name, error in (("t", ErrorCode.NOT_COORDINATOR), ("", ErrorCode.INVALID_REQUEST)):
        answer = ask_broker(view, InitProducerIdRequest(name, 1000))
        assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (error, -1, -1)
    refused = broker_view(producer_ids=Ids([1]), authorizer=topic_authorizer({"t": (AclOperation.WRITE,)}))
    answer = ask_broker(refused, InitProducerIdRequest("t", 1000))
    assert answer.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@pytest.mark.parametrize(("producer_id", "epoch"), [(5, -1), (-1, 0)])
def test_an_id_without_its_epoch_is_refused(producer_id, epoch):
    view = broker_view(producer_ids=Ids([1]))
    answer = ask_broker(view, InitProducerIdRequest(None, 0, producer_id, epoch))
    assert answer.error_code == ErrorCode.INVALID_REQUEST


# --- DescribeProducers


def test_the_producers_of_any_replica_are_told():
    replicas = FakeReplicas()
    entry = ProducerEntry(
        producer_id=9,
        producer_epoch=2,
        last_sequence=41,
        timestamp=77,
        coordinator_epoch=6,
        current_transaction_first_offset=30,
    )
    replicas.current[A_0] = FakeLog(producers=[entry])
    answer = ask_broker(broker_view(replicas), DescribeProducersRequest([TopicRequest("a", (0, 1))]))
    known, unknown = answer.topics[0].partitions
    (told,) = known.active_producers
    assert (told.producer_id, told.producer_epoch, told.last_sequence, told.last_timestamp) == (9, 2, 41, 77)
    assert (told.coordinator_epoch, told.current_txn_start_offset) == (6, 30)
    assert (unknown.partition_index, unknown.error_code) == (1, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def test_producers_are_told_of_topics_that_may_be_read():
    view = broker_view(authorizer=topic_authorizer({"x": (AclOperation.READ,), "a/": (AclOperation.READ,)}))
    asked = DescribeProducersRequest([TopicRequest(name, (0,)) for name in ("a", "x", "a/")])
    told = [topic.partitions[0] for topic in ask_broker(view, asked).topics]
    why = "'a/' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    assert [(each.error_code, each.error_message) for each in told] == [
        (REFUSED, "Topic authorization failed."),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."),
        (
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"Topic name is invalid: {why}",
        ),
    ]


# --- DescribeLogDirs


def log_dirs_view(**fields):
    replicas = FakeReplicas()
    replicas.directories = {
        "/d0": LogDirState(total_bytes=100, usable_bytes=40),
        "/d1": LogDirState(total_bytes=200, usable_bytes=0, is_cordoned=True),
        "/d2": LogDirState(error=ErrorCode.KAFKA_STORAGE_ERROR),
    }
    replicas.current[A_0] = FakeLog(A_0, "/d0/a-0", log_end_offset=90, high_watermark=100, size=70)
    replicas.current[B_0] = FakeLog(B_0, "/d1/b-0", log_end_offset=9, high_watermark=8, size=60)
    replicas.other_logs = [
        FakeLog(A_0, "/d1/a-0.1234-future", log_end_offset=30, size=50),
        FakeLog(A_1, "/d1/a-1.1234-future", log_end_offset=30, size=40),
    ]
    return broker_view(replicas, **fields)


def told_dirs(answer):
    return {
        each.log_dir: (
            ErrorCode(each.error_code),
            sorted(
                (topic.name, told.partition_index, told.partition_size, told.offset_lag, told.is_future_key)
                for topic in each.topics
                for told in topic.partitions
            ),
        )
        for each in answer.results
    }


@pytest.mark.parametrize("version", range(6))
def test_all_directories_and_replicas_are_told_in_every_version(version):
    answer = ask_broker(log_dirs_view(), DescribeLogDirsRequest(None), version)
    assert answer.error_code == 0
    assert told_dirs(answer) == {
        "/d0": (ErrorCode.NONE, [("a", 0, 70, 10, False)]),
        "/d1": (ErrorCode.NONE, [("a", 0, 50, 60, True), ("a", 1, 40, -1, True), ("b", 0, 60, 0, False)]),
        "/d2": (ErrorCode.KAFKA_STORAGE_ERROR, []),
    }


@pytest.mark.parametrize("version", range(6))
def test_space_is_told_from_version_4_on_and_what_is_cordoned_from_version_5_on(version):
    answer = ask_broker(log_dirs_view(), DescribeLogDirsRequest(None), version)
    told = [(each.total_bytes, each.usable_bytes, each.is_cordoned) for each in answer.results]
    space = [(100, 40), (200, 0), (-1, -1)] if version >= 4 else [(-1, -1)] * 3
    assert told == [(*each, version >= 5 and index == 1) for index, each in enumerate(space)]


def test_only_the_replicas_that_are_asked_for_are_told():
    asked = DescribeLogDirsRequest([DescribableLogDirTopic("b", (0, 1)), DescribableLogDirTopic("x", (0,))])
    told = told_dirs(ask_broker(log_dirs_view(), asked, 4))
    assert [replicas for _, replicas in told.values()] == [[], [("b", 0, 60, 0, False)], []]


def test_directories_are_told_to_who_may_describe_the_cluster():
    view = log_dirs_view(authorizer=cluster_authorizer([AclOperation.ALTER_CONFIGS]))
    for version, error in ((2, 0), (3, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)):
        answer = ask_broker(view, DescribeLogDirsRequest(None), version)
        assert (answer.error_code, answer.results) == (error, [])


# --- AlterReplicaLogDirs


def move_request():
    return AlterReplicaLogDirsRequest(
        [
            AlterReplicaLogDir("/d0", [AlterReplicaLogDirTopic("a", (0,)), AlterReplicaLogDirTopic("b", (0,))]),
            AlterReplicaLogDir("/d1", [AlterReplicaLogDirTopic("a", (1,))]),
        ]
    )


@pytest.mark.parametrize("version", range(3))
def test_replicas_are_moved(version):
    replicas = FakeReplicas()
    replicas.results[A_1] = ErrorCode.LOG_DIR_NOT_FOUND
    answer = ask_broker(broker_view(replicas), move_request(), version)
    assert replicas.asked == [("alter", {A_0: "/d0", B_0: "/d0", A_1: "/d1"})]
    told = {
        (topic.topic_name, each.partition_index): each.error_code
        for topic in answer.results
        for each in topic.partitions
    }
    assert told == {A_0: 0, A_1: ErrorCode.LOG_DIR_NOT_FOUND, B_0: 0}


def test_replicas_are_moved_by_who_may_alter_the_cluster():
    replicas = FakeReplicas()
    view = broker_view(replicas, authorizer=cluster_authorizer([AclOperation.DESCRIBE]))
    answer = ask_broker(view, move_request())
    codes = {each.error_code for topic in answer.results for each in topic.partitions}
    assert (codes, replicas.asked) == ({ErrorCode.CLUSTER_AUTHORIZATION_FAILED}, [])
