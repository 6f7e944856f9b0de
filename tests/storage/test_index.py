import pytest
from hypothesis import given
from hypothesis import strategies as st
from storage_files import LOGS, label

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.index import (
    OffsetIndex,
    TimeIndex,
    first_misfit,
    format_offset_index,
    format_time_index,
    parse_offset_index,
    parse_time_index,
    rebuild_indexes,
)


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_indexes_are_rebuilt_byte_for_byte(path):
    offsets, times = rebuild_indexes(read_batches(path.read_bytes()), base_offset=0)
    assert format_offset_index(offsets) == path.with_suffix(".index").read_bytes()
    assert format_time_index(times) == path.with_suffix(".timeindex").read_bytes()
    assert first_misfit(offsets, read_batches(path.read_bytes())) is None


def batches(*timestamps, size=2000, base_offset=50):
    data = b""
    for index, timestamp in enumerate(timestamps):
        offset = base_offset + 2 * index
        data += build_batch([Record(offset, timestamp, None, bytes(size))], base_offset=offset, last_offset=offset + 1)
    return list(read_batches(data))


def test_an_entry_stands_at_the_first_batch_beyond_the_interval():
    all_batches = batches(10, 20, 30, 40, 50, 60, 70)
    size = all_batches[0].size
    # More than 4096 bytes lie before the third batch, then before the sixth.
    offsets, times = rebuild_indexes(all_batches, base_offset=50)
    assert offsets.entries == ((55, 2 * size), (59, 4 * size), (63, 6 * size))
    assert times.entries == ((30, 55), (50, 59), (70, 63))
    assert rebuild_indexes(all_batches, base_offset=50, interval_bytes=10 * size)[0].entries == ()


def test_a_batch_exactly_at_the_interval_gets_no_entry():
    all_batches = batches(10, 20, 30)
    size = all_batches[0].size
    assert rebuild_indexes(all_batches, base_offset=50, interval_bytes=size)[0].entries == ((55, 2 * size),)
    assert rebuild_indexes(all_batches, base_offset=50, interval_bytes=size - 1)[0].entries[0] == (53, size)


def test_the_time_index_ends_with_the_largest_timestamp_and_its_first_batch():
    assert rebuild_indexes(batches(10, 90, 90, 20), base_offset=50)[1].entries == ((90, 53),)
    assert rebuild_indexes(batches(-1, -1), base_offset=50)[1].entries == ()
    assert rebuild_indexes([], base_offset=50)[1].entries == ()


@given(st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 1000)), max_size=20), st.integers(0, 5))
def test_parse_is_the_inverse_of_format(steps, zeros):
    entries, offset, position = [], 7, 0
    for offset_step, position_step in steps:
        offset, position = offset + offset_step, position + position_step
        entries.append((offset, position))
    offsets = OffsetIndex(base_offset=7, entries=tuple(entries), preallocated_bytes=8 * zeros)
    assert parse_offset_index(format_offset_index(offsets), base_offset=7, file="index") == offsets
    times = TimeIndex(base_offset=7, entries=tuple((time, at) for at, time in entries), preallocated_bytes=12 * zeros)
    assert parse_time_index(format_time_index(times), base_offset=7, file="timeindex") == times


def test_the_zeros_of_a_preallocated_file_are_kept():
    index = parse_offset_index(bytes.fromhex("0000000500001020") + bytes(65528), base_offset=100, file="index")
    assert (index.entries, index.preallocated_bytes) == (((105, 0x1020),), 65528)
    times = parse_time_index(bytes(65532), base_offset=100, file="timeindex")
    assert (times.entries, times.preallocated_bytes) == ((), 65532)


@pytest.mark.parametrize(
    ("data", "reason", "offset"),
    [
        ("00000001", "4 bytes are not a whole number of entries of 8", 0),
        ("0000000100000010" + "0000000100000020", r"entry 1 \(relative offset 1, position 32\)", 8),
        ("0000000200000010" + "0000000300000010", "entry 1", 8),
        ("ffffffff00000010", "entry 0", 0),
        ("0000000200000010" + "00" * 8 + "0000000300000020", "entry 1", 8),
    ],
)
def test_offset_indexes_that_do_not_rise_are_corrupt(data, reason, offset):
    with pytest.raises(CorruptFileError, match=f"x.index: {reason}") as caught:
        parse_offset_index(bytes.fromhex(data), base_offset=0, file="x.index")
    assert caught.value.offset == offset


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("00" * 13, "13 bytes are not a whole number of entries of 12"),
        ("000000000000000500000001000000000000000500000002", "entry 1"),
        ("000000000000000500000002000000000000000600000001", "entry 1"),
        ("ffffffffffffffff00000002", "entry 0"),
    ],
)
def test_time_indexes_that_fall_are_corrupt(data, reason):
    with pytest.raises(CorruptFileError, match=reason):
        parse_time_index(bytes.fromhex(data), base_offset=0, file="x.timeindex")


def test_an_index_of_another_segment_is_noticed():
    all_batches = batches(10, 20, 30, 40)
    offsets, _ = rebuild_indexes(all_batches, base_offset=50)
    wrong = OffsetIndex(base_offset=50, entries=(*offsets.entries, (99, 9999)))
    assert first_misfit(wrong, all_batches) == (99, 9999)
