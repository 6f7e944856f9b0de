"""Keys of offsets as bytes. What releases write is told in offsets/test_offset_commits.py."""

from hypothesis import given
from hypothesis import strategies as st

from falkirk.coordinator.offsets.offset_records import offset_key_bytes, offset_position, offset_tombstone
from falkirk.coordinator.records.offset_commit import offset_key, offset_topic_partition
from falkirk.protocol.coordinator_record import encode_key
from falkirk.protocol.messages import OffsetCommitKey


@given(st.text(max_size=9), st.integers(0, 2**31 - 1))
def test_a_position_is_what_an_offsets_key_ends_with(topic, partition):
    position = offset_position(topic, partition)
    key = OffsetCommitKey(group="g", topic=topic, partition=partition)
    assert offset_key(encode_key(key)) == (b"g", position)
    assert offset_topic_partition(position) == (topic, partition)
    tombstone = offset_tombstone("g", position)
    assert (tombstone.key, tombstone.value) == (key, None)


@given(st.text(max_size=9), st.text(max_size=9), st.integers(0, 2**31 - 1))
def test_a_key_is_written_as_the_codec_writes_it(group, topic, partition):
    key = OffsetCommitKey(group=group, topic=topic, partition=partition)
    assert offset_key_bytes(key) == encode_key(key)
