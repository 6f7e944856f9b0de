"""Messages from before Kafka 0.11 are read, and nothing else is taken for one."""

import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from falkirk.protocol.compression import Compression, UncompressedTooLargeError, compress
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.message_set import CorruptMessageError, MessageTooLargeError, read_messages, unwrap
from falkirk.slices import exhaust

FIELD = st.none() | st.binary(max_size=30)
MESSAGES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2**40), FIELD, FIELD), min_size=1, max_size=4)


def message(magic, timestamp, key, value, *, offset=0, attributes=0):
    body = struct.pack(">bB", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"")
    for field in (key, value):
        body += struct.pack(">i", -1 if field is None else len(field)) + (field or b"")
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def wrapped(inner, *, magic=1, offset=0, attributes=1, timestamp=7):
    value = compress(Compression.GZIP, inner)
    return next(read_messages(message(magic, timestamp, None, value, offset=offset, attributes=attributes)))


@settings(max_examples=50)
@given(drawn=MESSAGES, cut=st.integers(0, 20))
def test_messages_are_read_up_to_where_they_are_cut_off(drawn, cut):
    data = [message(*each) for each in drawn]
    last = data[-1][: len(data[-1]) - cut]
    found = list(read_messages(b"".join(data[:-1]) + last))
    whole = drawn if cut == 0 else drawn[:-1]
    assert [(each.magic, each.timestamp, each.key, each.value) for each in found] == [
        (magic, timestamp if magic else -1, key, value) for magic, timestamp, key, value in whole
    ]


@settings(max_examples=50)
@given(drawn=MESSAGES, data=st.data())
def test_a_flipped_bit_behind_the_size_is_found(drawn, data):
    whole = bytearray(b"".join(message(*each) for each in drawn))
    first = len(message(*drawn[0]))
    whole[data.draw(st.integers(12, first - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(RemoteProtocolError):
        list(read_messages(bytes(whole)))


def test_sizes_are_bounded():
    data = message(1, 5, b"k", b"v")
    assert len(list(read_messages(data, message_bytes_max=len(data)))) == 1
    with pytest.raises(MessageTooLargeError):
        list(read_messages(data, message_bytes_max=len(data) - 1))
    with pytest.raises(CorruptMessageError):
        list(read_messages(data[:8] + (13).to_bytes(4, "big") + data[12:]))
    with pytest.raises(UncompressedTooLargeError):
        exhaust(unwrap(wrapped(data), bytes_max=len(data) - 1))


def test_a_wrapper_gives_what_is_in_it_with_its_own_append_time():
    inner = message(1, 5, b"a", b"1") + message(1, 6, b"b", b"2", offset=1)
    assert [each.timestamp for each in exhaust(unwrap(wrapped(inner, offset=1), bytes_max=1000))] == [5, 6]
    # 0 is what some clients write.
    assert [each.key for each in exhaust(unwrap(wrapped(inner, offset=0), bytes_max=1000))] == [b"a", b"b"]
    appended = exhaust(unwrap(wrapped(inner, offset=1, attributes=9), bytes_max=1000))
    assert [each.timestamp for each in appended] == [7, 7]


@pytest.mark.parametrize(
    "wrapper",
    [
        wrapped(b""),
        wrapped(message(1, 5, b"a", b"1", attributes=1)),
        wrapped(message(1, 5, b"a", b"1", offset=3), offset=2),
        wrapped(message(1, 5, b"a", b"1"), attributes=4),
        wrapped(message(1, 5, b"a", b"1"), attributes=2),
    ],
)
def test_wrappers_that_can_not_be_are_refused(wrapper):
    with pytest.raises(RemoteProtocolError):
        exhaust(unwrap(wrapper, bytes_max=1000))
