"""What a newer release has written into a record outlives the record's next value, written here."""

from group_records import Log
from offsets_world import empty_shard, load

from falkirk.coordinator.runtime.outcome import CoordinatorRecord
from falkirk.protocol.coordinator_record import encode_value
from falkirk.protocol.messages import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    GroupMetadataKey,
    GroupMetadataValue,
)

TAGS = ((77, b"new"),)
EPOCH, MEMBER = ConsumerGroupMetadataKey(group_id="g"), ConsumerGroupMemberMetadataKey(group_id="g", member_id="m")


def shard_with(*values):
    log = Log()
    for type_, key, value, version in values:
        log.raw(log.key(type_, key), encode_value(value, version, layout=1 if type_ == 3 else None))
    shard = empty_shard()
    assert load(shard, log.entries) is None
    return shard


def test_unknown_tags_are_written_again_with_the_next_value():
    shard = shard_with((3, "g", ConsumerGroupMetadataValue(epoch=1, unknown_tagged_fields=TAGS), 0))
    after = CoordinatorRecord(EPOCH, ConsumerGroupMetadataValue(epoch=2))
    other = CoordinatorRecord(MEMBER, ConsumerGroupMemberMetadataValue())
    written, untouched = shard.as_written([after, other])
    assert written.value == ConsumerGroupMetadataValue(epoch=2, unknown_tagged_fields=TAGS)
    assert untouched is other
    shard.replays.replay(written)
    assert shard.as_written([after]) == [written]


def test_a_value_without_them_or_a_tombstone_ends_them():
    for last in (ConsumerGroupMetadataValue(epoch=2), None):
        shard = shard_with((3, "g", ConsumerGroupMetadataValue(epoch=1, unknown_tagged_fields=TAGS), 0))
        shard.replays.replay(CoordinatorRecord(EPOCH, last))
        after = [CoordinatorRecord(EPOCH, ConsumerGroupMetadataValue(epoch=3))]
        assert shard.as_written(after) is after


def test_a_version_without_tags_is_written_as_it_is():
    shard = shard_with((2, {"group": "g"}, GroupMetadataValue(unknown_tagged_fields=TAGS), 4))
    record = CoordinatorRecord(GroupMetadataKey(group="g"), GroupMetadataValue(generation=1), 3)
    assert shard.as_written([record]) == [record]
