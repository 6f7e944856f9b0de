"""Offsets are committed by who may, and written down in the version that each release writes."""

import pytest
from group_records import Log, member
from offsets_world import GROUP, OffsetsWorld, load

from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.records.record_type import GroupType
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import OffsetCommitValue

TOPIC_ID = bytes(range(16))


@pytest.mark.parametrize(
    ("release", "version"),
    [("3.7.2", 3), ("3.9.1", 3), ("4.0", 3), ("4.1", 4), ("4.3", 4), ("4.4", 4)],
)
def test_each_release_writes_its_own_version(release, version):
    world = OffsetsWorld(release)
    assert world.commit(7, 3, metadata="m", leader_epoch=2) is ErrorCode.NONE
    (record,) = world.written
    assert (record.key.group, record.key.topic, record.key.partition) == (GROUP, "t", 3)
    value = OffsetCommitValue(offset=7, leader_epoch=2, metadata="m", commit_timestamp=world.context.now_ms)
    assert (record.value, record.version) == (value, version)


@pytest.mark.parametrize("release", ["3.9.1", "4.4"])
def test_a_retention_time_of_the_request_is_written_in_version_1(release):
    world = OffsetsWorld(release)
    world.commit(version=4, retention_ms=500)
    (record,) = world.written
    assert (record.version, record.value.expire_timestamp) == (1, world.context.now_ms + 500)


@pytest.mark.parametrize(("retention_ms", "expire_ms"), [(2**63 - 1, 2**63 - 1), (-(2**63), None)])
def test_a_retention_time_without_end_is_written(retention_ms, expire_ms):
    world = OffsetsWorld()
    assert world.commit(version=4, retention_ms=retention_ms) is ErrorCode.NONE
    (record,) = world.written
    assert record.value.expire_timestamp == (world.context.now_ms + retention_ms if expire_ms is None else expire_ms)
    assert world.reloaded().fetch().committed_offset == 5


def test_a_topics_id_is_kept_by_releases_that_write_it():
    new, old = OffsetsWorld("4.4"), OffsetsWorld("4.0")
    for world in (new, old):
        assert world.commit(version=10, topic_id=TOPIC_ID) is ErrorCode.NONE
        assert world.reloaded().fetch().committed_offset == 5
    assert new.reloaded().fetch(topic_id=bytes(15) + b"x").committed_offset == -1
    assert new.reloaded().fetch(topic_id=TOPIC_ID).committed_offset == 5
    assert old.reloaded().fetch(topic_id=bytes(15) + b"x").committed_offset == 5


def test_metadata_has_a_limit_of_utf_16_units():
    world = OffsetsWorld(offset_metadata_max_size=4)
    assert world.commit(metadata="abcd") is ErrorCode.NONE
    assert world.commit(metadata=None) is ErrorCode.NONE
    assert world.commit(metadata="\N{GRINNING FACE}" * 2) is ErrorCode.NONE
    assert world.commit(9, metadata="abcde") is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert world.commit(9, metadata="\N{GRINNING FACE}" * 3) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert world.fetch().committed_offset == 5


def test_a_commit_of_nobody_makes_a_simple_group():
    world = OffsetsWorld()
    world.commit()
    (listed,) = world.shard.list_groups((), ())
    assert (listed.group_id, listed.group_type, listed.group_state, listed.protocol_type) == (
        GROUP,
        "classic",
        "Empty",
        "",
    )


@pytest.mark.parametrize(
    ("kind", "version", "error"),
    [
        (CoordinatorKind.NEW, 9, ErrorCode.GROUP_ID_NOT_FOUND),
        (CoordinatorKind.NEW, 8, ErrorCode.ILLEGAL_GENERATION),
        (CoordinatorKind.OLD, 9, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_a_member_of_no_group_is_refused(kind, version, error):
    world = OffsetsWorld("4.0", kind)
    assert world.commit(member="m", epoch=3, version=version) is error
    assert not world.written


def test_a_classic_group_takes_commits_of_its_members_at_their_generation():
    world = OffsetsWorld()
    log = Log()
    log.value(2, {"group": GROUP}, protocol_type="consumer", generation=3, protocol="range", members=[_member("m")])
    load(world.shard, log.entries)
    assert world.commit(member="m", epoch=3) is ErrorCode.NONE
    assert world.commit(member="m", epoch=2) is ErrorCode.ILLEGAL_GENERATION
    assert world.commit(member="other", epoch=3) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit_pending(7, member="other", epoch=3) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.commit_pending(7, member="m", epoch=3) is ErrorCode.NONE


def test_a_commit_begins_a_classic_members_session_anew():
    world = OffsetsWorld()
    log = Log()
    log.value(2, {"group": GROUP}, protocol_type="consumer", generation=3, protocol="range", members=[_member("m")])
    world = world.reloaded(log.entries)
    for _ in range(3):
        world.pass_time(9_000)
        assert world.commit(member="m", epoch=3) is ErrorCode.NONE
    world.pass_time(11_000)
    assert world.commit(member="m", epoch=3) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("release", "stale"), [("4.2", ErrorCode.STALE_MEMBER_EPOCH), ("4.3", ErrorCode.NONE)])
def test_a_past_epoch_is_good_for_what_the_member_still_has_since_4_3(release, stale):
    world = _consumer_world(release)
    assert world.commit(member="m", epoch=5) is ErrorCode.NONE
    # Partition 0 was its own at epoch 4 already, partition 1 is since 5.
    assert world.commit(partition=0, member="m", epoch=4) is stale
    assert world.commit(partition=1, member="m", epoch=4) is ErrorCode.STALE_MEMBER_EPOCH
    assert world.commit(partition=0, member="m", epoch=6) is ErrorCode.STALE_MEMBER_EPOCH
    assert world.commit(partition=0, member="m", epoch=5, version=8) is ErrorCode.UNSUPPORTED_VERSION


def test_in_a_transaction_a_stale_epoch_is_an_illegal_generation():
    world = _consumer_world("4.4")
    assert world.commit_pending(7, partition=1, member="m", epoch=4) is ErrorCode.ILLEGAL_GENERATION
    assert world.commit_pending(7, group="nobody", member="m", epoch=4) is ErrorCode.ILLEGAL_GENERATION
    assert world.commit_pending(7, partition=1, member="m", epoch=5) is ErrorCode.NONE


def test_commits_are_counted_by_partitions():
    world = OffsetsWorld()
    world.commit()
    world.commit_pending(7)
    world.commit(member="m", epoch=1)
    assert world.context.counters.offset_commits == 2


def test_a_share_group_takes_no_offsets_and_stays_what_it_is():
    log = Log()
    log.value(11, GROUP, epoch=1)
    world = OffsetsWorld().reloaded(log.entries)
    assert world.commit() is ErrorCode.GROUP_ID_NOT_FOUND
    assert world.delete(0) == [ErrorCode.GROUP_ID_NOT_FOUND]
    assert world.fetch().committed_offset == -1
    assert world.context.groups[GROUP].type is GroupType.SHARE


def _member(member_id):
    return {"member_id": member_id, "session_timeout": 10_000, "rebalance_timeout": 10_000}


def _consumer_world(release):
    world = OffsetsWorld(release)
    topic_id = world.topics.id_of("t")
    log = Log(release)
    log.value(3, GROUP, epoch=5)
    log.value(5, member(GROUP), subscribed_topic_names=("t",))
    log.value(
        8,
        member(GROUP),
        member_epoch=5,
        assigned_partitions=[{"topic_id": topic_id, "partitions": (0, 1), "assignment_epochs": (4, 5)}]
        if release in {"4.3", "4.4"}
        else [{"topic_id": topic_id, "partitions": (0, 1)}],
    )
    assert load(world.shard, log.entries) is None
    return world
