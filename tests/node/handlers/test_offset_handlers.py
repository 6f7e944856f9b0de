"""Requests about offsets: which topics reach the group's shard, how answers are put together."""

import pytest
from broker_views import A, ask_broker, broker_records, broker_view
from fake_groups import FakeGroups
from fake_verification import GUARD, FakeVerification
from metadata_images import image_of
from topic_authorizers import resource_authorizer

from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.node.broker.transaction_verification.add_partitions_to_txn_manager import SupportedOperation
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    PartitionRecord,
    TopicRecord,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from falkirk.protocol.messages import offset_commit_request as commit_request
from falkirk.protocol.messages import offset_commit_response as commit_response
from falkirk.protocol.messages import offset_delete_request as delete_request
from falkirk.protocol.messages import offset_delete_response as delete_response
from falkirk.protocol.messages import offset_fetch_request as fetch_request
from falkirk.protocol.messages import txn_offset_commit_request as txn_request
from falkirk.protocol.messages import txn_offset_commit_response as txn_response
from falkirk.protocol.messages.offset_fetch_response import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.topic_partition import TopicIdPartition, TopicPartition
from falkirk.versions.release import CONSUMER_OFFSETS

UNKNOWN_ID = b"u" * 16
READ_A = (
    (ResourceType.GROUP, "g", AclOperation.READ),
    (ResourceType.GROUP, "g", AclOperation.DESCRIBE),
    (ResourceType.GROUP, "g", AclOperation.DELETE),
    (ResourceType.TOPIC, "a", AclOperation.READ),
    (ResourceType.TRANSACTIONAL_ID, "t", AclOperation.WRITE),
)


def commit(*topics):
    """Commit offset 7 of (name or id, partitions)."""
    asked = []
    for topic, partitions in topics:
        named = {"topic_id": topic} if isinstance(topic, bytes) else {"name": topic}
        each = [commit_request.OffsetCommitRequestPartition(index, 7) for index in partitions]
        asked.append(commit_request.OffsetCommitRequestTopic(**named, partitions=each))
    return OffsetCommitRequest("g", topics=asked)


def committed(name, *partitions):
    """The shard's answer for a topic."""
    each = [commit_response.OffsetCommitResponsePartition(*partition) for partition in partitions]
    return OffsetCommitResponse(topics=[commit_response.OffsetCommitResponseTopic(name, partitions=each)])


def codes(answer):
    """Return error codes by topic and partition, in the order of the answer."""
    return [
        (topic.name or topic.topic_id, partition.partition_index, ErrorCode(partition.error_code).name)
        for topic in answer.topics
        for partition in topic.partitions
    ]


# --- OffsetCommit


@pytest.mark.parametrize("version", range(1, 10))
def test_only_topics_that_are_there_and_may_be_read_reach_the_shard(version):
    groups = FakeGroups({"g": committed("a", (1, 0))})
    view = broker_view(groups=groups, authorizer=resource_authorizer(*READ_A))
    answer = ask_broker(view, commit(("b", [0]), ("a", [1, 9])), version)
    assert codes(answer) == [
        ("b", 0, "TOPIC_AUTHORIZATION_FAILED"),
        ("a", 9, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("a", 1, "NONE"),
    ]
    ((name, (client, asked)),) = groups.asked
    assert (name, client.api_version) == ("commit_offsets", version)
    assert [(topic.name, topic.topic_id, [p.partition_index for p in topic.partitions]) for topic in asked.topics] == [
        ("a", A, [1])
    ]


def test_commits_name_topics_by_id_from_version_10_on():
    groups = FakeGroups({"g": committed("a", (0, 0))})
    answer = ask_broker(broker_view(groups=groups), commit((UNKNOWN_ID, [3]), (A, [0])), 10)
    assert codes(answer) == [(UNKNOWN_ID, 3, "UNKNOWN_TOPIC_ID"), (A, 0, "NONE")]
    view = broker_view(authorizer=resource_authorizer(*READ_A))
    assert codes(ask_broker(view, commit((ZERO_UUID, [3])), 10)) == [(ZERO_UUID, 3, "UNKNOWN_TOPIC_ID")]
    assert groups.asked[0][1][1].topics[0].name == "a"


def test_a_commit_of_nothing_that_is_there_asks_no_shard():
    groups = FakeGroups()
    assert codes(ask_broker(broker_view(groups=groups), commit(("no", [0])), 9)) == [
        ("no", 0, "UNKNOWN_TOPIC_OR_PARTITION")
    ]
    assert groups.asked == []


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, CoordinatorKind.NEW, "COORDINATOR_LOAD_IN_PROGRESS"),
        (ErrorCode.NOT_ENOUGH_REPLICAS, CoordinatorKind.NEW, "COORDINATOR_NOT_AVAILABLE"),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, CoordinatorKind.OLD, "NOT_COORDINATOR"),
        (ErrorCode.MESSAGE_TOO_LARGE, CoordinatorKind.NEW, "UNKNOWN_SERVER_ERROR"),
        (ErrorCode.MESSAGE_TOO_LARGE, CoordinatorKind.OLD, "INVALID_COMMIT_OFFSET_SIZE"),
    ],
)
def test_an_error_of_the_log_is_that_of_each_partition_of_a_commit(error, kind, told):
    view = broker_view(groups=FakeGroups({"g": error}, kind=kind))
    answer = ask_broker(view, commit(("a", [0, 1]), ("no", [0])), 9)
    assert codes(answer) == [("no", 0, "UNKNOWN_TOPIC_OR_PARTITION"), ("a", 0, told), ("a", 1, told)]


@pytest.mark.parametrize(
    ("fields", "version", "told"),
    [
        ({"authorizer": resource_authorizer()}, 9, "GROUP_AUTHORIZATION_FAILED"),
        ({"release": "3.9"}, 0, "UNSUPPORTED_VERSION"),
    ],
)
def test_a_commit_may_be_refused_as_a_whole(fields, version, told):
    answer = ask_broker(broker_view(groups=FakeGroups(), **fields), commit(("a", [0])), version)
    assert codes(answer) == [("a", 0, told)]


# --- TxnOffsetCommit


def txn_commit(*topics, group_id="g"):
    """Commit in the transaction `t`."""
    asked = [
        txn_request.TxnOffsetCommitRequestTopic(
            name, partitions=[txn_request.TxnOffsetCommitRequestPartition(index, 7) for index in partitions]
        )
        for name, partitions in topics
    ]
    return TxnOffsetCommitRequest("t", group_id, 1, 0, topics=asked)


class TransactionalGroups(FakeGroups):
    """Keeps the outcomes of operations."""

    def __init__(self, answers):
        super().__init__(answers)
        self.outcomes = []

    def schedule(self, group_id, operation, done):
        super().schedule(group_id, lambda shard, token: self.outcomes.append(operation(shard, token)), done)


OFFSETS = b"o" * 16


def transactional_view(answer=None, *, errors=None, **fields):
    """Return a view with the topic of offsets, whose partitions are verified with these errors."""
    image = image_of(
        *broker_records(),
        TopicRecord(CONSUMER_OFFSETS, OFFSETS),
        *(PartitionRecord(index, OFFSETS, leader=1, replicas=(1,), isr=(1,)) for index in range(2)),
    )
    verification = FakeVerification(errors)
    groups = TransactionalGroups({"g": answer})
    return broker_view(groups=groups, image=image, transaction_verification=verification, **fields)


@pytest.mark.parametrize(
    ("version", "operation"),
    [
        (3, SupportedOperation.DEFAULT_ERROR),
        (4, SupportedOperation.GENERIC_ERROR),
        (5, SupportedOperation.ADD_PARTITION),
    ],
)
def test_offsets_of_a_transaction_are_written_with_the_guard_of_their_verification(version, operation):
    view = transactional_view(TxnOffsetCommitResponse(topics=[]))
    ask_broker(view, txn_commit(("a", [1])), version)
    (asked,) = view.broker.transaction_verification.asked
    partition = view.broker.groups.partition_for("g")
    assert asked.sequences == {TopicIdPartition(OFFSETS, CONSUMER_OFFSETS, partition): -1}
    assert (asked.transactional_id, asked.producer_id, asked.producer_epoch, asked.operation) == ("t", 1, 0, operation)
    assert [outcome.guard for outcome in view.broker.groups.outcomes] == [GUARD]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ErrorCode.INVALID_TXN_STATE, "INVALID_TXN_STATE"),
        (ErrorCode.INVALID_PRODUCER_EPOCH, "INVALID_PRODUCER_EPOCH"),
        (ErrorCode.NETWORK_EXCEPTION, "COORDINATOR_LOAD_IN_PROGRESS"),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, "NOT_COORDINATOR"),
    ],
)
def test_offsets_of_a_transaction_that_is_not_verified_are_not_written(error, told):
    partition = TopicPartition(CONSUMER_OFFSETS, FakeGroups().partition_for("g"))
    view = transactional_view(errors={partition: error})
    assert codes(ask_broker(view, txn_commit(("a", [1])), 5)) == [("a", 1, told)]
    assert view.broker.groups.outcomes == []


def test_there_are_no_offsets_of_a_transaction_without_their_topic():
    view = broker_view(groups=FakeGroups())
    assert codes(ask_broker(view, txn_commit(("a", [1])), 5)) == [("a", 1, "NOT_COORDINATOR")]


def test_offsets_of_a_transaction_are_sorted_out_as_others():
    each = [txn_response.TxnOffsetCommitResponsePartition(1, 0)]
    part = TxnOffsetCommitResponse(topics=[txn_response.TxnOffsetCommitResponseTopic("a", partitions=each)])
    view = transactional_view(part, authorizer=resource_authorizer(*READ_A))
    groups = view.broker.groups
    answer = ask_broker(view, txn_commit(("b", [0]), ("a", [1])), 5)
    assert codes(answer) == [("b", 0, "TOPIC_AUTHORIZATION_FAILED"), ("a", 1, "NONE")]
    assert groups.asked[0][0] == "commit_transactional_offsets"


@pytest.mark.parametrize(("version", "told"), [(1, "COORDINATOR_NOT_AVAILABLE"), (2, "COORDINATOR_LOAD_IN_PROGRESS")])
def test_old_producers_know_nothing_of_loading(version, told):
    view = transactional_view(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert codes(ask_broker(view, txn_commit(("a", [0])), version)) == [("a", 0, told)]


@pytest.mark.parametrize(
    ("left_out", "group_id", "told"),
    [
        (ResourceType.TRANSACTIONAL_ID, "g", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        (ResourceType.GROUP, "g", "GROUP_AUTHORIZATION_FAILED"),
        (None, "", "INVALID_GROUP_ID"),
    ],
)
def test_offsets_of_a_transaction_need_rights_and_a_group(left_out, group_id, told):
    entries = [*READ_A, (ResourceType.GROUP, "", AclOperation.READ)]
    authorizer = resource_authorizer(*(entry for entry in entries if entry[0] != left_out))
    view = broker_view(groups=FakeGroups(), authorizer=authorizer)
    assert codes(ask_broker(view, txn_commit(("a", [0]), group_id=group_id), 5)) == [("a", 0, told)]


# --- OffsetDelete


def test_deleting_offsets_tells_the_groups_error_instead_of_all_others():
    topics = [
        delete_request.OffsetDeleteRequestTopic(
            name, [delete_request.OffsetDeleteRequestPartition(index) for index in partitions]
        )
        for name, partitions in (("b", [0]), ("a", [0, 9]))
    ]
    each = [delete_response.OffsetDeleteResponsePartition(0, 0)]
    part = OffsetDeleteResponse(topics=[delete_response.OffsetDeleteResponseTopic("a", each)])
    authorizer = resource_authorizer(*READ_A)
    for answer, told in (
        (
            part,
            [("b", 0, "TOPIC_AUTHORIZATION_FAILED"), ("a", 9, "UNKNOWN_TOPIC_OR_PARTITION"), ("a", 0, "NONE")],
        ),
        (OffsetDeleteResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND), []),
    ):
        view = broker_view(groups=FakeGroups({"g": answer}), authorizer=authorizer)
        got = ask_broker(view, OffsetDeleteRequest("g", topics))
        assert got.error_code == answer.error_code
        found = [
            (topic.name, partition.partition_index, ErrorCode(partition.error_code).name)
            for topic in got.topics
            for partition in topic.partitions
        ]
        assert found == told


def test_deleting_offsets_needs_the_right_to_delete_the_group():
    view = broker_view(groups=FakeGroups(), authorizer=resource_authorizer())
    assert ask_broker(view, OffsetDeleteRequest("g", [])).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


# --- OffsetFetch


def part(*topics, error=0):
    """The shard's answer: (name, id, (partition, offset)...)."""
    return OffsetFetchResponseGroup(
        "g",
        [
            OffsetFetchResponseTopics(
                name, topic_id, [OffsetFetchResponsePartitions(index, offset, 3, "x") for index, offset in partitions]
            )
            for name, topic_id, *partitions in topics
        ],
        error,
    )


ZERO = bytes(16)
PART = part(("a", ZERO, (0, 7), (1, -1)))


@pytest.mark.parametrize("version", range(1, 8))
def test_one_group_is_told_as_old_versions_have_it(version):
    groups = FakeGroups({"g": PART})
    topic = fetch_request.OffsetFetchRequestTopic("a", (0, 1))
    answer = ask_broker(broker_view(groups=groups), OffsetFetchRequest("g", [topic]), version)
    assert [(p.committed_offset, p.metadata, p.error_code) for p in answer.topics[0].partitions] == [
        (7, "x", 0),
        (-1, "x", 0),
    ]
    ((name, (_, asked, is_stable_required)),) = groups.asked
    assert (name, asked.topics[0].name, asked.topics[0].partition_indexes) == ("fetch_offsets", "a", (0, 1))
    assert is_stable_required is False


@pytest.mark.parametrize("version", range(1, 8))
def test_an_error_of_the_one_group_is_told_where_old_versions_look_for_it(version):
    view = broker_view(groups=FakeGroups({"g": ErrorCode.REQUEST_TIMED_OUT}))
    topic = fetch_request.OffsetFetchRequestTopic("a", (0,))
    answer = ask_broker(view, OffsetFetchRequest("g", [topic]), version)
    if version == 1:
        assert codes(answer) == [("a", 0, "NOT_COORDINATOR")]
        assert answer.topics[0].partitions[0].committed_offset == -1
    else:
        assert (answer.error_code, answer.topics) == (ErrorCode.NOT_COORDINATOR, [])


@pytest.mark.parametrize("version", [8, 9])
def test_many_groups_are_told_in_the_order_of_the_request(version):
    groups = FakeGroups({"g": PART, "h": ErrorCode.NOT_COORDINATOR})
    authorizer = resource_authorizer(
        *READ_A, (ResourceType.GROUP, "h", AclOperation.DESCRIBE), (ResourceType.TOPIC, "a", AclOperation.DESCRIBE)
    )
    asked = [
        fetch_request.OffsetFetchRequestGroup("no", topics=None),
        fetch_request.OffsetFetchRequestGroup("h", topics=None),
        fetch_request.OffsetFetchRequestGroup(
            "g",
            topics=[
                fetch_request.OffsetFetchRequestTopics("b", partition_indexes=(0,)),
                fetch_request.OffsetFetchRequestTopics("a", partition_indexes=(0, 1)),
            ],
        ),
    ]
    view = broker_view(groups=groups, authorizer=authorizer)
    answer = ask_broker(view, OffsetFetchRequest(groups=asked, require_stable=True), version)
    assert [(group.group_id, ErrorCode(group.error_code).name) for group in answer.groups] == [
        ("no", "GROUP_AUTHORIZATION_FAILED"),
        ("h", "NOT_COORDINATOR"),
        ("g", "NONE"),
    ]
    assert codes(answer.groups[2]) == [("a", 0, "NONE"), ("a", 1, "NONE"), ("b", 0, "TOPIC_AUTHORIZATION_FAILED")]
    assert groups.asked[1][1][-1] is True


def test_of_all_offsets_those_of_hidden_topics_are_left_out():
    groups = FakeGroups({"g": part(("a", ZERO, (0, 7)), ("b", ZERO, (0, 8)))})
    authorizer = resource_authorizer(*READ_A, (ResourceType.TOPIC, "a", AclOperation.DESCRIBE))
    request = OffsetFetchRequest(groups=[fetch_request.OffsetFetchRequestGroup("g", topics=None)])
    answer = ask_broker(broker_view(groups=groups, authorizer=authorizer), request, 9)
    assert codes(answer.groups[0]) == [("a", 0, "NONE")]
    assert groups.asked[0][1][1].topics is None


def test_offsets_go_by_topic_id_from_version_10_on():
    groups = FakeGroups({"g": part(("a", A, (0, 7)))})
    topics = [fetch_request.OffsetFetchRequestTopics(topic_id=each, partition_indexes=(0,)) for each in (UNKNOWN_ID, A)]
    request = OffsetFetchRequest(groups=[fetch_request.OffsetFetchRequestGroup("g", topics=topics)])
    answer = ask_broker(broker_view(groups=groups), request, 10)
    assert codes(answer.groups[0]) == [(A, 0, "NONE"), (UNKNOWN_ID, 0, "UNKNOWN_TOPIC_ID")]
    assert [topic.name for topic in groups.asked[0][1][1].topics] == ["a"]


def test_all_offsets_by_id_are_those_of_topics_that_are_still_there():
    groups = FakeGroups({"g": part(("a", ZERO, (0, 7)), ("gone", ZERO, (0, 8)))})
    request = OffsetFetchRequest(groups=[fetch_request.OffsetFetchRequestGroup("g", topics=None)])
    assert codes(ask_broker(broker_view(groups=groups), request, 10).groups[0]) == [(A, 0, "NONE")]


def test_offsets_of_zookeepers_times_are_not_there():
    topic = fetch_request.OffsetFetchRequestTopic("a", (0,))
    answer = ask_broker(broker_view(groups=FakeGroups(), release="3.9"), OffsetFetchRequest("g", [topic]), 0)
    assert codes(answer) == [("a", 0, "UNSUPPORTED_VERSION")]
