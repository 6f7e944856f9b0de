"""Offsets are deleted by request, and with their group."""

from group_records import Log, subscription
from offsets_world import GROUP, OffsetsWorld

from falkirk.coordinator.runtime.client import ClientContext
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages.delete_groups_response import DeletableGroupResult


def test_offset_delete_writes_tombstones_of_what_is_there():
    world = OffsetsWorld()
    world.commit(partition=0)
    world.commit_pending(7, partition=1)
    written = len(world.written)
    assert world.delete(0, 1, 2) == [ErrorCode.NONE] * 3
    assert [record.key.partition for record in world.written[written:]] == [0, 1]
    world.end(7, commit=True)
    assert world.offsets() == world.reloaded().offsets() == {}
    assert world.context.counters.offset_deletions == 2


def test_offset_delete_spares_topics_that_a_member_reads():
    log = Log()
    log.classic(GROUP, "m")
    log.commit(GROUP, topic="u")
    world = OffsetsWorld().reloaded(log.entries)
    assert world.delete(0) == [ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC]
    assert world.delete(0, topic="u") == [ErrorCode.NONE]
    assert world.offsets() == {}


def test_offset_delete_is_refused_without_a_group_and_to_members_that_are_no_consumers():
    log = Log()
    log.value(
        2, {"group": GROUP}, protocol_type="connect", members=[{"member_id": "m", "subscription": subscription("t")}]
    )
    world = OffsetsWorld().reloaded(log.entries)
    assert world.delete(0) == [ErrorCode.NON_EMPTY_GROUP]
    assert world.delete(0, group="nobody") == [ErrorCode.GROUP_ID_NOT_FOUND]


def test_a_group_is_deleted_with_all_its_offsets():
    world = OffsetsWorld()
    world.commit(partition=0)
    world.commit_pending(7, partition=1)
    assert _delete(world, GROUP) == ErrorCode.NONE
    world.end(7, commit=True)
    for each in (world, world.reloaded()):
        assert each.shard.list_groups((), ()) == []
        assert each.offsets() == {}
    assert _delete(world, GROUP) == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_group_with_members_is_not_deleted():
    log = Log()
    log.classic(GROUP, "m")
    world = OffsetsWorld().reloaded(log.entries)
    assert _delete(world, GROUP) == ErrorCode.NON_EMPTY_GROUP
    assert not world.written


def _delete(world, group):
    (reply,) = world.apply(world.shard.delete_group(ClientContext(api_version=2), group, 1))
    assert isinstance(reply.response, DeletableGroupResult)
    assert reply.response.group_id == group
    return reply.response.error_code
