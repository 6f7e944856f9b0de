import pytest

from falkirk.coordinator.assignors.assignor import GroupSpec, MemberSpec, UnknownTopicError
from falkirk.coordinator.assignors.range_assignor import RangeAssignor
from falkirk.coordinator.assignors.uniform_assignor import UniformAssignor

A, B = b"a" * 16, b"b" * 16


def test_what_a_member_may_keep_whole_is_the_same_object():
    member = MemberSpec(subscribed_topic_ids=frozenset({A, B}), target_assignment={A: frozenset({0, 2})})
    group = GroupSpec(members={"m": member}, partition_counts={A: 3, B: 1})

    assert group.kept_by(member) is member.target_assignment


def test_a_member_keeps_nothing_of_topics_that_it_does_not_read_and_of_partitions_that_are_not_known():
    member = MemberSpec(
        subscribed_topic_ids=frozenset({A}), target_assignment={A: frozenset({0, 5}), B: frozenset({0})}
    )
    group = GroupSpec(members={"m": member}, partition_counts={A: 3})

    assert group.kept_by(member) == {A: frozenset({0})}


@pytest.mark.parametrize("assignor", [RangeAssignor(), UniformAssignor()], ids=lambda each: each.name)
@pytest.mark.parametrize("others", [frozenset({A}), frozenset()], ids=["homogeneous", "heterogeneous"])
def test_a_topic_of_which_nothing_is_known_cannot_be_assigned(assignor, others):
    members = {"m": MemberSpec(subscribed_topic_ids=frozenset({A})), "n": MemberSpec(subscribed_topic_ids=others)}

    with pytest.raises(UnknownTopicError, match="YWFhYWFhYWFhYWFhYWFhYQ"):
        assignor.assign(GroupSpec(members=members, partition_counts={}))


@pytest.mark.parametrize("assignor", [RangeAssignor(), UniformAssignor()], ids=lambda each: each.name)
def test_members_that_read_nothing_get_nothing_and_lose_what_they_had(assignor):
    member = MemberSpec(subscribed_topic_ids=frozenset(), target_assignment={A: frozenset({0})})

    assert assignor.assign(GroupSpec(members={"m": member}, partition_counts={})) == {"m": {}}
    assert assignor.assign(GroupSpec(members={}, partition_counts={})) == {}
