"""The short way through offset commits ends where the reader of schemas does."""

import struct

from group_records import offset_key as key_of
from group_records import offset_value
from hypothesis import given
from hypothesis import strategies as st

from falkirk.coordinator.records.offset_commit import is_plain_offset_value, offset_key, offset_topic_partition
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.coordinator_record import encode_value
from falkirk.protocol.lax_reader import KafkaReader, ReadError
from falkirk.protocol.messages import OffsetCommitValue, message_class
from falkirk.protocol.schema import ZERO_UUID

DAMAGE = st.tuples(st.integers(0, 40), st.binary(max_size=3), st.integers(0, 3))


def damaged(data, damage):
    at, instead, removed = damage
    return data[:at] + instead + data[at + removed :]


def reads(name, version, data):
    try:
        return KafkaReader(data, 2).message(message_layout(message_class(name), version))
    except ReadError:
        return None


@given(st.text(max_size=4), st.text(max_size=4), DAMAGE)
def test_a_key_splits_where_the_reader_reads_it(group, topic, damage):
    encoded = [text.encode() for text in (group, topic)]
    whole = b"\0\1" + b"".join(struct.pack(">h", len(text)) + text for text in encoded) + struct.pack(">i", 5)
    for key in (whole, damaged(whole, damage)):
        parts = offset_key(key)
        expected = reads("OffsetCommitKey", 1, key)
        assert (parts is None) == (expected is None)
        if parts is not None:
            topic_partition = (expected["topic"], expected["partition"])
            assert (parts[0].decode(errors="replace"), offset_topic_partition(parts[1])) == (
                expected["group"],
                topic_partition,
            )


@given(st.integers(0, 3), DAMAGE)
def test_a_plain_value_is_one_that_the_reader_reads(version, damage):
    for value in (offset_value(version), damaged(offset_value(version), damage)):
        if value[1:2] == b"\4":
            continue
        if len(value) >= 2 and value[0] == 0 and value[1] <= 3:
            assert is_plain_offset_value(value) == (reads("OffsetCommitValue", value[1], value) is not None)
        else:
            assert not is_plain_offset_value(value)


@given(
    metadata=st.text(max_size=130),
    topic_id=st.just(ZERO_UUID) | st.binary(min_size=16, max_size=16),
    tags=st.sampled_from(((), ((5, b"x"),))),
    damage=DAMAGE,
)
def test_a_plain_compact_value_is_one_that_every_release_reads(metadata, topic_id, tags, damage):
    fields = OffsetCommitValue(offset=5, metadata=metadata, topic_id=topic_id, unknown_tagged_fields=tags)
    whole = encode_value(fields, 4, layout=1)
    assert is_plain_offset_value(whole) == (len(metadata.encode()) < 127 and not tags)
    cut = damaged(whole, damage)
    if cut[:2] == b"\0\4" and is_plain_offset_value(cut):
        for layout in (0, 1):
            KafkaReader(cut, 2).message(message_layout(OffsetCommitValue, 4, layout))


def test_what_follows_a_key_is_no_part_of_its_partition():
    assert offset_key(key_of("g", 3) + b"more") == offset_key(key_of("g", 3))
