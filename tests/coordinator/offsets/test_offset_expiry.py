"""Offsets expire when their retention is over, and groups without any with them (KIP-211)."""

from group_records import Log
from offsets_world import DAY_MS, GROUP, OffsetsWorld

from falkirk.coordinator.offsets.offset_records import offset_position
from falkirk.protocol.messages import GroupMetadataKey

WEEK_MS = 7 * DAY_MS
CHECK_MS = 600_000


def test_a_simple_groups_offsets_expire_a_week_after_each_was_committed():
    world = OffsetsWorld()
    world.commit(partition=0)
    world.pass_time(DAY_MS)
    world.commit(partition=1)
    world.pass_time(WEEK_MS - DAY_MS)
    assert world.offsets() == {("t", 1): 5}
    world.pass_time(DAY_MS)
    assert world.offsets() == {}
    assert world.context.groups == {}
    assert world.written[-1].key == GroupMetadataKey(group=GROUP)
    assert world.written[-1].value is None
    assert world.context.counters.offset_expirations == 2


def test_an_offsets_own_time_counts_before_the_brokers():
    world = OffsetsWorld()
    world.commit(version=3, retention_ms=CHECK_MS)
    world.commit(partition=1, version=3, retention_ms=2 * WEEK_MS)
    world.pass_time(CHECK_MS - 1)
    assert len(world.offsets()) == 2
    world.pass_time(CHECK_MS)
    assert world.offsets() == {("t", 1): 5}
    world.pass_time(2 * WEEK_MS)
    assert world.offsets() == {}


def test_offsets_of_a_group_count_from_when_it_became_empty():
    log = Log()
    log.classic(GROUP)
    log.commit(GROUP)
    world = OffsetsWorld()
    log.value(2, {"group": GROUP}, protocol_type="consumer", current_state_timestamp=world.context.now_ms)
    world = world.reloaded(log.entries)
    world.pass_time(WEEK_MS - CHECK_MS)
    assert world.offsets() == {("t", 0): 5}
    world.pass_time(2 * CHECK_MS)
    assert world.context.groups == {}


def test_what_a_member_reads_does_not_expire():
    log = Log()
    log.value(3, GROUP, epoch=1)
    log.value(5, {"group_id": GROUP, "member_id": "m"}, subscribed_topic_names=("t",))
    log.commit(GROUP)
    log.commit(GROUP, topic="u")
    # No member is heard of again: the sessions are longer than the test.
    world = OffsetsWorld(consumer_session_timeout_ms=10 * WEEK_MS, consumer_max_session_timeout_ms=10 * WEEK_MS)
    world = world.reloaded(log.entries)
    world.pass_time(2 * WEEK_MS)
    assert world.offsets() == {("t", 0): 5}


def test_an_offset_with_a_pending_one_stays_and_so_does_its_group():
    world = OffsetsWorld()
    world.commit(3)
    world.commit_pending(7, 9)
    world.commit_pending(7, 9, group="pending alone")
    world.pass_time(2 * WEEK_MS)
    assert world.offsets() == {("t", 0): 3}
    assert set(world.context.groups) == {GROUP, "pending alone"}
    world.end(7, commit=False)
    world.pass_time(CHECK_MS)
    assert world.context.groups == {}


def test_a_group_without_offsets_and_members_goes_at_the_next_check():
    log = Log()
    log.classic(GROUP)
    world = OffsetsWorld().reloaded(log.entries)
    world.pass_time(CHECK_MS)
    assert world.context.groups == {}
    assert world.reloaded([*log.entries, *world.log]).context.groups == {}


def test_a_large_round_is_gone_through_in_slices():
    world = OffsetsWorld()
    for group in range(3):
        for partition in range(400):
            _put(world, str(group), partition)
    world.context.now_ms += 2 * WEEK_MS
    action = world.context.timers.pop_due(world.context.now_ms)
    assert action is not None
    sizes = []
    while action is not None:
        outcome = action()
        sizes.append(len(outcome.records))
        world.apply(outcome)
        # The rest is not due as a timer, which would run in the same step.
        assert world.context.timers.pop_due(world.context.now_ms) is None
        action = world.context.slices.pop("offsets-expire", None)
    assert sizes == [250, 250, 250, 250, 203, 0]
    assert world.context.groups == {}
    assert world.context.timers.next_due_ms == world.context.now_ms + CHECK_MS


def test_slices_are_short_though_nothing_expires():
    world = OffsetsWorld()
    for partition in range(5_000):
        _put(world, GROUP, partition)
    world.context.now_ms += CHECK_MS
    action = world.context.timers.pop_due(world.context.now_ms)
    slices = 0
    while action is not None:
        assert not action().records
        slices += 1
        action = world.context.slices.pop("offsets-expire", None)
    assert slices == 4
    assert len(world.offsets()) == 5_000


def test_groups_without_offsets_go_in_slices_too():
    log = Log()
    for group in range(600):
        log.classic(str(group))
    world = OffsetsWorld().reloaded(log.entries)
    world.context.now_ms += CHECK_MS
    action = world.context.timers.pop_due(world.context.now_ms)
    sizes = []
    while action is not None:
        outcome = action()
        sizes.append(len(outcome.records))
        world.apply(outcome)
        action = world.context.slices.pop("offsets-expire", None)
    assert sizes == [250, 250, 100, 0]
    assert world.context.groups == {}


def test_an_offset_that_is_committed_anew_between_two_slices_stays_and_so_does_its_group():
    world = OffsetsWorld()
    for partition in range(300):
        _put(world, GROUP, partition)
    world.context.now_ms += 2 * WEEK_MS
    action = world.context.timers.pop_due(world.context.now_ms)
    assert action is not None
    world.apply(action())
    assert world.commit(7, 299) == 0
    world.finish_slices()
    assert world.offsets() == {("t", 299): 7}
    assert list(world.context.groups) == [GROUP]


def _put(world, group, partition):
    value = bytes.fromhex("0003 0000000000000005 ffffffff 0000 0000000000000000")
    position = offset_position("t", partition)
    world.shard.replays.replay_offset(group, position, value, log_offset=0, producer_id=None)
