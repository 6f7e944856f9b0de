from random import Random

from assignor_groups import made_group, owners, partitions
from hypothesis import given
from hypothesis import strategies as st

from falkirk.coordinator.assignors.assignor import GroupSpec, MemberSpec
from falkirk.coordinator.assignors.range_assignor import RangeAssignor

A, B = b"a" * 16, b"b" * 16


def _group(instance_ids, **topics):
    subscribed = frozenset({A, B})
    members = {
        member_id: MemberSpec(subscribed_topic_ids=subscribed, instance_id=instance_id)
        for member_id, instance_id in instance_ids.items()
    }
    return GroupSpec(members=members, partition_counts={A: topics["a"], B: topics["b"]})


def test_the_first_members_get_the_longer_runs_and_equal_topics_are_cut_alike():
    assignments = RangeAssignor().assign(_group({"m2": None, "m1": None}, a=3, b=3))

    assert assignments == {
        "m1": {A: frozenset({0, 1}), B: frozenset({0, 1})},
        "m2": {A: frozenset({2}), B: frozenset({2})},
    }


def test_a_member_for_whom_no_partition_is_left_has_no_entry_for_the_topic():
    assignments = RangeAssignor().assign(_group({"m1": None, "m2": None}, a=1, b=2))

    assert assignments == {"m1": {A: frozenset({0}), B: frozenset({0})}, "m2": {B: frozenset({1})}}


def test_static_members_come_first_and_keep_their_runs_under_new_member_ids():
    before = RangeAssignor().assign(_group({"m1": "i2", "m2": "i1", "m0": None}, a=3, b=3))
    after = RangeAssignor().assign(_group({"m8": "i2", "m9": "i1", "m0": None}, a=3, b=3))

    assert before["m2"] == after["m9"] == {A: frozenset({0}), B: frozenset({0})}
    assert before["m1"] == after["m8"] == {A: frozenset({1}), B: frozenset({1})}


@given(st.integers(0, 2**32), st.booleans())
def test_every_partition_has_one_owner_who_has_it_in_one_run_of_fair_length(seed, is_homogeneous):
    group = made_group(Random(seed), is_homogeneous=is_homogeneous)

    assignments = RangeAssignor().assign(group)

    assert owners(assignments) == dict.fromkeys(partitions(group), 1)
    for topic_id in group.partition_counts:
        runs = [
            sorted(assignments[member_id].get(topic_id, ()))
            for member_id, member in group.members.items()
            if topic_id in member.subscribed_topic_ids
        ]
        assert all(run == list(range(run[0], run[-1] + 1)) for run in runs if run)
        assert not runs or max(map(len, runs)) - min(map(len, runs)) <= 1
