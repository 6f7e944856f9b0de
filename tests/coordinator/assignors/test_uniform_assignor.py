from dataclasses import replace
from random import Random

from assignor_groups import kept, load, made_group, owners, partitions
from hypothesis import given
from hypothesis import strategies as st

from falkirk.coordinator.assignors.assignor import GroupSpec, MemberSpec
from falkirk.coordinator.assignors.uniform_assignor import UniformAssignor

A, B = b"a" * 16, b"b" * 16


def _group(targets, counts, read=frozenset({A, B})):
    return GroupSpec(
        members={
            member_id: MemberSpec(
                subscribed_topic_ids=read,
                target_assignment={topic_id: frozenset(each) for topic_id, each in target.items()},
            )
            for member_id, target in targets.items()
        },
        partition_counts=counts,
    )


def _with_targets(group, assignments):
    members = {
        member_id: replace(member, target_assignment=assignments.get(member_id, {}))
        for member_id, member in group.members.items()
    }
    return replace(group, members=members)


def test_a_new_member_gets_its_share_from_those_that_have_more():
    group = _group({"m1": {A: {0, 1, 2}}, "m2": {B: {0, 1, 2}}, "m3": {}}, {A: 3, B: 3})

    assert UniformAssignor().assign(group) == {
        "m1": {A: frozenset({0, 1})},
        "m2": {B: frozenset({0, 1})},
        "m3": {A: frozenset({2}), B: frozenset({2})},
    }


def test_the_larger_share_stays_with_whoever_has_it():
    group = _group({"m1": {A: {0}}, "m2": {A: {1, 2}}}, {A: 3, B: 0})

    assignments = UniformAssignor().assign(group)

    assert all(assignments[member_id] is group.members[member_id].target_assignment for member_id in ("m1", "m2"))


def test_a_member_whose_topics_differ_makes_room_for_one_that_has_no_choice():
    members = {
        "both": MemberSpec(subscribed_topic_ids=frozenset({A, B}), target_assignment={A: frozenset({0, 1, 2})}),
        "one": MemberSpec(subscribed_topic_ids=frozenset({A})),
    }
    assignments = UniformAssignor().assign(GroupSpec(members=members, partition_counts={A: 3, B: 1}))

    assert assignments == {"both": {A: frozenset({0}), B: frozenset({0})}, "one": {A: frozenset({1, 2})}}


@given(st.integers(0, 2**32), st.booleans())
def test_every_partition_has_one_owner_who_reads_its_topic(seed, is_homogeneous):
    group = made_group(Random(seed), is_homogeneous=is_homogeneous)

    assignments = UniformAssignor().assign(group)

    assert owners(assignments) == dict.fromkeys(partitions(group), 1)
    assert assignments.keys() == group.members.keys()
    for member_id, member in group.members.items():
        assert assignments[member_id].keys() <= member.subscribed_topic_ids


@given(st.integers(0, 2**32))
def test_members_that_read_the_same_topics_differ_by_one_and_keep_what_fits_into_their_shares(seed):
    group = made_group(Random(seed), is_homogeneous=True)

    assignments = UniformAssignor().assign(group)

    loads = {member_id: load(assignment) for member_id, assignment in assignments.items()}
    assert max(loads.values()) - min(loads.values()) <= 1
    for member_id, keeps in kept(group, assignments).items():
        assert keeps == min(load(group.kept_by(group.members[member_id])), loads[member_id])
    # Nobody has the larger share who did not fill the smaller one, while another lost a partition by it.
    smaller = min(loads.values())
    losers = [each for each in loads if load(group.kept_by(group.members[each])) > loads[each] == smaller]
    larger = [each for each in loads if loads[each] > smaller]
    assert not losers or all(load(group.kept_by(group.members[each])) > smaller for each in larger)


@given(st.integers(0, 2**32))
def test_no_reader_of_a_topic_has_two_more_than_another_and_partitions_of_that_topic_to_give(seed):
    group = made_group(Random(seed), is_homogeneous=False)

    assignments = UniformAssignor().assign(group)

    for topic_id in group.partition_counts:
        readers = [each for each, member in group.members.items() if topic_id in member.subscribed_topic_ids]
        least = min((load(assignments[each]) for each in readers), default=0)
        assert all(load(assignments[each]) - least <= 1 for each in readers if topic_id in assignments[each])


@given(st.integers(0, 2**32), st.booleans())
def test_an_assignment_that_is_fair_stays_as_it_is(seed, is_homogeneous):
    group = made_group(Random(seed), is_homogeneous=is_homogeneous)
    settled = _with_targets(group, UniformAssignor().assign(group))

    again = UniformAssignor().assign(settled)

    assert all(again[member_id] is member.target_assignment for member_id, member in settled.members.items())


@given(st.integers(0, 2**32))
def test_members_that_go_leave_the_rest_what_it_has(seed):
    group = made_group(Random(seed), is_homogeneous=True)
    settled = _with_targets(group, UniformAssignor().assign(group))
    staying = dict(list(settled.members.items())[: Random(seed).randint(1, len(settled.members))])
    left = replace(settled, members=staying)

    assignments = UniformAssignor().assign(left)

    assert kept(left, assignments) == {each: load(member.target_assignment) for each, member in staying.items()}
