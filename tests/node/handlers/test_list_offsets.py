"""ListOffsets: what timestamps mean, who may see what, and how each version tells it."""

import pytest
from broker_views import ask_broker, broker_view
from fake_replicas import FakeLog, FakeReplicas
from topic_authorizers import topic_authorizer

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ListOffsetsRequest
from falkirk.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsTopic
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.storage.log.read import TimestampOffset

A_0 = TopicPartition("a", 0)


def replicas_with(log):
    replicas = FakeReplicas()
    replicas.current[A_0] = log
    return replicas


def a_log(**fields):
    fields = {
        "log_start_offset": 3,
        "log_end_offset": 20,
        "high_watermark": 10,
        "stable": 8,
        "epochs": {1: 0, 5: 9},
    } | fields
    return FakeLog(**fields)


def request(*timestamps, replica_id=-1, isolation_level=0, epoch=-1, max_num_offsets=1, topic="a"):
    partitions = [
        ListOffsetsPartition(index, epoch, timestamp, max_num_offsets) for index, timestamp in enumerate(timestamps)
    ]
    return ListOffsetsRequest(replica_id, isolation_level, [ListOffsetsTopic(topic, partitions)])


def ask(log, timestamp, version=9, **fields):
    """Return (error, timestamp, offset, leader epoch) of partition 0."""
    if version > 0:
        fields.setdefault("max_num_offsets", 1)
    answer = ask_broker(broker_view(replicas_with(log)), request(timestamp, **fields), version)
    ((told,),) = [topic.partitions for topic in answer.topics]
    return ErrorCode(told.error_code), told.timestamp, told.offset, told.leader_epoch


@pytest.mark.parametrize("version", range(1, 12))
def test_the_end_and_the_start_are_told_in_every_version(version):
    epochs = (5, 1) if version >= 4 else (-1, -1)
    assert ask(a_log(), -1, version) == (ErrorCode.NONE, -1, 10, epochs[0])
    assert ask(a_log(), -2, version) == (ErrorCode.NONE, -1, 3, epochs[1])


@pytest.mark.parametrize(
    ("fields", "end"),
    [({}, 10), ({"isolation_level": 1}, 8), ({"replica_id": 2}, 20), ({"replica_id": -2}, 20)],
)
def test_the_end_is_what_the_asker_may_see(fields, end):
    assert ask(a_log(), -1, **fields)[2] == end


def test_the_leader_is_asked_and_for_debugging_any_replica():
    replicas = replicas_with(a_log())
    view = broker_view(replicas)
    ask_broker(view, request(-1, epoch=4), 9)
    ask_broker(view, request(-1, replica_id=-2), 9)
    assert replicas.asked == [("leader_log", (A_0, 4)), ("log", A_0)]


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.KAFKA_STORAGE_ERROR]
)
def test_why_there_is_no_log_is_told(error):
    assert ask(error, -1) == (error, -1, -1, -1)


@pytest.mark.parametrize(
    ("timestamp", "version", "error"),
    [
        (-3, 6, ErrorCode.UNSUPPORTED_VERSION),
        (-3, 7, ErrorCode.NONE),
        (-4, 7, ErrorCode.UNSUPPORTED_VERSION),
        (-4, 8, ErrorCode.NONE),
        (-5, 8, ErrorCode.UNSUPPORTED_VERSION),
        (-5, 9, ErrorCode.NONE),
        (-6, 10, ErrorCode.UNSUPPORTED_VERSION),
        (-6, 11, ErrorCode.NONE),
        (-7, 11, ErrorCode.UNSUPPORTED_VERSION),
        (-3, 0, ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_timestamps_that_mean_something_are_known_from_a_version_on(timestamp, version, error):
    assert ask(a_log(), timestamp, version)[0] is error


def test_a_record_is_found_by_its_timestamp():
    log = a_log(by_timestamp={100: TimestampOffset(timestamp=101, offset=6, leader_epoch=1)})
    assert ask(log, 100) == (ErrorCode.NONE, 101, 6, 1)
    assert ask(log, 100, 3) == (ErrorCode.NONE, 101, 6, -1)
    assert ask(log, 99) == (ErrorCode.NONE, -1, -1, -1)


def test_what_is_not_visible_yet_is_not_found():
    log = a_log(
        by_timestamp={100: TimestampOffset(timestamp=101, offset=10)},
        of_max_timestamp=TimestampOffset(timestamp=200, offset=12),
    )
    assert ask(log, 100) == (ErrorCode.NONE, -1, -1, -1)
    assert ask(log, 100, replica_id=2) == (ErrorCode.NONE, 101, 10, -1)
    assert ask(log, -3) == (ErrorCode.NONE, -1, -1, -1)
    assert ask(log, -3, replica_id=2) == (ErrorCode.NONE, 200, 12, -1)


def test_without_remote_storage_there_is_nothing_in_it():
    assert ask(a_log(), -4) == (ErrorCode.NONE, -1, 3, 1)
    assert ask(a_log(), -5) == (ErrorCode.NONE, -1, -1, -1)


def test_a_new_leader_does_not_know_the_end_before_its_own_records_are_committed():
    log = a_log(epochs={1: 0, 5: 15}, by_timestamp={100: TimestampOffset(timestamp=101, offset=4)})
    assert ask(log, -1) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1, -1, -1)
    assert ask(log, -1, 4) == (ErrorCode.LEADER_NOT_AVAILABLE, -1, -1, -1)
    assert ask(log, 500) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1, -1, -1)
    assert ask(log, 100) == (ErrorCode.NONE, 101, 4, -1)
    assert ask(log, -2)[:3] == (ErrorCode.NONE, -1, 3)
    assert ask(log, -1, replica_id=2)[:3] == (ErrorCode.NONE, -1, 20)


def test_a_partition_that_is_named_twice_is_refused_once():
    asked = request(-1)
    asked.topics.append(asked.topics[0])
    answer = ask_broker(broker_view(replicas_with(a_log())), asked, 9)
    assert [(topic.name, [told.error_code for told in topic.partitions]) for topic in answer.topics] == [
        ("a", [ErrorCode.INVALID_REQUEST])
    ]


def test_each_topic_needs_the_right_to_describe_it():
    view = broker_view(replicas_with(a_log()), authorizer=topic_authorizer({"a": (AclOperation.READ,)}))
    allowed = ask_broker(view, request(-1), 9)
    refused = ask_broker(view, request(-1, topic="b"), 9)
    assert allowed.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert refused.topics[0].partitions[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize(
    ("timestamp", "count", "replica_id", "offsets"),
    [
        (-1, 9, -1, (10, 9, 6, 3)),
        (-1, 9, 2, (20, 15, 9, 6, 3)),
        (-1, 2, -1, (10,)),
        (-1, 2, 2, (20, 15)),
        (-2, 9, -1, (3,)),
        (2**62, 9, 2, (20, 15, 9, 6, 3)),
        # What is below the last one that fits is told, whatever its time.
        (150, 9, -1, (9, 6, 3)),
        (150, 2, -1, (9, 6)),
        (100, 9, -1, (3,)),
        (99, 9, -1, ()),
        (-1, 0, -1, ()),
        (-1, -1, -1, ()),
    ],
)
def test_the_oldest_version_lists_where_segments_begin(timestamp, count, replica_id, offsets):
    starts = [(100, 3), (200, 6), (150, 9), (300, 15)]
    log = a_log(starts=[TimestampOffset(timestamp=time_ms, offset=offset) for time_ms, offset in starts])
    asked = request(timestamp, max_num_offsets=count, replica_id=replica_id)
    answer = ask_broker(broker_view(replicas_with(log)), asked, 0)
    assert answer.topics[0].partitions[0].old_style_offsets == offsets


def test_a_disk_that_fails_is_told_and_taken_offline():
    class FailingLog(FakeLog):
        def offset_for_timestamp(self, timestamp):  # noqa: ARG002
            raise OSError(5, "I/O error")

    replicas = replicas_with(FailingLog(log_end_offset=1))
    answer = ask_broker(broker_view(replicas), request(100), 9)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert replicas.asked[-1] == ("disk_failed", replicas.current[A_0])
