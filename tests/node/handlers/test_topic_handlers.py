"""The APIs that change topics and partitions: who may use them, and what travels."""

import pytest
from controllers import brokers, make_controller
from node_views import ask
from topic_authorizers import topic_authorizer

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    PartitionRecord,
    TopicRecord,
)
from falkirk.protocol.messages.alter_partition_reassignments_request import ReassignablePartition, ReassignableTopic
from falkirk.protocol.messages.alter_partition_request import BrokerState, PartitionData, TopicData
from falkirk.protocol.messages.create_partitions_request import CreatePartitionsTopic
from falkirk.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig
from falkirk.protocol.messages.delete_topics_request import DeleteTopicState
from falkirk.protocol.messages.elect_leaders_request import TopicPartitions
from falkirk.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsTopics

A, B = b"a" * 16, b"b" * 16
AUTHORIZATION_FAILED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.fixture
def controller():
    fields = {"replicas": (1, 2), "isr": (1, 2), "leader": 2, "leader_epoch": 0, "partition_epoch": 0}
    records = [TopicRecord("a", A), TopicRecord("b", B)]
    records += [PartitionRecord(0, topic_id, **fields) for topic_id in (A, B)]
    return make_controller(brokers=brokers(1, 2, 3), records=records)


def topic(name, **fields):
    return CreatableTopic(name, **{"num_partitions": 1, "replication_factor": 1} | fields)


def isr_request(version):
    state = PartitionData(
        partition_index=0,
        new_isr=(2,) if version < 3 else (),
        new_isr_with_epochs=[BrokerState(2, -1)] if version > 2 else [],
    )
    named = {"topic_name": "a"} if version < 2 else {"topic_id": A}
    return AlterPartitionRequest(2, 3, [TopicData(partitions=[state], **named)])


# Requests that succeed, by version.
REQUESTS = {
    19: lambda version: CreateTopicsRequest([topic("t")], validate_only=version > 0),
    20: lambda version: (
        DeleteTopicsRequest(("a",)) if version < 6 else DeleteTopicsRequest(topics=[DeleteTopicState(None, A)])
    ),
    37: lambda _: CreatePartitionsRequest([CreatePartitionsTopic("a", 2, None)]),
    43: lambda _: ElectLeadersRequest(0, [TopicPartitions("a", (0,))]),
    45: lambda _: AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic("a", [ReassignablePartition(0, (3, 2))])]
    ),
    46: lambda _: ListPartitionReassignmentsRequest(),
    56: isr_request,
}
VERSIONS = [
    (key, version)
    for key, make in REQUESTS.items()
    for versions in [make(0).SCHEMA.info.versions]
    for version in range(min(versions), max(versions) + 1)
]


def error_codes(response):
    """Return all error codes that stand anywhere in an answer."""
    found = set()
    for name in response.__struct_fields__:
        value = getattr(response, name)
        if name == "error_code":
            found.add(value)
        elif isinstance(value, list):
            found.update(*(error_codes(each) for each in value), [])
    return found


@pytest.mark.parametrize(("key", "version"), VERSIONS)
def test_every_version_is_answered(controller, key, version):
    allowed = topic_authorizer(dict.fromkeys("abt", (AclOperation.ALL,)), cluster=(AclOperation.ALL,))
    response = ask(controller, REQUESTS[key](version), version, authorizer=allowed)
    assert error_codes(response) <= {ErrorCode.NONE}


NEEDS = {
    43: AclOperation.ALTER,
    45: AclOperation.ALTER,
    46: AclOperation.DESCRIBE,
    56: AclOperation.CLUSTER_ACTION,
}


@pytest.mark.parametrize(("key", "operation"), NEEDS.items())
def test_what_concerns_the_cluster_needs_its_operation_on_the_cluster(controller, key, operation):
    request = REQUESTS[key](max(REQUESTS[key](0).SCHEMA.info.versions))
    other = AclOperation.CREATE
    before = controller.state.image.topics
    refused = ask(controller, request, authorizer=topic_authorizer({}, cluster=(other,)))
    assert ErrorCode.CLUSTER_AUTHORIZATION_FAILED in error_codes(refused)
    assert controller.state.image.topics == before
    allowed = ask(controller, request, authorizer=topic_authorizer({}, cluster=(operation,)))
    assert error_codes(allowed) <= {ErrorCode.NONE}


# CreateTopics.


def created(controller, *topics, **fields):
    """Return {name: (error code, message, error of its configs)}."""
    response = ask(controller, CreateTopicsRequest(list(topics)), **fields)
    return {
        answer.name: (answer.error_code, answer.error_message, answer.topic_config_error_code)
        for answer in response.topics
    }


def test_topics_are_created_where_the_topic_or_the_cluster_allows_it(controller):
    may_create = topic_authorizer({"t": (AclOperation.CREATE, AclOperation.DESCRIBE_CONFIGS)})
    assert created(controller, topic("t"), topic("u"), authorizer=may_create) == {
        "t": (0, None, 0),
        "u": (AUTHORIZATION_FAILED, "Authorization failed.", 0),
    }
    cluster = topic_authorizer({}, cluster=(AclOperation.CREATE,))
    assert created(controller, topic("u"), authorizer=cluster) == {"u": (0, None, AUTHORIZATION_FAILED)}
    assert set(controller.state.image.topics.by_name) == {"a", "b", "t", "u"}


def test_names_that_come_twice_and_the_metadata_topic_are_refused(controller):
    request = CreateTopicsRequest([topic("t"), topic("t"), topic("__cluster_metadata"), topic("u")])
    cluster = topic_authorizer({}, cluster=(AclOperation.CREATE,))
    found = {answer.name: answer for answer in ask(controller, request, authorizer=cluster).topics}
    assert (found["t"].error_code, found["t"].error_message) == (ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    assert found["__cluster_metadata"].error_code == ErrorCode.INVALID_REQUEST
    assert found["u"].error_code == 0
    assert len(found) == 3


def test_configs_are_told_from_v5_on(controller):
    allowed = topic_authorizer({"t": (AclOperation.ALL,)})
    configured = topic("t", configs=[CreatableTopicConfig("retention.ms", "5")])
    (old,) = ask(controller, CreateTopicsRequest([configured], validate_only=True), 4, authorizer=allowed).topics
    (new,) = ask(controller, CreateTopicsRequest([configured]), 5, authorizer=allowed).topics
    assert (old.configs, old.num_partitions) == ([], -1)
    assert ("retention.ms", "5") in [(config.name, config.value) for config in new.configs]
    assert controller.state.image.configs.of(2, "t")["retention.ms"] == "5"


# DeleteTopics.


def deleted(controller, request, version=None, **fields):
    """Return [(name, id, error code)]."""
    fields = {"authorizer": topic_authorizer({}, cluster=(AclOperation.DELETE,))} | fields
    response = ask(controller, request, version, **fields)
    return [(answer.name, answer.topic_id, answer.error_code) for answer in response.responses]


def by(*named):
    return DeleteTopicsRequest(topics=[DeleteTopicState(*each) for each in named])


ZERO = bytes(16)


def test_topics_are_deleted_by_name_or_by_id(controller):
    assert deleted(controller, by(("a", ZERO), (None, B))) == [("a", A, 0), ("b", B, 0)]
    assert not controller.state.image.topics.by_name


@pytest.mark.parametrize(
    ("named", "answers"),
    [
        ([(None, ZERO)], [(None, ZERO, ErrorCode.INVALID_REQUEST)]),
        ([("a", A)], [("a", A, ErrorCode.INVALID_REQUEST)]),
        ([("a", ZERO), ("a", ZERO)], [("a", ZERO, ErrorCode.INVALID_REQUEST)]),
        ([(None, A), (None, A)], [(None, A, ErrorCode.INVALID_REQUEST)]),
        ([(None, A), ("a", ZERO)], [("a", A, ErrorCode.INVALID_REQUEST)]),
        ([("x", ZERO)], [("x", ZERO, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]),
        ([(None, b"x" * 16)], [(None, b"x" * 16, ErrorCode.UNKNOWN_TOPIC_ID)]),
    ],
)
def test_a_topic_must_be_named_once_and_in_one_way(controller, named, answers):
    assert deleted(controller, by(*named)) == answers
    assert set(controller.state.image.topics.by_name) == {"a", "b"}


def test_a_topic_named_twice_by_id_and_once_by_name_stays(controller):
    found = deleted(controller, by((None, A), (None, A), ("a", ZERO)))
    assert found == [(None, A, ErrorCode.INVALID_REQUEST), ("a", A, ErrorCode.INVALID_REQUEST)]
    assert "a" in controller.state.image.topics.by_name


def test_who_may_not_see_a_topic_is_not_told_that_it_is_there(controller):
    nobody = topic_authorizer({"a": (AclOperation.DESCRIBE,)})
    assert deleted(controller, by((None, A), (None, B)), authorizer=nobody) == [
        (None, B, AUTHORIZATION_FAILED), ("a", A, AUTHORIZATION_FAILED),
    ]  # fmt: skip
    assert deleted(controller, by(("a", ZERO), ("b", ZERO), ("x", ZERO)), authorizer=nobody) == [
        (name, ZERO, AUTHORIZATION_FAILED) for name in "abx"
    ]
    allowed = topic_authorizer({"a": (AclOperation.DELETE,)})
    assert deleted(controller, by(("a", ZERO)), authorizer=allowed) == [("a", A, 0)]


@pytest.mark.parametrize(("version", "code"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)])
def test_deletion_can_be_switched_off(version, code):
    controller = make_controller(records=[TopicRecord("a", A)], static_configs={"delete.topic.enable": "false"})
    assert deleted(controller, DeleteTopicsRequest(("a",)), version) == [("a", ZERO, code)]
    assert "a" in controller.state.image.topics.by_name


# CreatePartitions.


def test_partitions_are_added_to_topics_that_may_be_altered(controller):
    request = CreatePartitionsRequest(
        [CreatePartitionsTopic(name, 3, None) for name in ("a", "b", "t", "t")], validate_only=False
    )
    response = ask(controller, request, authorizer=topic_authorizer({"a": (AclOperation.ALTER,)}))
    assert {answer.name: answer.error_code for answer in response.results} == {
        "a": 0, "b": AUTHORIZATION_FAILED, "t": ErrorCode.INVALID_REQUEST,
    }  # fmt: skip
    assert controller.state.image.topics.topic("a").partition_count == 3
    assert controller.state.image.topics.topic("b").partition_count == 1


# Reassignments and elections.


def test_a_reassignment_that_was_started_is_listed(controller):
    ask(controller, REQUESTS[45](1))
    listed = ask(controller, ListPartitionReassignmentsRequest(topics=[ListPartitionReassignmentsTopics("a", (0,))]))
    (ongoing,) = listed.topics[0].partitions
    assert (ongoing.replicas, ongoing.adding_replicas, ongoing.removing_replicas) == ((3, 2, 1), (3,), (1,))
    assert [found.name for found in ask(controller, ListPartitionReassignmentsRequest()).topics] == ["a"]


def test_an_election_before_v1_is_a_preferred_one(controller):
    response = ask(controller, ElectLeadersRequest(topic_partitions=None), 0)
    found = {each.topic: [result.error_code for result in each.partition_result]
             for each in response.replica_election_results}  # fmt: skip
    assert found == {"a": [0], "b": [0]}
    assert controller.state.image.topics.partition("a", 0).leader == 1
