"""What OffsetFetch is told."""

from group_records import Log, member
from offsets_world import GROUP, OffsetsWorld, load

from falkirk.protocol.error_codes import ErrorCode


def test_offsets_are_given_as_they_were_committed():
    world = OffsetsWorld()
    world.commit(7, 1, metadata="m", leader_epoch=4)
    world.commit(8, 2, topic="u")
    found = world.fetch(1)
    assert (found.committed_offset, found.committed_leader_epoch, found.metadata, found.error_code) == (7, 4, "m", 0)
    assert world.offsets() == {("t", 1): 7, ("u", 2): 8}


def test_what_was_never_committed_is_minus_one():
    world = OffsetsWorld()
    world.commit()
    for asked in ({"partition": 3}, {"group": "nobody"}):
        found = world.fetch(**asked)
        assert (found.committed_offset, found.committed_leader_epoch, found.metadata, found.error_code) == (
            -1,
            -1,
            "",
            0,
        )
    assert world.offsets(group="nobody") == {}


def test_offsets_in_open_transactions_are_unstable_to_who_asks():
    world = OffsetsWorld()
    world.commit(3)
    world.commit_pending(7, 9)
    assert world.fetch().committed_offset == 3
    stable = world.fetch(is_stable=True)
    assert (stable.error_code, stable.committed_offset) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    (all_,) = world.fetch_group(is_stable=True).topics
    assert [each.error_code for each in all_.partitions] == [ErrorCode.UNSTABLE_OFFSET_COMMIT]
    assert world.fetch(1, is_stable=True).error_code == ErrorCode.NONE
    world.end(7, commit=True)
    assert world.fetch(is_stable=True).committed_offset == 9


def test_an_aborted_transaction_leaves_what_was_there():
    world = OffsetsWorld()
    world.commit(3)
    world.commit_pending(7, 9)
    world.end(7, commit=False)
    assert world.fetch(is_stable=True).committed_offset == 3


def test_a_later_commit_outlives_an_earlier_one_whose_transaction_ends_after_it():
    world = OffsetsWorld()
    world.commit_pending(7, 9)
    world.commit(4)
    world.end(7, commit=True)
    assert world.fetch().committed_offset == 4
    assert world.reloaded().fetch().committed_offset == 4


def test_members_are_known_by_their_epoch_from_version_9_on():
    log = Log()
    log.value(3, GROUP, epoch=5)
    log.value(5, member(GROUP), subscribed_topic_names=("t",))
    log.value(8, member(GROUP), member_epoch=5)
    log.commit(GROUP)
    world = OffsetsWorld()
    assert load(world.shard, log.entries) is None
    assert world.fetch_group(0, member="m", epoch=5).topics[0].partitions[0].committed_offset == 5
    assert world.fetch_group(0).error_code == ErrorCode.NONE
    stale, unknown = world.fetch_group(0, member="m", epoch=4), world.fetch_group(0, member="n", epoch=5)
    assert (stale.error_code, stale.topics) == (ErrorCode.STALE_MEMBER_EPOCH, [])
    assert (unknown.error_code, unknown.topics) == (ErrorCode.UNKNOWN_MEMBER_ID, [])
