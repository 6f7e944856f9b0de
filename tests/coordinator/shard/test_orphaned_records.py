"""Members of a consumer group do not come back after a release that did not know them (KIP-915)."""

import pytest
from group_records import Log, member
from hypothesis import given
from hypothesis import strategies as st
from legal_compactions import legal_compactions
from offsets_world import GROUP, OffsetsWorld, empty_shard, load

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.prediction.loading import PartitionLoad
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.coordinator.records.record_type import GroupType
from falkirk.versions.release import Release

READERS = ("4.0", "4.1", "4.2", "4.3", "4.4")


def old_consumer_group(release="4.4"):
    """A log in which a consumer group was left without tombstones."""
    log = Log(release)
    if release == "4.4":
        # In 3.9 no group of offsets alone could become a consumer group.
        log.commit(GROUP)
    log.value(3, GROUP, epoch=1)
    log.value(5, member(GROUP, "of long ago"), subscribed_topic_names=("t",))
    log.value(6, GROUP, assignment_epoch=1)
    log.value(7, member(GROUP, "of long ago"), topic_partitions=[])
    log.value(8, member(GROUP, "of long ago"), member_epoch=1)
    return log


def classic(log):
    log.classic(GROUP, "m")


def classic_once(log):
    log.classic(GROUP)
    log.tombstone(2, {"group": GROUP})


def offsets_once(log):
    classic_once(log)
    log.commit(GROUP, 1)


def consumer_again(log):
    classic_once(log)
    log.value(3, GROUP, epoch=7)
    log.value(5, member(GROUP, "new"), subscribed_topic_names=("t",))
    log.value(6, GROUP, assignment_epoch=7)
    log.value(7, member(GROUP, "new"), topic_partitions=[])
    log.value(8, member(GROUP, "new"), member_epoch=7)


HISTORIES = (classic, classic_once, offsets_once, consumer_again)


def loaded_world(history):
    log = old_consumer_group()
    history(log)
    world = OffsetsWorld().reloaded(log.entries)
    world.log = list(log.entries)
    world.pass_time(0)
    return world


def state(shard):
    groups = {group_id: (group.type, set(group.members)) for group_id, group in shard.context.groups.items()}
    return groups, shard.offsets.store.committed


def tombstones(world):
    return [record for record in world.written if record.value is None]


@pytest.mark.parametrize("history", HISTORIES)
def test_what_is_written_changes_nothing_for_who_loads_it(history):
    world = loaded_world(history)
    assert tombstones(world)
    before = state(world.shard)
    for reader in READERS:
        shard = empty_shard(reader)
        assert load(shard, world.log) is None
        assert state(shard) == before
        judge = PartitionLoad(Release.parse(reader))
        assert not any(judge.replay(entry).fails for entry in world.log)


@pytest.mark.slow
@given(st.sampled_from(HISTORIES), st.data())
def test_no_compaction_brings_them_back(history, data):
    world = loaded_world(history)
    first_written = len(world.log) - len(world.written)
    starts = range(first_written + 1)
    left = data.draw(legal_compactions(world.log, batch_starts=starts))
    shard = empty_shard()
    assert load(shard, left) is None
    groups, committed = state(shard)
    assert committed == state(world.shard)[1]
    assert "of long ago" not in groups.get(GROUP, (None, ()))[1]


def test_without_tombstones_a_cleaner_would_bring_them_back():
    log = old_consumer_group()
    classic_once(log)
    cleaned = [entry for entry in log.entries if isinstance(entry, LoggedRecord) and entry.key[:2] != b"\0\2"]
    shard = empty_shard()
    assert load(shard, cleaned) is None
    assert state(shard)[0] == {GROUP: (GroupType.CONSUMER, {"of long ago"})}


def test_nothing_is_written_for_groups_that_went_in_order():
    world = OffsetsWorld()
    log = old_consumer_group()
    for type_ in (8, 7):
        log.tombstone(type_, member(GROUP, "of long ago"))
    log.tombstone(6, GROUP)
    log.tombstone(5, member(GROUP, "of long ago"))
    log.tombstone(3, GROUP)
    log.classic(GROUP, "m")
    world = world.reloaded(log.entries)
    world.pass_time(0)
    assert not tombstones(world)
    # Nor when they have been written once.
    world = loaded_world(classic)
    again = world.reloaded()
    again.pass_time(0)
    assert not tombstones(again)


def test_a_release_that_would_fail_at_such_tombstones_writes_none():
    log = old_consumer_group("3.9")
    log.classic(GROUP, "m")
    world = OffsetsWorld("3.9")
    world.log = list(log.entries)
    world = world.reloaded()
    world.pass_time(0)
    assert not tombstones(world)
    assert isinstance(world.context.groups[GROUP], ClassicGroup)
