"""Records for clients from before Kafka 0.11."""

import pytest
from hypothesis import given
from record_strategies import batches

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.down_conversion import NotConvertibleError, down_converted
from falkirk.protocol.message_set import read_messages
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches

RECORDS = [
    Record(offset=offset, timestamp=100 + offset, key=key, value=value, headers=(("h", b"1"),))
    for offset, key, value in ((5, None, b"a"), (6, b"k", None), (8, b"", b""))
]


def told(data):
    """Return what an old client reads: offset, timestamp, key, value."""
    return [(message.offset, message.timestamp, message.key, message.value) for message in read_messages(data)]


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_records_become_messages_without_their_headers(codec):
    data = build_batch(RECORDS, base_offset=5, compression=codec)
    assert told(down_converted(data, magic=1, first_offset=0)) == [
        (5, 105, None, b"a"),
        (6, 106, b"k", None),
        (8, 108, b"", b""),
    ]
    assert [message[1] for message in told(down_converted(data, magic=0, first_offset=0))] == [-1, -1, -1]


def test_records_before_the_wanted_offset_are_left_out():
    data = build_batch(RECORDS, base_offset=5)
    assert [offset for offset, *_ in told(down_converted(data, magic=1, first_offset=6))] == [6, 8]


def test_a_cut_off_batch_and_control_records_are_dropped():
    data = build_batch(RECORDS, base_offset=5) + build_batch(RECORDS, base_offset=5, is_control=True)
    assert len(told(down_converted(data, magic=1, first_offset=0))) == 3
    assert len(told(down_converted(data + data[:-1], magic=1, first_offset=0))) == 6
    assert down_converted(data[:30], magic=1, first_offset=0) == b""


def test_append_time_is_told_as_such():
    data = build_batch(RECORDS, base_offset=5, log_append_time=77)
    messages = list(read_messages(down_converted(data, magic=1, first_offset=0)))
    assert {(message.timestamp, message.is_log_append_time) for message in messages} == {(77, True)}


def test_zstd_cannot_be_told():
    with pytest.raises(NotConvertibleError):
        down_converted(build_batch(RECORDS, base_offset=5, compression=Compression.ZSTD), magic=1, first_offset=0)


@given(batches())
def test_nothing_but_what_has_no_place_there_is_lost(data):
    (batch,) = read_batches(data)
    if batch.compression is Compression.ZSTD or batch.is_control:
        return
    expected = [(record.offset, record.timestamp, record.key, record.value) for record in batch.records()]
    assert told(down_converted(data, magic=1, first_offset=0)) == expected
