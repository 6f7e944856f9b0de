"""New topics."""

import pytest
from controllers import Broker, brokers, directory, make_controller, run

from falkirk.metadata.image.partition import MIGRATING, UNASSIGNED
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ConfigRecord, PartitionRecord, TopicRecord
from falkirk.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
)
from falkirk.slices import exhaust

THREE = brokers(1, 2, 3, racks=("a", "b", "c"))


def topic(name="t", partitions=1, factor=1, *, assignments=(), configs=()):
    return CreatableTopic(
        name,
        -1 if assignments else partitions,
        -1 if assignments else factor,
        [CreatableReplicaAssignment(number, replicas) for number, replicas in assignments],
        [CreatableTopicConfig(name, value) for name, value in configs],
    )


def create(controller, *topics, describable=(), validate_only=False):
    result = exhaust(
        controller.replication.create_topics(topics, describable=set(describable), validate_only=validate_only)
    )
    return run(controller, result).topics


def failures(controller, *topics):
    before = controller.state.image
    found = [(ErrorCode(answer.error_code), answer.error_message) for answer in create(controller, *topics)]
    assert controller.state.image.topics == before.topics
    return found


def partitions_of(controller, name="t"):
    return controller.state.image.topics.topic(name).partitions


def test_partitions_are_placed_on_all_racks_and_led_by_their_first_replica():
    controller = make_controller(brokers=THREE)
    (answer,) = create(controller, topic(partitions=6, factor=3), describable={"t"})
    assert (answer.error_code, answer.error_message) == (0, None)
    assert (answer.num_partitions, answer.replication_factor, answer.topic_config_error_code) == (6, 3, 0)
    assert answer.topic_id == controller.state.image.topics.topic("t").topic_id
    for partition in partitions_of(controller):
        assert sorted(partition.replicas) == [1, 2, 3]
        assert partition.isr == partition.replicas
        assert partition.leader == partition.replicas[0]
        assert (partition.leader_epoch, partition.partition_epoch) == (0, 0)
    assert {partition.leader for partition in partitions_of(controller)} == {1, 2, 3}


def test_without_the_right_to_describe_configs_none_are_told():
    (answer,) = create(make_controller(brokers=THREE), topic())
    assert answer.topic_config_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert (answer.num_partitions, answer.replication_factor, answer.configs) == (-1, -1, [])


def test_minus_one_stands_for_the_defaults():
    controller = make_controller(brokers=THREE, num_partitions=4, default_replication_factor=2)
    create(controller, topic(partitions=-1, factor=-1))
    assert [len(partition.replicas) for partition in partitions_of(controller)] == [2, 2, 2, 2]


def test_fenced_brokers_hold_replicas_but_are_not_in_sync():
    controller = make_controller(brokers=[*brokers(1, 2), Broker(broker_id=3, fenced=True)])
    create(controller, topic(partitions=4, factor=3))
    for partition in partitions_of(controller):
        assert sorted(partition.replicas) == [1, 2, 3]
        assert sorted(partition.isr) == [1, 2]


def test_a_broker_that_was_shut_down_in_order_gets_replicas_while_it_is_fenced():
    stopped = Broker(broker_id=3, fenced=True, in_controlled_shutdown=True)
    controller = make_controller(brokers=[*brokers(1, 2), stopped])
    (answer,) = create(controller, topic(partitions=4, factor=3))
    assert (answer.error_code, answer.error_message) == (0, None)
    for partition in partitions_of(controller):
        assert sorted(partition.replicas) == [1, 2, 3]
        assert sorted(partition.isr) == [1, 2]


def test_brokers_that_shut_down_or_have_only_cordoned_directories_get_no_replicas():
    fenced = [Broker(broker_id=2, in_controlled_shutdown=True), Broker(broker_id=3, cordoned=(0,))]
    controller = make_controller(brokers=[Broker(broker_id=1), *fenced])
    create(controller, topic(partitions=5, factor=1))
    assert {partition.replicas for partition in partitions_of(controller)} == {(1,)}


def test_replicas_are_assigned_by_hand():
    controller = make_controller(brokers=[*THREE, Broker(broker_id=4, fenced=True)])
    create(controller, topic(assignments=[(1, (3, 1)), (0, (4, 2))]))
    first, second = partitions_of(controller)
    assert (first.replicas, first.isr, first.leader) == ((4, 2), (2,), 2)
    assert (second.replicas, second.isr, second.leader) == ((3, 1), (3, 1), 3)


@pytest.mark.parametrize(
    ("level", "expected"), [("3.7-IV1", (MIGRATING, MIGRATING)), ("3.9-IV0", (directory(1), UNASSIGNED))]
)
def test_a_broker_with_one_directory_has_the_replica_there(level, expected):
    two = [Broker(broker_id=1), Broker(broker_id=2, directory_count=2)]
    controller = make_controller(release="3.9", metadata_version=level, brokers=two)
    create(controller, topic(assignments=[(0, (1, 2))]))
    assert partitions_of(controller)[0].directories == expected


def test_records_come_topic_first_then_configs_then_partitions_in_one_atomic_batch():
    controller = make_controller(brokers=THREE)
    given = topic(partitions=2, configs=[("retention.ms", "1000")])
    result = exhaust(controller.replication.create_topics([given], describable={"t"}, validate_only=False))
    assert [type(record) for record, _ in result.records] == [
        TopicRecord, ConfigRecord, PartitionRecord, PartitionRecord,
    ]  # fmt: skip
    assert result.is_atomic
    told = {config.name: (config.value, config.config_source) for config in result.response.topics[0].configs}
    assert told["retention.ms"] == ("1000", 1)
    assert told["cleanup.policy"] == ("delete", 5)
    assert list(told) == sorted(told)


def test_a_dry_run_answers_as_if_and_changes_nothing():
    controller = make_controller(brokers=THREE)
    (answer,) = create(controller, topic(partitions=3), describable={"t"}, validate_only=True)
    assert (answer.error_code, answer.num_partitions) == (0, 3)
    assert controller.state.image.topics.topic("t") is None


def test_each_topic_succeeds_or_fails_for_itself():
    controller = make_controller(brokers=THREE)
    answers = create(controller, topic("good"), topic("bad", factor=9), topic("also-good"))
    assert [(answer.name, answer.error_code) for answer in answers] == [
        ("good", 0), ("bad", ErrorCode.INVALID_REPLICATION_FACTOR), ("also-good", 0),
    ]  # fmt: skip
    assert sorted(controller.state.image.topics.by_name) == ["also-good", "good"]


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (topic("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: 'a b' contains"),
        (topic("there.is"), ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'there.is' already exists."),
        (topic("there_is"), ErrorCode.INVALID_TOPIC_EXCEPTION, "collides with existing topic: there.is"),
        (topic(partitions=0), ErrorCode.INVALID_PARTITIONS, "invalid non-positive value"),
        (topic(partitions=-2), ErrorCode.INVALID_PARTITIONS, "invalid non-positive value"),
        (topic(factor=0), ErrorCode.INVALID_REPLICATION_FACTOR, "must be larger than 0"),
        (topic(factor=-2), ErrorCode.INVALID_REPLICATION_FACTOR, "must be larger than 0"),
        (
            topic(factor=5),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Unable to replicate the partition 5 time(s): The target replication factor of 5 cannot be reached",
        ),
        (
            CreatableTopic("t", 1, -1, [CreatableReplicaAssignment(0, (1,))]),
            ErrorCode.INVALID_REQUEST,
            "numPartitions was not set to -1",
        ),
        (
            CreatableTopic("t", -1, 1, [CreatableReplicaAssignment(0, (1,))]),
            ErrorCode.INVALID_REQUEST,
            "replication factor was not set to -1",
        ),
        (topic(assignments=[(0, ())]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "includes an empty replica list"),
        (topic(assignments=[(0, (7,))]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "no such broker is registered"),
        (topic(assignments=[(0, (1, 1))]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "the broker 1 more than once"),
        (topic(assignments=[(0, (4,))]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "are fenced or in controlled shutdown"),
        (topic(assignments=[(1, (1,))]), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "consecutive 0-based integer sequence"),
        (
            topic(assignments=[(0, (1,)), (0, (2,))]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Found multiple manual partition assignments for partition 0",
        ),
        (
            topic(assignments=[(0, (1,)), (1, (2, 3))]),
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "a partition with 2 replica(s), but this is not consistent with previous partitions, which have 1",
        ),
        (topic(configs=[("retention.ms", None)]), ErrorCode.INVALID_CONFIG, "Null value not supported"),
        (topic(configs=[("retention.ms", "soon")]), ErrorCode.INVALID_CONFIG, "retention.ms"),
        (topic(partitions=10_001), ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."),
        pytest.param(
            topic(partitions=10_000),
            ErrorCode.POLICY_VIOLATION,
            "Unable to perform excessively large batch operation.",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_topic_that_cannot_be_is_refused_with_the_reason(given, code, message):
    controller = make_controller(
        brokers=[*brokers(1, 2), Broker(broker_id=3), Broker(broker_id=4, in_controlled_shutdown=True, fenced=True)],
        records=[TopicRecord("there.is", b"x" * 16)],
    )
    ((found_code, found_message),) = failures(controller, given)
    assert found_code == code
    assert message in found_message


@pytest.mark.parametrize(
    ("release", "no_leader", "too_few"),
    [
        ("4.0", "fenced.", "registered."),
        # As the StripedReplicaPlacer of 4.3.1 and 4.4.0 says since directories can be cordoned (KIP-1066).
        (
            "4.3",
            "fenced, or have all their log directories cordoned.",
            "registered or some brokers have all their log directories cordoned.",
        ),
    ],
)
def test_the_refusal_of_a_placement_names_cordoned_directories_where_the_release_knows_them(
    release, no_leader, too_few
):
    controller = make_controller(release=release, brokers=[Broker(broker_id=1, fenced=True)])
    ((code, message),) = failures(controller, topic())
    assert code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert message == f"Unable to replicate the partition 1 time(s): All brokers are currently {no_leader}"

    controller = make_controller(release=release, brokers=[1])
    ((code, message),) = failures(controller, topic(factor=2))
    assert code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert message == (
        "Unable to replicate the partition 2 time(s): The target replication factor of 2 cannot be reached because "
        f"only 1 broker(s) are {too_few}"
    )


def test_topic_ids_come_from_chance_alone():
    first, second, other = (make_controller(brokers=THREE, seed=seed) for seed in (1, 1, 2))
    ids = [create(controller, topic())[0].topic_id for controller in (first, second, other)]
    assert ids[0] == ids[1] != ids[2]
