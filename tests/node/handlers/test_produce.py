"""Produce: what is refused before any log is asked, and how answers are told."""

import pytest
from broker_views import A, B, ask_broker, broker_records, broker_view, pending_response
from fake_replicas import FakeReplicas
from fake_verification import GUARD, FakeVerification
from metadata_images import image_of
from topic_authorizers import topic_authorizer

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.broker.replication.answers import PartitionProduced
from falkirk.node.broker.transaction_verification.add_partitions_to_txn_manager import SupportedOperation
from falkirk.node.handlers.parts.handler_result import NoAnswer
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import PartitionChangeRecord, ProduceRequest
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record
from falkirk.protocol.topic_partition import TopicIdPartition, TopicPartition
from falkirk.storage.log.append import AppendOrigin, RecordError

UNABLE = "Unable to verify the partition has been added to the transaction. Underlying error: "
RECORDS = [Record(offset=0, timestamp=5, key=None, value=b"v")]
BATCH = build_batch(RECORDS, base_offset=0)
TRANSACTIONAL = build_batch(
    RECORDS, base_offset=0, producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True
)
ZSTD = build_batch(RECORDS, base_offset=0, compression=Compression.ZSTD)


def request(*partitions, acks=-1, transactional_id=None):
    """Return a request of (topic name, or id, partition, records)."""
    topics = []
    for topic, partition, records in partitions:
        named = {"topic_id": topic} if isinstance(topic, bytes) else {"name": topic}
        topics.append(TopicProduceData(**named, partition_data=[PartitionProduceData(partition, records)]))
    return ProduceRequest(transactional_id, acks, 1500, topics)


def codes(answer):
    """Return error codes in the order of the answer."""
    return [
        (topic.name or topic.topic_id, partition.index, ErrorCode(partition.error_code))
        for topic in answer.responses
        for partition in topic.partition_responses
    ]


@pytest.mark.parametrize("version", range(14))
def test_records_reach_the_replicas_with_name_and_id_in_every_version(version):
    replicas = FakeReplicas()
    topic = A if version >= 13 else "a"
    answer = ask_broker(broker_view(replicas), request((topic, 1, BATCH)), version, client_id="me")
    assert codes(answer) == [(topic, 1, ErrorCode.NONE)]
    assert replicas.asked == [
        (
            "append",
            {
                "records": {TopicIdPartition(A, "a", 1): BATCH},
                "required_acks": -1,
                "timeout_ms": 1500,
                "origin": AppendOrigin.CLIENT,
                "are_internal_topics_allowed": False,
                "guards": {},
            },
        )
    ]


def test_offsets_and_times_are_told_as_far_as_the_version_has_them():
    replicas = FakeReplicas()
    replicas.results[TopicPartition("a", 0)] = PartitionProduced(
        error_code=ErrorCode.INVALID_TIMESTAMP,
        base_offset=-1,
        log_append_time_ms=77,
        log_start_offset=3,
        record_errors=(RecordError(batch_index=4, message="late"), RecordError(batch_index=5)),
        error_message="no",
    )
    (told,) = ask_broker(broker_view(replicas), request(("a", 0, BATCH)), 12).responses[0].partition_responses
    assert (told.base_offset, told.log_append_time_ms, told.log_start_offset) == (-1, 77, 3)
    errors = [(error.batch_index, error.batch_index_error_message) for error in told.record_errors]
    assert (errors, told.error_message) == ([(4, "late"), (5, None)], "no")
    (old,) = ask_broker(broker_view(replicas), request(("a", 0, BATCH)), 7).responses[0].partition_responses
    assert (old.log_start_offset, old.record_errors, old.error_message) == (3, [], None)


def test_each_topic_needs_the_right_to_write():
    replicas = FakeReplicas()
    view = broker_view(replicas, authorizer=topic_authorizer({"a": (AclOperation.WRITE,), "b": (AclOperation.READ,)}))
    answer = ask_broker(view, request(("a", 0, BATCH), ("b", 0, BATCH), ("c", 0, BATCH)), 12)
    refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert sorted(codes(answer)) == [("a", 0, ErrorCode.NONE), ("b", 0, refused), ("c", 0, refused)]
    assert [list(asked["records"]) for _, asked in replicas.asked] == [[TopicIdPartition(A, "a", 0)]]


def test_unknown_topics_and_partitions_are_told_without_asking_the_replicas():
    replicas = FakeReplicas()
    answer = ask_broker(broker_view(replicas), request(("x", 0, BATCH), ("a", 2, BATCH)), 12)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(answer) == [("x", 0, unknown), ("a", 2, unknown)]
    assert replicas.asked == []


def test_an_unknown_topic_id_is_told_as_such():
    answer = ask_broker(broker_view(), request((b"x" * 16, 0, BATCH), (A, 9, BATCH)), 13)
    assert codes(answer) == [
        (b"x" * 16, 0, ErrorCode.UNKNOWN_TOPIC_ID),
        (A, 9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


@pytest.mark.parametrize(
    ("records", "version", "error"),
    [
        (b"", 9, ErrorCode.INVALID_RECORD),
        (BATCH[:-1], 9, ErrorCode.INVALID_RECORD),
        (BATCH + BATCH, 9, ErrorCode.INVALID_RECORD),
        (BATCH[:16] + b"\1" + BATCH[17:], 9, ErrorCode.INVALID_RECORD),
        (ZSTD, 6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (ZSTD, 7, ErrorCode.NONE),
        (BATCH + BATCH, 2, ErrorCode.NONE),
    ],
)
def test_what_a_partition_may_hold_depends_on_the_version(records, version, error):
    assert codes(ask_broker(broker_view(), request(("a", 0, records)), version)) == [("a", 0, error)]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (BATCH[:16] + b"\3" + BATCH[17:], "Invalid magic found in record: 3"),
        (BATCH[:8] + bytes(4) + BATCH[12:], "Record size 0 is less than the minimum record overhead (14)"),
    ],
)
def test_bytes_that_cannot_be_read_fail_the_whole_request(records, message):
    replicas = FakeReplicas()
    answer = ask_broker(broker_view(replicas), request(("a", 0, BATCH), ("a", 1, records)), 12)
    assert [code for *_, code in codes(answer)] == [ErrorCode.CORRUPT_MESSAGE] * 2
    assert {told.error_message for topic in answer.responses for told in topic.partition_responses} == {message}
    assert replicas.asked == []


@pytest.mark.parametrize("acks", [-2, 2, 32767])
def test_acks_that_mean_nothing_are_refused_for_what_else_would_be_appended(acks):
    replicas = FakeReplicas()
    answer = ask_broker(broker_view(replicas), request(("a", 0, BATCH), ("x", 0, BATCH), acks=acks), 9)
    assert codes(answer) == [
        ("a", 0, ErrorCode.INVALID_REQUIRED_ACKS),
        ("x", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert replicas.asked == []


def test_without_acks_there_is_no_answer_and_an_error_closes_the_connection():
    view = broker_view()
    assert ask_broker(view, request(("a", 0, BATCH), acks=0), 9) == NoAnswer()
    assert ask_broker(view, request(acks=0)) == NoAnswer()
    assert ask_broker(view, request(("a", 7, BATCH), acks=0), 9) == NoAnswer(close=True)
    assert ask_broker(view, request(("a", 0, BATCH[:8] + bytes(53)), acks=0), 9) == NoAnswer(close=True)


def transactional(producer_id=1):
    return build_batch(
        RECORDS, base_offset=0, producer_id=producer_id, producer_epoch=3, base_sequence=4, is_transactional=True
    )


def messages(answer):
    return {told.index: told.error_message for topic in answer.responses for told in topic.partition_responses}


@pytest.mark.parametrize(
    ("version", "operation"),
    [
        (10, SupportedOperation.DEFAULT_ERROR),
        (11, SupportedOperation.GENERIC_ERROR),
        (12, SupportedOperation.ADD_PARTITION),
    ],
)
def test_transactional_batches_are_appended_with_the_guards_of_their_verification(version, operation):
    replicas, verification = FakeReplicas(), FakeVerification()
    view = broker_view(replicas, transaction_verification=verification)
    batches = (("a", 0, transactional()), ("a", 1, BATCH))
    answer = ask_broker(view, request(*batches, transactional_id="t"), version)
    assert codes(answer) == [("a", 0, ErrorCode.NONE), ("a", 1, ErrorCode.NONE)]
    (asked,) = verification.asked
    key = TopicIdPartition(A, "a", 0)
    assert (asked.transactional_id, asked.producer_id, asked.producer_epoch) == ("t", 1, 3)
    assert (asked.sequences, asked.operation) == ({key: 4}, operation)
    ((_, appended),) = replicas.asked
    assert (appended["guards"], len(appended["records"])) == ({key: GUARD}, 2)


@pytest.mark.parametrize(
    ("error", "version", "told", "message"),
    [
        (ErrorCode.INVALID_TXN_STATE, 11, ErrorCode.INVALID_TXN_STATE, "Partition was not added to the transaction"),
        (ErrorCode.INVALID_PRODUCER_EPOCH, 11, ErrorCode.INVALID_PRODUCER_EPOCH, None),
        (ErrorCode.TRANSACTION_ABORTABLE, 11, ErrorCode.TRANSACTION_ABORTABLE, None),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, 11, ErrorCode.NOT_LEADER_OR_FOLLOWER, None),
        (
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            11,
            ErrorCode.NOT_ENOUGH_REPLICAS,
            UNABLE + "COORDINATOR_NOT_AVAILABLE",
        ),
        (
            ErrorCode.CONCURRENT_TRANSACTIONS,
            11,
            ErrorCode.NOT_ENOUGH_REPLICAS,
            UNABLE + "CONCURRENT_TRANSACTIONS",
        ),
        (ErrorCode.CONCURRENT_TRANSACTIONS, 12, ErrorCode.CONCURRENT_TRANSACTIONS, None),
    ],
)
def test_what_is_not_verified_is_not_appended(error, version, told, message):
    replicas, verification = FakeReplicas(), FakeVerification({TopicPartition("a", 0): error})
    view = broker_view(replicas, transaction_verification=verification)
    batches = (("a", 0, transactional()), ("a", 1, transactional()))
    answer = ask_broker(view, request(*batches, transactional_id="t"), version)
    assert sorted(codes(answer)) == [("a", 0, told), ("a", 1, ErrorCode.NONE)]
    assert messages(answer) == {0: message, 1: None}
    ((_, appended),) = replicas.asked
    assert list(appended["records"]) == [TopicIdPartition(A, "a", 1)]


def test_a_request_has_one_transactional_producer():
    replicas = FakeReplicas()
    batches = (("a", 0, transactional(1)), ("a", 1, transactional(2)))
    answer = ask_broker(broker_view(replicas), request(*batches, transactional_id="t"), 9)
    assert [code for *_, code in codes(answer)] == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2
    assert replicas.asked == []


def test_a_transactional_id_without_transactional_batches_needs_no_verification():
    answer = ask_broker(broker_view(), request(("a", 0, BATCH), transactional_id="t"), 9)
    assert codes(answer) == [("a", 0, ErrorCode.NONE)]


def test_transactional_batches_need_the_transactional_id():
    batches = (("a", 0, TRANSACTIONAL), ("a", 1, BATCH))
    for asked, authorizer in (
        (request(*batches), broker_view().authorizer),
        (request(*batches, transactional_id="t"), topic_authorizer({"a": (AclOperation.WRITE,)})),
    ):
        answer = ask_broker(broker_view(authorizer=authorizer), asked, 9)
        assert [code for *_, code in codes(answer)] == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 2


def test_who_leads_instead_is_told_from_v10_on():
    replicas = FakeReplicas()
    replicas.results[TopicPartition("b", 0)] = PartitionProduced(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    answer = ask_broker(broker_view(replicas), request((B, 0, BATCH)), 13)
    leader = answer.responses[0].partition_responses[0].current_leader
    assert (leader.leader_id, leader.leader_epoch) == (2, 5)
    assert [(node.node_id, node.host, node.port, node.rack) for node in answer.node_endpoints] == [
        (2, "node2", 9092, "rack2")
    ]
    elsewhere = ask_broker(broker_view(replicas), request((B, 0, BATCH)), 13, listener="OTHER")
    assert elsewhere.node_endpoints == []
    old = ask_broker(broker_view(replicas), request(("b", 0, BATCH)), 9)
    assert codes(old) == [("b", 0, ErrorCode.NOT_LEADER_OR_FOLLOWER)]


def test_the_leader_is_told_as_it_is_when_the_answer_comes():
    replicas = FakeReplicas(answers_later=True)
    view = broker_view(replicas)
    replicas.results[TopicPartition("a", 0)] = PartitionProduced(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    answer = pending_response(view, request((A, 0, BATCH)))
    assert answer() is None
    replicas.context.image = image_of(*broker_records(), PartitionChangeRecord(0, A, leader=2))
    replicas.answer()
    leader = answer().responses[0].partition_responses[0].current_leader
    assert (leader.leader_id, leader.leader_epoch) == (2, 6)


def test_only_the_admin_client_may_write_to_internal_topics():
    replicas = FakeReplicas()
    for client_id in ("me", "__admin_client"):
        ask_broker(broker_view(replicas), request(("a", 0, BATCH)), 9, client_id=client_id)
    assert [asked["are_internal_topics_allowed"] for _, asked in replicas.asked] == [False, True]
