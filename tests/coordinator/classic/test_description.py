"""A classic group as DescribeGroups shows it, in every version."""

import pytest
from classic_world import GROUP, ClassicWorld, subscription

from falkirk.coordinator.classic.description import describe
from falkirk.protocol import codec
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import DescribeGroupsResponse
from falkirk.protocol.messages.describe_groups_response import DescribedGroup

VERSIONS = range(7)


def described(world: ClassicWorld, version: int, group_id: str = GROUP) -> DescribedGroup:
    """Describe a group, as it comes over the wire."""
    response = DescribeGroupsResponse(groups=[describe(group_id, world.context.groups.get(group_id), version)])
    return codec.decode(DescribeGroupsResponse, version, codec.encode(response, version)).groups[0]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stable_group_is_described_with_subscriptions_and_assignments(version: int):
    world = ClassicWorld()
    ids = world.stable(2, static=True)

    group = described(world, version)

    assert (group.error_code, group.error_message) == (ErrorCode.NONE, None)
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    assert [member.member_id for member in group.members] == ids
    assert [member.group_instance_id for member in group.members] == (["i0", "i1"] if version >= 4 else [None, None])
    assert [member.member_assignment for member in group.members] == [b"0", b"1"]
    assert {member.member_metadata for member in group.members} == {subscription("t")}
    assert {(member.client_id, member.client_host) for member in group.members} == {("c", "/127.0.0.1")}


@pytest.mark.parametrize("version", VERSIONS)
def test_while_a_group_rebalances_its_protocol_and_subscriptions_are_not_told(version: int):
    world = ClassicWorld()
    ids = world.stable(2)
    world.join(ids[0])

    group = described(world, version)

    assert (group.group_state, group.protocol_type, group.protocol_data) == ("PreparingRebalance", "consumer", "")
    assert [(member.member_metadata, member.member_assignment) for member in group.members] == [
        (b"", b"0"),
        (b"", b"1"),
    ]
    world.join(ids[1])
    assert described(world, version).group_state == "CompletingRebalance"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_group_that_is_not_there_is_dead_and_from_version_6_on_an_error(version: int):
    group = described(ClassicWorld(), version)

    assert (group.group_id, group.group_state, group.members) == (GROUP, "Dead", [])
    assert group.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else ErrorCode.NONE)
    assert group.error_message == ("Group g not found." if version >= 6 else None)


def test_an_empty_group_is_described_as_such():
    world = ClassicWorld()
    world.leave(*world.stable(1))

    group = described(world, 6)

    assert (group.group_state, group.protocol_type, group.members) == ("Empty", "consumer", [])
