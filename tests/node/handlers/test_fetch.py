"""Fetch on listeners of brokers: who may read what, how it is told, sessions."""

import pytest
from broker_views import A, B, ask_broker, broker_records, broker_view, pending_response
from fake_replicas import FakeLog, FakeReplicas
from metadata_images import image_of
from node_views import context_of, node_view
from topic_authorizers import topic_authorizer

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.broker.replication.fetch_params import DivergingEpoch, FetchParams, FetchPartition, PartitionFetched
from falkirk.node.handlers.parts.handler_result import ASK_RAFT
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol import codec
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.message_set import read_messages
from falkirk.protocol.messages import FetchRequest, PartitionRecord, RemoveTopicRecord, TopicRecord
from falkirk.protocol.messages.fetch_request import FetchPartition as Asked
from falkirk.protocol.messages.fetch_request import FetchTopic, ForgottenTopic, ReplicaState
from falkirk.protocol.record import Record
from falkirk.protocol.topic_partition import TopicIdPartition, TopicPartition
from falkirk.storage.log.log_config import LogConfig
from falkirk.storage.log.read import FetchIsolation
from falkirk.storage.transaction_index import AbortedTransaction
from falkirk.versions.release import Release

BATCH = build_batch([Record(offset=offset, timestamp=9, key=None, value=b"v") for offset in (4, 5)], base_offset=4)
A_0 = TopicPartition("a", 0)


def request(*topics, **fields):
    """Return a request of (topic name or id, partition, ...); a partition may be a number or what is asked."""
    asked = [
        FetchTopic(
            **({"topic_id": topic} if isinstance(topic, bytes) else {"topic": topic}),
            partitions=[
                each if isinstance(each, Asked) else Asked(each, fetch_offset=5, partition_max_bytes=1000)
                for each in partitions
            ],
        )
        for topic, *partitions in topics
    ]
    return FetchRequest(topics=asked, **{"max_wait_ms": 100, "min_bytes": 1, "max_bytes": 500} | fields)


def codes(answer):
    return [
        (topic.topic or topic.topic_id, partition.partition_index, ErrorCode(partition.error_code))
        for topic in answer.responses
        for partition in topic.partitions
    ]


def partition_of(answer):
    ((told,),) = [topic.partitions for topic in answer.responses]
    return told


@pytest.mark.parametrize("version", range(19))
def test_partitions_are_read_by_name_and_id_in_every_version(version):
    replicas = FakeReplicas()
    replicas.results[TopicPartition("a", 1)] = PartitionFetched(
        high_watermark=8, last_stable_offset=7, log_start_offset=2, records=BATCH
    )
    topic = A if version >= 13 else "a"
    told = partition_of(ask_broker(broker_view(replicas), request((topic, 1)), version))
    assert (told.partition_index, told.error_code, told.high_watermark) == (1, 0, 8)
    assert (told.last_stable_offset, told.log_start_offset) == (7 if version >= 4 else -1, 2 if version >= 5 else -1)
    if version >= 4:
        assert told.records == BATCH
    ((_, (params, ((key, asked),))),) = (each for each in replicas.asked if each[0] == "fetch")
    assert key == TopicIdPartition(A, "a", 1)
    assert (asked.fetch_offset, asked.max_bytes, asked.high_watermark) == (5, 1000, None)
    assert params.isolation is FetchIsolation.HIGH_WATERMARK
    assert params.is_leader_only == (version < 11)


def test_what_the_request_says_reaches_the_replicas():
    replicas = FakeReplicas()
    asked = Asked(0, 5, 7, 4, 3, 1000, high_watermark=6)
    ask_broker(
        broker_view(replicas, fetch_bytes_max=400),
        request((A, asked), replica_state=ReplicaState(2, 10), min_bytes=450, rack_id="r"),
        18,
        client_host="10.1.2.3",
    )
    ((_, (params, ((_, reached),))),) = replicas.asked
    assert params == FetchParams(
        replica_id=2,
        replica_epoch=10,
        max_wait_ms=100,
        min_bytes=400,
        max_bytes=400,
        isolation=FetchIsolation.LOG_END,
        rack="r",
        client_host="10.1.2.3",
        is_leader_only=True,
    )
    assert reached == FetchPartition(
        fetch_offset=7,
        max_bytes=1000,
        current_leader_epoch=5,
        last_fetched_epoch=4,
        log_start_offset=3,
        high_watermark=6,
    )


@pytest.mark.parametrize(
    ("replica_id", "isolation_level", "isolation"),
    [
        (-1, 0, FetchIsolation.HIGH_WATERMARK),
        (-1, 1, FetchIsolation.TXN_COMMITTED),
        (-2, 0, FetchIsolation.HIGH_WATERMARK),
        (2, 1, FetchIsolation.LOG_END),
    ],
)
def test_who_asks_decides_up_to_where_is_read(replica_id, isolation_level, isolation):
    replicas = FakeReplicas()
    asked = request(("a", 0), replica_id=replica_id, isolation_level=isolation_level)
    ask_broker(broker_view(replicas), asked, 12)
    assert replicas.asked[0][1][0].isolation is isolation


def test_consumers_need_the_right_to_read_each_topic_and_followers_that_to_the_cluster():
    reader = topic_authorizer({"a": (AclOperation.READ,), "b": (AclOperation.DESCRIBE,)})
    replicator = topic_authorizer({}, cluster=(AclOperation.CLUSTER_ACTION,))
    both = request((A, 0), (B, 0))
    from_follower = request((A, 0), (B, 0), replica_state=ReplicaState(2, -1))
    refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    for authorizer, asked, expected in (
        (reader, both, [ErrorCode.NONE, refused]),
        (reader, from_follower, [refused, refused]),
        (replicator, both, [refused, refused]),
        (replicator, from_follower, [ErrorCode.NONE, ErrorCode.NONE]),
    ):
        answer = ask_broker(broker_view(authorizer=authorizer), asked, 17)
        assert [code for *_, code in codes(answer)] == expected
        assert all(told.records == b"" for topic in answer.responses for told in topic.partitions)


def test_unknown_topics_partitions_and_ids_are_told_apart():
    answer = ask_broker(broker_view(), request((A, 0, 7), (b"x" * 16, 0)), 17)
    assert codes(answer) == [
        (A, 0, ErrorCode.NONE),
        (b"x" * 16, 0, ErrorCode.UNKNOWN_TOPIC_ID),
        (A, 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert codes(ask_broker(broker_view(), request(("x", 0)), 12)) == [("x", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]


def test_the_metadata_topic_is_unknown_to_the_listeners_of_brokers():
    quorum_id = bytes(15) + b"\1"
    answer = ask_broker(broker_view(), request((quorum_id, 0)), 17)
    assert codes(answer) == [(quorum_id, 0, ErrorCode.UNKNOWN_TOPIC_ID)]
    answer = ask_broker(broker_view(), request(("__cluster_metadata", 0)), 12)
    assert codes(answer) == [("__cluster_metadata", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]


def test_on_listeners_of_controllers_the_replica_of_the_metadata_log_answers():
    view = node_view(image_of(*broker_records()), Release.parse("4.3"))
    asked = request((A, 0))
    assert ROUTES[1].handler(view, context_of(asked, 17), asked) is ASK_RAFT


def test_a_topic_made_anew_is_told_in_a_session_of_the_old_one():
    view = broker_view()
    session = ask_broker(view, request((A, 0), session_epoch=0), 17).session_id
    anew = [*broker_records(), RemoveTopicRecord(A), TopicRecord("a", b"z" * 16)]
    partition = PartitionRecord(0, b"z" * 16, replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0)
    for records, error, epoch in (
        ((RemoveTopicRecord(A),), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 1),
        ((*anew[len(broker_records()) :], partition), ErrorCode.INCONSISTENT_TOPIC_ID, 2),
    ):
        later = broker_view(image=image_of(*broker_records(), *records), fetch_sessions=view.broker.fetch_sessions)
        answer = ask_broker(later, request(session_id=session, session_epoch=epoch), 17)
        assert codes(answer) == [(A, 0, error)]


def test_a_session_tells_what_changed_and_forgets():
    replicas = FakeReplicas()
    view = broker_view(replicas)
    first = ask_broker(view, request((A, 0, 1), (B, 0), session_epoch=0), 17)
    assert (first.error_code, len(codes(first)), first.session_id > 0) == (0, 3, True)
    session = first.session_id
    assert codes(ask_broker(view, request(session_id=session, session_epoch=1), 17)) == []
    replicas.results[TopicPartition("a", 1)] = PartitionFetched(high_watermark=9, records=BATCH)
    answer = ask_broker(
        view, request(session_id=session, session_epoch=2, forgotten_topics_data=[ForgottenTopic("", B, (0,))]), 17
    )
    assert (answer.session_id, codes(answer)) == (session, [(A, 1, ErrorCode.NONE)])
    ask_broker(view, request(session_id=session, session_epoch=3), 17)
    assert [key.partition for key, _ in replicas.asked[-1][1][1]] == [0, 1]


@pytest.mark.parametrize(
    ("epoch", "version", "error"),
    [
        (2, 17, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (1, 12, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
    ],
)
def test_errors_of_the_session_are_those_of_the_whole(epoch, version, error):
    view = broker_view()
    session = ask_broker(view, request((A, 0), session_epoch=0), 17).session_id
    answer = ask_broker(view, request(session_id=session, session_epoch=epoch), version)
    assert (answer.error_code, answer.session_id, answer.responses) == (error, 0, [])
    unknown = ask_broker(view, request(session_id=session + 1, session_epoch=1), 17)
    assert unknown.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_before_sessions_there_are_none():
    view = broker_view()
    ask_broker(view, request(("a", 0)), 6)
    assert len(view.broker.fetch_sessions) == 0


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH])
def test_who_leads_instead_is_told_from_v16_on(error):
    replicas = FakeReplicas()
    replicas.results[TopicPartition("b", 0)] = PartitionFetched(error_code=error)
    answer = ask_broker(broker_view(replicas), request((B, 0)), 16)
    leader = partition_of(answer).current_leader
    assert (leader.leader_id, leader.leader_epoch) == (2, 5)
    assert [(node.node_id, node.host, node.port, node.rack) for node in answer.node_endpoints] == [
        (2, "node2", 9092, "rack2")
    ]
    assert partition_of(ask_broker(broker_view(replicas), request((B, 0)), 15)).current_leader.leader_id == -1


def test_diverging_epochs_aborted_transactions_and_preferred_replicas_are_told():
    replicas = FakeReplicas()
    aborted = AbortedTransaction(producer_id=3, first_offset=4, last_offset=6, last_stable_offset=7)
    replicas.results[A_0] = PartitionFetched(
        diverging_epoch=DivergingEpoch(epoch=3, end_offset=44),
        aborted_transactions=(aborted,),
        preferred_read_replica=2,
    )
    told = partition_of(ask_broker(broker_view(replicas), request((A, 0)), 17))
    assert (told.diverging_epoch.epoch, told.diverging_epoch.end_offset) == (3, 44)
    assert [(each.producer_id, each.first_offset) for each in told.aborted_transactions] == [(3, 4)]
    assert told.preferred_read_replica == 2
    replicas.results[A_0] = PartitionFetched()
    assert partition_of(ask_broker(broker_view(replicas), request((A, 0)), 17)).aborted_transactions is None


def test_old_clients_take_a_storage_error_for_another_leader():
    replicas = FakeReplicas()
    replicas.results[A_0] = PartitionFetched(error_code=ErrorCode.KAFKA_STORAGE_ERROR)
    found = [codes(ask_broker(broker_view(replicas), request(("a", 0)), version))[0][2] for version in (5, 6)]
    assert found == [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.KAFKA_STORAGE_ERROR]


def test_old_clients_are_not_given_what_a_topic_keeps_in_zstd():
    replicas = FakeReplicas()
    replicas.current[A_0] = FakeLog(config=LogConfig(compression_type="zstd"))
    for release, version, error in (
        ("3.9", 9, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ("3.9", 10, ErrorCode.NONE),
        ("4.0", 9, ErrorCode.NONE),
    ):
        answer = ask_broker(broker_view(replicas, release=release), request(("a", 0)), version)
        assert codes(answer) == [("a", 0, error)]


@pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (3, 1)])
def test_the_oldest_clients_are_given_messages_from_the_offset_on_that_they_asked_for(version, magic):
    replicas = FakeReplicas()
    replicas.results[A_0] = PartitionFetched(records=BATCH)
    told = partition_of(ask_broker(broker_view(replicas), request(("a", 0)), version))
    assert [(message.offset, message.magic, message.value) for message in read_messages(told.records)] == [
        (5, magic, b"v")
    ]


def test_what_cannot_be_converted_for_the_oldest_clients_is_refused():
    replicas = FakeReplicas()
    zstd = build_batch([Record(0, 9, None, b"v")], base_offset=0, compression=Compression.ZSTD)
    for records, config, error in (
        (zstd, LogConfig(), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (BATCH[:-4] + b"\xff" * 4, LogConfig(), ErrorCode.CORRUPT_MESSAGE),
        (BATCH, LogConfig(message_downconversion_enable=False), ErrorCode.UNSUPPORTED_VERSION),
    ):
        replicas.results[A_0] = PartitionFetched(records=records)
        replicas.current[A_0] = FakeLog(config=config)
        told = partition_of(ask_broker(broker_view(replicas), request(("a", 0)), 3))
        assert (told.error_code, told.records) == (error, b"")


def test_large_records_are_passed_on_as_they_are():
    replicas = FakeReplicas()
    large = memoryview(bytes(100_000))
    replicas.results[A_0] = PartitionFetched(records=large)
    view = broker_view(replicas)
    told = []
    asked = request((A, 0))
    ROUTES[1].handler(view, context_of(asked, 17), asked).start(told.append)
    pieces = codec.encode_pieces(told[0].message, 17)
    assert [piece is large for piece in pieces] == [False, True, False]
    assert b"".join(pieces) == codec.encode(told[0].message, 17)


def test_the_answer_comes_when_the_replicas_give_it():
    replicas = FakeReplicas(answers_later=True)
    answer = pending_response(broker_view(replicas), request((A, 0)), 17)
    assert answer() is None
    replicas.answer()
    assert codes(answer()) == [(A, 0, ErrorCode.NONE)]
