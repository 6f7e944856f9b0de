"""What KIP-915 asks for: types, versions and fields that are not known are no reason to lose a partition."""

import struct

import pytest
from coordinator_logs import OFFSETS_TOPIC, TARGETS, real_partitions
from group_records import Log, member
from hypothesis import given, settings
from hypothesis import strategies as st
from legal_compactions import legal_compactions
from offsets_world import GROUP, OffsetsWorld, empty_shard, load

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.loader.partition_loader import PartitionLoader
from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.records.record_type import GroupType
from falkirk.coordinator.runtime.load_failure import LoadFailure
from falkirk.protocol.coordinator_record import encode_value
from falkirk.protocol.messages import GroupMetadataValue, OffsetCommitValue
from falkirk.protocol.messages.group_metadata_value import MemberMetadata
from falkirk.versions.release import Release

OLD, NEW = CoordinatorKind.OLD, CoordinatorKind.NEW
ALL = [
    (release, kind) for release in TARGETS for kind in (OLD, NEW) if kind is NEW or Release.parse(release).has_zookeeper
]


def of_version(version, value):
    """Return a value as one of another version, whose fields it has."""
    return struct.pack(">h", version) + value[2:]


@pytest.mark.parametrize(("release", "kind"), ALL)
def test_unknown_types_are_counted_and_skipped_by_every_release(release, kind):
    log = Log()
    for _ in range(2):
        log.raw(b"\0\x63anything", b"\0\0whatever")
    log.raw(b"\x7f\xff", None)
    log.commit(GROUP)
    loader = PartitionLoader(empty_shard(release, kind))
    assert [loader.apply(entry) for entry in log.entries] == [None] * 4
    assert loader.unknown_types == {0x63: 2, 0x7FFF: 1}


@pytest.mark.parametrize(("release", "kind"), ALL)
def test_a_newer_version_of_an_offset_is_read_with_the_highest_known_one(release, kind):
    log = Log()
    log.commit("before")
    value = encode_value(OffsetCommitValue(offset=77, unknown_tagged_fields=((9, b"new"),)), 4)
    record = log.raw(log.commit(GROUP).key, of_version(5, value))
    shard = empty_shard(release, kind, is_tolerant=True)
    assert load(shard, log.entries) is None
    assert _fetched(shard) == 77
    failure = load(empty_shard(release, kind), log.entries)
    # Of these the generated reader takes whatever version it meets for the nearest that it knows.
    if release in {"3.7.2", "3.8.1", "3.9.1"} and kind is NEW:
        assert failure is None
    else:
        reason = "offset commit (1) has no value version 5, only 0-4 (byte 0)"
        assert failure == LoadFailure(record.offset, reason)


def test_a_version_below_all_is_an_error_for_the_tolerant_too():
    log = Log()
    log.raw(log.commit(GROUP).key, b"\xff\xff" + bytes(30))
    failure = load(empty_shard("4.4", is_tolerant=True), log.entries)
    assert failure == LoadFailure(1, "offset commit (1) has no value version -1, only 0-4 (byte 0)")


def test_a_newer_version_of_a_member_is_read_where_readers_of_structs_would_throw():
    log = Log("3.9")
    log.value(3, GROUP, epoch=1)
    log.value(5, member(GROUP), subscribed_topic_names=("t",))
    target = log.value(7, member(GROUP), topic_partitions=[{"topic_id": bytes(16), "partitions": (0,)}])
    log.entries[-1] = Log().raw(target.key, of_version(1, target.value))
    assert load(empty_shard("3.9"), log.entries) is not None
    shard = empty_shard("3.9", is_tolerant=True)
    assert load(shard, log.entries) is None
    group = shard.context.groups[GROUP]
    assert isinstance(group, ConsumerGroup)
    assert group.target["m"] == {bytes(16): frozenset({0})}


def test_types_that_a_release_reads_but_cannot_replay_are_skipped_by_the_tolerant():
    log = Log("4.1")
    log.value(15, GROUP)
    assert load(empty_shard("4.0"), log.entries) is not None
    loader = PartitionLoader(empty_shard("4.0", is_tolerant=True))
    assert loader.apply(log.entries[0]) is None
    assert loader.unknown_types == {15: 1}


@pytest.mark.source
def test_unknown_tags_come_with_the_record():
    key = Log().key(2, {"group": GROUP})
    value = GroupMetadataValue(
        protocol_type="consumer",
        protocol="range",
        members=[MemberMetadata(member_id="m", unknown_tagged_fields=((9, b"new"),))],
        unknown_tagged_fields=((8, b"newer"),),
    )
    log = Log()
    log.raw(key, encode_value(value, 4))
    taken = []
    shard = empty_shard()
    shard.replays.replay = lambda record, **_: taken.append(record)
    loader = PartitionLoader(shard)
    assert loader.apply(log.entries[0]) is None
    assert taken[0].value == value


def test_the_tombstone_of_what_is_not_there_does_not_make_a_group_of_offsets_one_of_its_type():
    log = Log()
    log.commit(GROUP)
    log.tombstone(5, member(GROUP))
    log.value(10, member(GROUP))
    assert load(empty_shard(), log.entries[:2]) is None
    assert load(empty_shard(), log.entries) is not None
    shard = empty_shard(is_tolerant=True)
    assert load(shard, log.entries) is None
    assert shard.context.groups[GROUP].type is GroupType.SHARE


def test_a_damaged_record_fails_with_its_offset_tolerant_or_not():
    log = Log()
    log.commit("before")
    log.raw(log.key(2, {"group": GROUP}), b"\0\3\0")
    for is_tolerant in (False, True):
        failure = load(empty_shard(is_tolerant=is_tolerant), log.entries)
        assert failure is not None
        assert failure.offset == 1
        assert "GroupMetadataValue" in failure.reason


def test_offsets_that_a_tombstone_hides_are_served_by_the_tolerant():
    log = Log()
    log.commit(GROUP)
    log.tombstone(2, {"group": GROUP})
    for release, kind in ALL:
        shard = empty_shard(release, kind)
        assert load(shard, log.entries) is None
        assert _fetched(shard) == (5 if kind is OLD else -1)
        shard = empty_shard(release, kind, is_tolerant=True)
        assert load(shard, log.entries) is None
        assert _fetched(shard) == 5


@pytest.mark.parametrize("type_", [GroupType.SHARE, GroupType.STREAMS])
def test_groups_that_we_do_not_coordinate_are_known_by_their_type(type_):
    log = Log()
    if type_ is GroupType.SHARE:
        log.value(11, GROUP, epoch=1)
        log.value(10, member(GROUP))
    else:
        log.value(17, GROUP, epoch=1)
        log.value(19, member(GROUP))
    world = OffsetsWorld().reloaded(log.entries)
    (listed,) = world.shard.list_groups((), (type_.value,))
    assert (listed.group_id, listed.group_type, listed.group_state, listed.protocol_type) == (
        GROUP,
        type_.value,
        "Stable",
        type_.value,
    )


def test_a_group_that_has_lost_all_its_offsets_is_not_loaded():
    log = Log()
    log.commit(GROUP)
    log.forget(GROUP)
    log.classic("with a record", protocol_type="")
    for release, kind in ALL:
        shard = empty_shard(release, kind)
        assert load(shard, log.entries) is None
        assert list(shard.context.groups) == ["with a record"]


@pytest.mark.parametrize("release", TARGETS)
def test_the_tolerant_do_not_look_at_the_order_of_tombstones(release):
    log = Log(release)
    log.value(3, GROUP, epoch=1)
    log.value(5, member(GROUP), subscribed_topic_names=("t",))
    log.value(6, GROUP, assignment_epoch=1)
    log.value(7, member(GROUP), topic_partitions=[])
    log.value(8, member(GROUP), member_epoch=1)
    # The other way round than any coordinator writes them.
    first = log.tombstone(3, GROUP)
    for type_ in (5, 7, 8):
        log.tombstone(type_, member(GROUP))
    log.tombstone(6, GROUP)
    failure = load(empty_shard(release), log.entries)
    assert failure is not None
    assert failure.offset == first.offset
    shard = empty_shard(release, is_tolerant=True)
    assert load(shard, log.entries) is None
    assert shard.context.groups == {}


REAL = [entries for entries in real_partitions("4.4.0", OFFSETS_TOPIC).values() if len(entries) > 20]


@pytest.mark.slow
@given(st.integers(0, len(REAL) - 1), st.data())
@settings(max_examples=25)
def test_any_compaction_of_a_real_log_loads_to_the_same_groups(number, data):
    entries = REAL[number]
    whole, left = (empty_shard(is_tolerant=True) for _ in range(2))
    assert load(whole, entries) is None
    assert load(left, data.draw(legal_compactions(entries))) is None
    assert _state(left) == _state(whole)


def _state(shard):
    groups = {}
    for group_id, group in shard.context.groups.items():
        if isinstance(group, ClassicGroup):
            members = {name: each.assignment for name, each in group.members.items()}
            groups[group_id] = ("classic", group.protocol_type, group.generation_id, members)
        elif isinstance(group, ConsumerGroup):
            groups[group_id] = (group.group_epoch, group.target_epoch, group.members, group.target, group.owners)
        else:
            groups[group_id] = (group.type, group.members)
    return groups, shard.offsets.store.committed


def _fetched(shard):
    world = OffsetsWorld()
    world.shard = shard
    return world.fetch().committed_offset
