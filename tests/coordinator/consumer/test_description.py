"""What ConsumerGroupDescribe tells of a group."""

from consumer_world import Consumer, ConsumerWorld

from falkirk.protocol import codec
from falkirk.protocol.messages import ConsumerGroupDescribeResponse
from falkirk.protocol.messages.consumer_group_describe_response import (
    Assignment,
    DescribedGroup,
    Member,
    TopicPartitions,
)


def _described(world: ConsumerWorld, version: int = 1) -> DescribedGroup:
    response = ConsumerGroupDescribeResponse(groups=[world.protocol.describe(world.group)])
    return codec.decode(ConsumerGroupDescribeResponse, version, codec.encode(response, version)).groups[0]


def _assignment(world: ConsumerWorld, topic: str, *partitions: int) -> Assignment:
    return Assignment(
        topic_partitions=[TopicPartitions(topic_id=world.id(topic), topic_name=topic, partitions=partitions)]
    )


def test_a_group_is_described_with_all_its_members():
    world = ConsumerWorld()
    Consumer(world, "a", "foo", instance="i", rack="r", assignor="range").beat()

    assert _described(world) == DescribedGroup(
        group_id="g",
        group_state="Stable",
        group_epoch=1,
        assignment_epoch=1,
        assignor_name="range",
        members=[
            Member(
                member_id="a",
                instance_id="i",
                rack_id="r",
                member_epoch=1,
                client_id="client-a",
                client_host="/10.0.0.1",
                subscribed_topic_names=("foo",),
                subscribed_topic_regex="",
                assignment=_assignment(world, "foo", 0, 1, 2, 3),
                target_assignment=_assignment(world, "foo", 0, 1, 2, 3),
                member_type=1,
            )
        ],
    )
    assert _described(world, 0).members[0].member_type == -1


def test_what_a_member_has_yet_to_give_back_is_still_its_own():
    world = ConsumerWorld()
    first, second = Consumer(world, "a", regex="foo"), Consumer(world, "b", "foo")
    first.beat()
    second.beat()
    first.beat()

    group = _described(world)

    first_told, second_told = group.members
    assert group.group_state == "Reconciling"
    assert first_told.subscribed_topic_regex == "foo"
    assert first_told.assignment == _assignment(world, "foo", 0, 1, 2, 3)
    assert len(first_told.target_assignment.topic_partitions[0].partitions) == 2
    assert second_told.assignment == Assignment()
    # As real 4.3.1 answers.
    assert second_told.subscribed_topic_regex == ""


def test_topics_that_are_gone_are_left_out():
    world = ConsumerWorld()
    Consumer(world, "a", "foo").beat()
    world.change_topic("foo", 0)

    member = _described(world).members[0]

    assert member.assignment == member.target_assignment == Assignment()
