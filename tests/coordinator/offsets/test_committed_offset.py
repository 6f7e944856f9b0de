"""Offsets are read out of any value that Kafka writes, as the codec reads them."""

from hypothesis import given
from hypothesis import strategies as st

from falkirk.coordinator.offsets.committed_offset import CommittedOffset, decode_offset
from falkirk.coordinator.offsets.offset_records import offset_value_bytes
from falkirk.coordinator.records.offset_commit import is_plain_offset_value
from falkirk.protocol.coordinator_record import decode_value, encode_value
from falkirk.protocol.messages import GROUP_COORDINATOR_VALUES, OffsetCommitValue
from falkirk.protocol.schema import ZERO_UUID

INT64 = st.integers(-(2**63), 2**63 - 1)
VALUES = st.builds(
    OffsetCommitValue,
    offset=INT64,
    leader_epoch=st.integers(-1, 2**31 - 1),
    metadata=st.text(max_size=20) | st.just("x" * 200),
    commit_timestamp=INT64,
    expire_timestamp=INT64,
    topic_id=st.just(ZERO_UUID) | st.binary(min_size=16, max_size=16),
    unknown_tagged_fields=st.sampled_from(((), ((5, b"x"),))),
)


@given(VALUES, st.integers(0, 4))
def test_a_value_is_read_as_the_codec_reads_it(value, version):
    data = encode_value(value, version, layout=1)
    read, _ = decode_value(GROUP_COORDINATOR_VALUES, 1, data, layout=1)
    found = decode_offset(data)
    assert isinstance(read, OffsetCommitValue)
    assert found == CommittedOffset(
        read.offset, read.leader_epoch, read.metadata, read.commit_timestamp, read.expire_timestamp, read.topic_id
    )


@given(VALUES, st.integers(0, 4))
def test_a_value_is_written_as_the_codec_writes_it(value, version):
    assert offset_value_bytes(value, version) == encode_value(value, version, layout=1)


def test_bytes_that_follow_and_are_no_utf_8_do_no_harm():
    data = encode_value(OffsetCommitValue(offset=5, metadata="abc"), 3).replace(b"abc", b"a\xffc") + b"more"
    assert is_plain_offset_value(data)
    assert (decode_offset(data).offset, decode_offset(data).metadata) == (5, "a\N{REPLACEMENT CHARACTER}c")
