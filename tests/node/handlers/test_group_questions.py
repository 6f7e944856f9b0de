"""Requests about groups: where they are coordinated, what is told of them, their end; and markers of transactions."""

import pytest
from broker_views import LISTENER, ask_broker, broker_records, broker_view
from fake_groups import FakeGroups
from fake_replicas import FakeReplicas
from metadata_images import image_of
from topic_authorizers import resource_authorizer

from falkirk.coordinator.runtime.outcome import Producer
from falkirk.metadata.acls.acl_types import CLUSTER_NAME, AclOperation, ResourceType
from falkirk.node.broker.replication.answers import PartitionProduced
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    ListGroupsRequest,
    ListGroupsResponse,
    PartitionRecord,
    TopicRecord,
    WriteTxnMarkersRequest,
)
from falkirk.protocol.messages import consumer_group_describe_response as consumer_described
from falkirk.protocol.messages.delete_groups_response import DeletableGroupResult
from falkirk.protocol.messages.describe_groups_response import DescribedGroup
from falkirk.protocol.messages.list_groups_response import ListedGroup
from falkirk.protocol.messages.write_txn_markers_request import WritableTxnMarker, WritableTxnMarkerTopic
from falkirk.protocol.record_batch import read_batches
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.versions.release import CONSUMER_OFFSETS, TRANSACTION_STATE

C, T = b"c" * 16, b"t" * 16
FIELDS = {"replicas": (1, 2), "isr": (1, 2), "leader_epoch": 5, "partition_epoch": 0}
# "g" belongs to partition 1, "f" to partition 0.
WITH_TOPICS = image_of(
    *broker_records(),
    TopicRecord(CONSUMER_OFFSETS, C),
    PartitionRecord(0, C, leader=-1, **FIELDS),
    PartitionRecord(1, C, leader=2, **FIELDS),
    TopicRecord(TRANSACTION_STATE, T),
    PartitionRecord(0, T, leader=1, **FIELDS),
)


class Creation:
    """Notes which topics are to be created."""

    def __init__(self):
        self.names = []

    def create_internal(self, name):
        self.names.append(name)


def find(*keys, key_type=0, version=6, **fields):
    """Ask for coordinators; give (error, node, host, port) of each."""
    view = broker_view(groups=FakeGroups(), **{"image": WITH_TOPICS, **fields})
    request = FindCoordinatorRequest(coordinator_keys=keys, key_type=key_type)
    if version < 4:
        request = FindCoordinatorRequest(keys[0], key_type)
    answer = ask_broker(view, request, version)
    found = answer.coordinators if version >= 4 else [answer]
    return [(ErrorCode(each.error_code).name, each.node_id, each.host, each.port) for each in found]


NOWHERE = (-1, "", -1)


@pytest.mark.parametrize("version", range(7))
def test_a_group_is_coordinated_by_the_leader_of_its_partition(version):
    assert find("g", version=version) == [("NONE", 2, "node2", 9092)]


def test_a_partition_without_a_leader_coordinates_nothing():
    assert find("f", "g") == [("COORDINATOR_NOT_AVAILABLE", *NOWHERE), ("NONE", 2, "node2", 9092)]


def test_a_coordinator_must_be_within_the_clients_reach():
    request = FindCoordinatorRequest(coordinator_keys=("g",))
    view = broker_view(groups=FakeGroups(), image=WITH_TOPICS)
    (found,) = ask_broker(view, request, 4, listener="OTHER").coordinators
    assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize("version", [0, 3, 4])
def test_the_topic_of_groups_is_created_when_somebody_looks_for_a_coordinator(version):
    creation = Creation()
    image = image_of(*broker_records())
    assert find("g", version=version, image=image, topic_creation=creation) == [("COORDINATOR_NOT_AVAILABLE", *NOWHERE)]
    assert creation.names == [CONSUMER_OFFSETS]


def test_who_may_not_describe_a_group_learns_nothing_of_its_coordinator():
    authorizer = resource_authorizer((ResourceType.GROUP, "g", AclOperation.READ))
    creation = Creation()
    found = find("f", "g", authorizer=authorizer, image=image_of(*broker_records()), topic_creation=creation)
    assert [each[0] for each in found] == ["GROUP_AUTHORIZATION_FAILED", "COORDINATOR_NOT_AVAILABLE"]


def test_transactions_are_coordinated_by_the_leader_of_their_partition_in_a_topic_that_is_created():
    creation = Creation()
    assert find("t", key_type=1) == [("NONE", 1, "node1", 9092)]
    no_topic = find("t", key_type=1, image=image_of(*broker_records()), topic_creation=creation)
    assert (no_topic, creation.names) == ([("COORDINATOR_NOT_AVAILABLE", *NOWHERE)], [TRANSACTION_STATE])
    refused = find("t", key_type=1, authorizer=resource_authorizer())
    assert refused[0][0] == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"


@pytest.mark.parametrize(("key_type", "version"), [(2, 5), (2, 6), (9, 4), (9, 1)])
def test_there_are_no_other_coordinators(key_type, version):
    assert find("k", key_type=key_type, version=version)[0][0] == "INVALID_REQUEST"


def test_share_coordinators_are_the_clusters_business():
    assert find("k", key_type=2, authorizer=resource_authorizer())[0][0] == "CLUSTER_AUTHORIZATION_FAILED"


# --- Describing


def test_groups_are_described_as_far_as_allowed():
    stable = DescribeGroupsResponse(groups=[DescribedGroup(group_id="g", group_state="Stable")])
    groups = FakeGroups({"g": stable, "h": ErrorCode.REQUEST_TIMED_OUT})
    authorizer = resource_authorizer(
        (ResourceType.GROUP, "g", AclOperation.DESCRIBE), (ResourceType.GROUP, "h", AclOperation.DESCRIBE)
    )
    view = broker_view(groups=groups, authorizer=authorizer)
    request = DescribeGroupsRequest(("g", "no", "h"), include_authorized_operations=True)
    described = {group.group_id: group for group in ask_broker(view, request, 5).groups}
    assert [ErrorCode(described[name].error_code).name for name in ("g", "no", "h")] == [
        "NONE",
        "GROUP_AUTHORIZATION_FAILED",
        "COORDINATOR_NOT_AVAILABLE",
    ]
    assert described["g"].authorized_operations == 1 << AclOperation.DESCRIBE
    assert described["h"].authorized_operations == -(2**31)


@pytest.mark.parametrize(
    ("release", "operations"), [("3.9", {"READ", "DELETE", "DESCRIBE"}), ("4.3", {"DESCRIBE_CONFIGS", "ALTER_CONFIGS"})]
)
def test_groups_have_configs_to_change_since_4_0(release, operations):
    groups = FakeGroups({"g": DescribeGroupsResponse(groups=[DescribedGroup(group_id="g")])})
    view = broker_view(groups=groups, release=release)
    (group,) = ask_broker(view, DescribeGroupsRequest(("g",), include_authorized_operations=True), 5).groups
    allowed = {operation.name for operation in AclOperation if group.authorized_operations >> operation & 1}
    assert allowed == operations | {"READ", "DELETE", "DESCRIBE"}


def test_a_group_that_does_not_exist_is_described_by_itself():
    view = broker_view(groups=FakeGroups({"g": DescribeGroupsResponse()}))
    (dead,) = ask_broker(view, DescribeGroupsRequest(("g",), include_authorized_operations=True), 5).groups
    assert (dead.group_state, dead.error_code) == ("Dead", ErrorCode.NONE)
    assert dead.authorized_operations != -(2**31)
    (missing,) = ask_broker(view, DescribeGroupsRequest(("g",)), 6).groups
    assert (missing.error_message, missing.error_code) == ("Group g not found.", ErrorCode.GROUP_ID_NOT_FOUND)
    view = broker_view(groups=FakeGroups({"g": ConsumerGroupDescribeResponse()}))
    (missing,) = ask_broker(view, ConsumerGroupDescribeRequest(("g",)), 0).groups
    assert missing.error_message == "Group g not found."


def consumer_group(name, topic):
    """A group with a member that has a partition of a topic."""
    topics = [consumer_described.TopicPartitions(topic_id=bytes(16), topic_name=topic, partitions=(0,))]
    member = consumer_described.Member(
        member_id="m",
        assignment=consumer_described.Assignment(topics),
        target_assignment=consumer_described.Assignment([]),
    )
    group = consumer_described.DescribedGroup(group_id=name, group_state="Stable", members=[member])
    return ConsumerGroupDescribeResponse(groups=[group])


def test_a_consumer_group_is_hidden_if_one_of_its_topics_is():
    groups = FakeGroups({"g": consumer_group("g", "a"), "h": consumer_group("h", "b")})
    authorizer = resource_authorizer(
        (ResourceType.GROUP, "g", AclOperation.DESCRIBE),
        (ResourceType.GROUP, "h", AclOperation.DESCRIBE),
        (ResourceType.GROUP, "", AclOperation.DESCRIBE),
        (ResourceType.TOPIC, "a", AclOperation.DESCRIBE),
    )
    view = broker_view(groups=groups, authorizer=authorizer)
    answer = ask_broker(view, ConsumerGroupDescribeRequest(("g", "h", "no", "")), 1)
    found = {group.group_id: (ErrorCode(group.error_code).name, len(group.members)) for group in answer.groups}
    assert found == {
        "g": ("NONE", 1),
        "h": ("TOPIC_AUTHORIZATION_FAILED", 0),
        "no": ("GROUP_AUTHORIZATION_FAILED", 0),
        "": ("INVALID_GROUP_ID", 0),
    }


def test_consumer_groups_are_not_described_where_the_protocol_is_not_enabled():
    view = broker_view(groups=FakeGroups(is_enabled=False))
    (group,) = ask_broker(view, ConsumerGroupDescribeRequest(("g",)), 0).groups
    assert group.error_code == ErrorCode.UNSUPPORTED_VERSION


# --- Lists


def listed(*names):
    return ListGroupsResponse(groups=[ListedGroup(name, "consumer", "Stable", "classic") for name in names])


@pytest.mark.parametrize(
    ("authorizer", "seen"),
    [
        (resource_authorizer((ResourceType.CLUSTER, CLUSTER_NAME, AclOperation.DESCRIBE)), ["g", "h"]),
        (resource_authorizer((ResourceType.GROUP, "h", AclOperation.DESCRIBE)), ["h"]),
    ],
)
def test_groups_are_listed_as_far_as_they_may_be_seen(authorizer, seen):
    groups = FakeGroups({"": listed("g", "h")})
    answer = ask_broker(broker_view(groups=groups, authorizer=authorizer), ListGroupsRequest(("Stable",), ("classic",)))
    assert [group.group_id for group in answer.groups] == seen
    assert groups.asked == [("list_groups", (("Stable",), ("classic",)))]


@pytest.mark.parametrize("version", range(6))
def test_a_list_that_is_not_complete_is_an_error_in_every_version(version):
    view = broker_view(groups=FakeGroups({"": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}))
    assert ask_broker(view, ListGroupsRequest(), version).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


# --- Deletion


def test_each_group_is_deleted_once_if_that_is_allowed():
    groups = FakeGroups({"g": DeletableGroupResult("g", 0), "h": ErrorCode.NOT_LEADER_OR_FOLLOWER})
    authorizer = resource_authorizer(
        (ResourceType.GROUP, "g", AclOperation.DELETE), (ResourceType.GROUP, "h", AclOperation.DELETE)
    )
    answer = ask_broker(broker_view(groups=groups, authorizer=authorizer), DeleteGroupsRequest(("no", "g", "h", "g")))
    assert [(each.group_id, ErrorCode(each.error_code).name) for each in answer.results] == [
        ("g", "NONE"),
        ("h", "NOT_COORDINATOR"),
        ("no", "GROUP_AUTHORIZATION_FAILED"),
    ]
    assert len(groups.asked) == 2


# --- Markers


def markers(*topics, is_commit=True):
    each = [WritableTxnMarkerTopic(name, partitions) for name, partitions in topics]
    return WriteTxnMarkersRequest([WritableTxnMarker(9, 3, is_commit, each, coordinator_epoch=4)])


@pytest.mark.parametrize(("error", "told"), [(0, "NONE"), (ErrorCode.NOT_COORDINATOR, "NOT_LEADER_OR_FOLLOWER")])
def test_the_group_coordinator_ends_transactions_in_its_own_topic(error, told):
    replicas = FakeReplicas()
    replicas.results[TopicPartition("a", 1)] = PartitionProduced(error_code=ErrorCode.NOT_ENOUGH_REPLICAS)
    groups = FakeGroups({"1": ErrorCode(error)})
    view = broker_view(replicas, groups=groups, image=WITH_TOPICS)
    request = markers((CONSUMER_OFFSETS, (1,)), ("a", (0, 1)), ("no", (0,)))
    (marker,) = ask_broker(view, request, 1).markers
    assert [
        (topic.name, each.partition_index, ErrorCode(each.error_code).name)
        for topic in marker.topics
        for each in topic.partitions
    ] == [
        (CONSUMER_OFFSETS, 1, told),
        ("a", 0, "NONE"),
        ("a", 1, "NOT_ENOUGH_REPLICAS"),
        ("no", 0, "UNKNOWN_TOPIC_OR_PARTITION"),
    ]
    assert groups.asked == [("end_transaction", (1, Producer(9, 3), 4, True, 0))]


def test_a_marker_is_a_control_batch_of_the_producer():
    replicas = FakeReplicas()
    ask_broker(broker_view(replicas, groups=FakeGroups()), markers(("a", (0,)), is_commit=False), 1)
    ((_, appended),) = replicas.asked
    (batch,) = read_batches(next(iter(appended["records"].values())))
    assert (batch.is_control, batch.is_transactional, batch.producer_id, batch.producer_epoch) == (True, True, 9, 3)
    assert appended["required_acks"] == -1


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        (AclOperation.ALTER, "NONE"),
        (AclOperation.CLUSTER_ACTION, "NONE"),
        (AclOperation.DESCRIBE, "CLUSTER_AUTHORIZATION_FAILED"),
    ],
)
def test_markers_need_a_right_on_the_cluster(operation, told):
    authorizer = resource_authorizer((ResourceType.CLUSTER, CLUSTER_NAME, operation))
    view = broker_view(groups=FakeGroups(), authorizer=authorizer)
    (marker,) = ask_broker(view, markers(("a", (0,))), 1).markers
    assert ErrorCode(marker.topics[0].partitions[0].error_code).name == told


def test_no_markers_are_written_at_once():
    assert ask_broker(broker_view(groups=FakeGroups()), WriteTxnMarkersRequest([]), 1, listener=LISTENER).markers == []
