import pytest
from hypothesis import given
from hypothesis import strategies as st
from raised import raised
from record_strategies import records

from falkirk.protocol.errors import LocalProtocolError, RemoteProtocolError
from falkirk.protocol.record import (
    Record,
    decode_key_values,
    decode_records,
    decode_values,
    encode_key_value,
    encode_record,
    split_records,
)

BASE = {"base_offset": 100, "base_timestamp": 1_000_000}


def encode(*all_records):
    return b"".join(encode_record(record, **BASE) for record in all_records)


@pytest.mark.slow
@given(expected=st.lists(records(first_offset=100), max_size=5))
def test_decode_is_the_inverse_of_encode(expected):
    data = encode(*expected)
    assert decode_records(data, count=len(expected), **BASE) == expected
    spans = split_records(data, len(expected))
    assert [data[start:end] for start, end in spans] == [encode(record) for record in expected]


def test_a_record_is_laid_out_as_the_protocol_says():
    record = Record(103, 1_000_005, b"k", b"value", (("h", None), ("", b"\xff")))
    # size 18, attributes, timestamp delta 5, offset delta 3, key, value, two headers
    assert encode(record).hex() == "24" + "00" + "0a" + "06" + "026b" + "0a76616c7565" + "04" + "026801" + "0002ff"


@given(delta=st.integers(0, 2**31 - 1), key=st.binary(max_size=200), value=st.none() | st.binary(max_size=2_000))
def test_a_key_and_a_value_are_written_as_any_record(delta, key, value):
    record = Record(delta, 7, key, value)
    assert encode_key_value(delta, key, value) == encode_record(record, base_offset=0, base_timestamp=7)


PLAIN = st.lists(st.tuples(st.integers(0, 8_191), st.binary(max_size=200), st.binary(max_size=300)), max_size=5)


@given(written=PLAIN)
def test_what_coordinators_write_is_read_quickly(written):
    data = b"".join(encode_key_value(*each) for each in written)
    assert decode_key_values(data, len(written)) == written


@given(
    written=PLAIN, at=st.integers(0, 1_000), byte=st.integers(0, 255), count=st.integers(0, 6), cut=st.integers(0, 3)
)
def test_the_quick_reader_takes_nothing_that_the_other_refuses(written, at, byte, count, cut):
    data = bytearray(b"".join(encode_key_value(*each) for each in written))
    if data:
        data[at % len(data)] = byte
    data = bytes(data[: len(data) - cut])
    found = decode_key_values(data, count)
    if found is not None:
        records = decode_records(data, count=count, base_offset=0, base_timestamp=0)
        assert found == [(record.offset, record.key, record.value) for record in records]


def test_a_header_key_that_is_not_utf8_comes_out_unchanged():
    data = encode(Record(100, 1_000_000, headers=(("abc", b""),)))
    odd = data.replace(b"abc", b"a\xffc")
    (record,) = decode_records(odd, count=1, **BASE)
    assert encode(record) == odd


def test_log_append_time_replaces_every_timestamp():
    data = encode(Record(100, 5, b"a", b"b"))
    assert decode_records(data, count=1, **BASE, log_append_time=77)[0].timestamp == 77


def test_offsets_beyond_the_batch_can_not_be_written():
    with pytest.raises(LocalProtocolError, match="offset 99"):
        encode(Record(99, 0))
    with pytest.raises(LocalProtocolError, match="offset"):
        encode(Record(100 + (1 << 31), 0))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("0e000000010100", "7 bytes where 6 are left"),
        ("0a0000000101", "5 bytes where"),
        ("030000000000", "-2 bytes where"),
        ("0e00000001010000", "has 6"),
        ("0c00000003010000", "field of -2 bytes"),
        ("0c0000000a010000", "field of 5 bytes where the record has 2 left"),
        ("0c00000001010200", "1 headers where the record has 0 bytes left"),
        ("1000000001010201" + "00", "key of a header is null"),
        ("1000000001010202" + "61", "ends inside its headers"),
        ("0c00000101010000", "out of range"),
        ("1e00" + "ff" * 10 + "0101010100", "varint is longer than 10 bytes"),
        ("1e00" + "ff" * 9 + "7f" + "0101010100", "varlong has more than 64 bits"),
    ],
)
def test_impossible_records_are_named_with_their_byte(data, reason):
    with pytest.raises(RemoteProtocolError, match=reason):
        decode_records(bytes.fromhex(data).ljust(7, b"\0"), count=1, **BASE)


def test_a_count_that_can_not_be_true_costs_nothing():
    with pytest.raises(RemoteProtocolError, match="2000000000 records can not stand in 7 bytes"):
        decode_records(bytes(7), count=2_000_000_000, **BASE)
    with pytest.raises(RemoteProtocolError, match="can not stand in"):
        decode_values(bytes(7), 2_000_000_000)
    with pytest.raises(RemoteProtocolError, match="-1 records"):
        decode_records(b"", count=-1, **BASE)


@pytest.mark.parametrize("read", [lambda data: decode_records(data, count=1, **BASE), lambda d: split_records(d, 1)])
def test_bytes_behind_the_last_record_are_an_error(read):
    with pytest.raises(RemoteProtocolError, match="1 bytes follow the last of 1 records"):
        read(encode(Record(100, 0)) + b"\0")


@given(expected=st.lists(records(first_offset=100), min_size=1, max_size=3), data=st.data())
def test_hostile_records_raise_one_error_or_are_read(expected, data):
    good = encode(*expected)
    at = data.draw(st.integers(0, len(good) - 1))
    hostile = good[:at] + data.draw(st.binary(min_size=1, max_size=4)) + good[at + 1 :]
    for read in (
        lambda: decode_records(hostile, count=len(expected), **BASE),
        lambda: split_records(hostile, len(expected)),
        lambda: decode_values(hostile, len(expected)),
    ):
        error = raised(RemoteProtocolError, read)
        assert error is None or 0 <= error.offset <= len(hostile)


@given(values=st.lists(st.binary(max_size=70), max_size=80))
def test_values_of_kraft_records_are_read_without_records(values):
    base = {"base_offset": 5, "base_timestamp": 9}
    data = b"".join(encode_record(Record(5 + i, 9, None, value), **base) for i, value in enumerate(values))
    assert decode_values(data, len(values)) == values


@pytest.mark.parametrize(
    "odd",
    [
        Record(101, 1_000_001, None, b"v"),
        Record(102, 1_000_000, None, b"v"),
        Record(101, 1_000_000, b"", b"v"),
        Record(101, 1_000_000, None, None),
        Record(101, 1_000_000, None, b"v", (("h", b""),)),
    ],
    ids=["timestamp", "gap", "key", "null", "header"],
)
def test_records_of_another_shape_are_left_to_the_general_reader(odd):
    assert decode_values(encode(Record(100, 1_000_000, None, b"v"), odd), 2) is None
