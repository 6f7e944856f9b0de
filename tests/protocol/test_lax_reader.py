"""Where Kafka's readers are lax, and where they are not."""

import pytest
from coordinator_logs import OFFSETS_TOPIC, all_real_partitions
from hypothesis import given, settings
from hypothesis import strategies as st
from message_strategies import message_strategy

from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.protocol import codec
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.lax_reader import KafkaReader, ReadError, ReadLimits, message_fields
from falkirk.protocol.messages import message_class

COORDINATOR_VALUES = (
    "GroupMetadataValue",
    "ConsumerGroupMemberMetadataValue",
    "ConsumerGroupCurrentMemberAssignmentValue",
    "StreamsGroupMemberMetadataValue",
    "StreamsGroupMetadataValue",
    "TransactionLogValue",
    "ShareSnapshotValue",
)

REAL_VALUES = [
    entry.value
    for entries in all_real_partitions(OFFSETS_TOPIC)[-4:]
    for entry in entries
    if isinstance(entry, LoggedRecord) and entry.value is not None
]


def read(name, version, data, **options):
    return KafkaReader(data, **options).message(message_layout(message_class(name), version))


@pytest.mark.slow
@pytest.mark.parametrize("name", COORDINATOR_VALUES)
@settings(max_examples=20)
@given(data=st.data())
def test_a_proper_message_reads_as_the_codec_reads_it(name, data):
    cls = message_class(name)
    version = data.draw(st.sampled_from(list(cls.SCHEMA.info.versions)))
    message = data.draw(message_strategy(cls, version, None))
    fields = read(name, version, codec.encode(message, version))
    layout = message_layout(cls, version)
    if not layout.flexible:
        assert message_fields(message, layout) == fields
    for field in message_layout(cls, version).fields:
        if field.struct is None and not field.is_array:
            assert fields[field.attribute] == getattr(message, field.attribute)


def test_strings_need_not_be_utf8():
    assert read("OffsetCommitKey", 1, b"\0\1\xff\0\1t\0\0\0\1")["group"] == "\ufffd"


@pytest.mark.parametrize(
    ("data", "underflow"),
    [
        (b"", True),
        (b"\0", True),
        (b"\0\2g", False),
        (b"\xff\xff", False),
        (b"\0\1g\0\1t\0\0\0", True),
    ],
)
def test_a_cut_number_is_told_from_other_errors(data, underflow):
    with pytest.raises(ReadError) as raised:
        read("OffsetCommitKey", 1, data)
    assert raised.value.underflow == underflow


def test_unknown_tags_are_skipped_by_the_size_that_they_give():
    body = b"\0\0\0\1"
    assert read("StreamsGroupTargetAssignmentMetadataValue", 0, body + b"\1\5\2xy")["assignment_epoch"] == 1
    for tags in (b"\1\5\3xy", b"\2\5\2xy", b"\1\5\xff\xff\xff\xff\x0f"):
        with pytest.raises(ReadError):
            read("StreamsGroupTargetAssignmentMetadataValue", 0, body + tags)


def test_a_known_tag_is_read_whatever_its_size_says():
    body = b"\0\0\0\1\1\0\1" + bytes(7) + b"\5"
    assert read("StreamsGroupTargetAssignmentMetadataValue", 0, body)["assignment_timestamp"] == 5


def test_a_count_of_tags_below_zero_is_none_unless_the_release_has_limits():
    body = b"\0\0\0\1\xff\xff\xff\xff\x0f"
    assert read("StreamsGroupTargetAssignmentMetadataValue", 0, body) == {"assignment_epoch": 1}
    limits = ReadLimits(elements_max=10, tagged_fields_max=10)
    with pytest.raises(ReadError, match="tagged fields"):
        read("StreamsGroupTargetAssignmentMetadataValue", 0, body, limits=limits)


def test_arrays_are_limited_by_the_bytes_left_and_by_the_release():
    empty = b"\1" * 4
    topics = b"\x15" + empty * 20
    assert len(read("ConsumerGroupRegularExpressionValue", 0, topics + bytes(17))["topics"]) == 20
    limits = ReadLimits(elements_max=19, tagged_fields_max=10)
    with pytest.raises(ReadError, match="too many for this release"):
        read("ConsumerGroupRegularExpressionValue", 0, topics + bytes(17), limits=limits)
    with pytest.raises(ReadError, match="elements"):
        read("ConsumerGroupRegularExpressionValue", 0, b"\xff\xff\xff\xff\x07" + bytes(9))


def test_a_varint_has_five_bytes_at_most():
    with pytest.raises(ReadError, match="five bytes"):
        read("ConsumerGroupRegularExpressionValue", 0, b"\xff" * 6)


@settings(max_examples=50)
@given(st.sampled_from(REAL_VALUES), st.integers(0, 100), st.binary(max_size=6))
def test_damaged_records_read_or_raise_the_one_error(value, at, end):
    broken = value[:at] + end
    for name in COORDINATOR_VALUES:
        assert 0 <= end_of_reading(name, broken) <= len(broken)


def end_of_reading(name, data):
    reader = KafkaReader(data)
    try:
        reader.message(message_layout(message_class(name), 0))
    except ReadError as error:
        return error.offset
    return reader.position
