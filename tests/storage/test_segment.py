import random
from functools import partial

import pytest
from raised import raised
from storage_files import LOGS, STORAGE, label

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.record import Record
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.segment import SegmentFile, SegmentReader, format_segment_file, parse_segment_file

NAME = "t-0/00000000000000000100.log"


def batch(base_offset, *values, leader_epoch=2, codec=Compression.NONE, base=None):
    records = [Record(base_offset + index, 1000 + index, None, value) for index, value in enumerate(values)]
    return build_batch(records, base_offset=base_offset, leader_epoch=leader_epoch, compression=codec)


BATCHES = [batch(100, b"one", b"two"), batch(102, b"three" * 20, codec=Compression.GZIP), batch(103, b"four")]
SEGMENT = b"".join(BATCHES)
BORDERS = [len(b"".join(BATCHES[:count])) for count in range(4)]


def read(data, **options):
    reader = SegmentReader(data, file=NAME, base_offset=100, **options)
    return list(reader), reader


@pytest.mark.parametrize("path", LOGS, ids=label)
def test_segments_of_kafka_are_read_to_their_end(path):
    data = path.read_bytes()
    reader = SegmentReader(data, file=label(path), base_offset=0, contiguous="__cluster_metadata" in str(path))
    assert b"".join(bytes(found.data) for found in reader) == data
    assert (reader.torn, reader.end_position, reader.is_finished) == (None, len(data), True)


def test_a_clean_segment_says_where_it_ends():
    found, reader = read(SEGMENT)
    assert [item.base_offset for item in found] == [100, 102, 103]
    assert (reader.end_offset, reader.end_position, reader.leader_epoch, reader.torn) == (104, len(SEGMENT), 2, None)


def test_an_empty_segment_ends_where_it_begins():
    found, reader = read(b"")
    assert (found, reader.end_offset, reader.torn, reader.is_finished) == ([], 100, None, True)


def test_every_truncation_is_torn_at_the_last_whole_batch():
    for size in range(len(SEGMENT) + 1):
        found, reader = read(SEGMENT[:size])
        whole = max(index for index, border in enumerate(BORDERS) if border <= size)
        assert len(found) == whole
        if size == BORDERS[whole]:
            assert reader.torn is None
        else:
            assert (reader.torn.position, reader.torn.size) == (BORDERS[whole], size)
            assert str(reader.torn).startswith(f"torn at byte {BORDERS[whole]} of {size}: ")


def test_the_reason_of_a_torn_tail_is_told():
    assert "30 bytes are left, a batch has a header of 61" in str(read(SEGMENT[: BORDERS[1] + 30])[1].torn)
    size = len(BATCHES[1])
    assert f"batch of offset 102 takes {size} bytes, {size - 1} are left" in str(
        read(SEGMENT[: BORDERS[2] - 1])[1].torn
    )


@pytest.mark.parametrize("zeros", [1, 16, 17, 60, 61, 100, 5_000_000])
def test_zeros_of_a_preallocated_file_are_a_torn_tail(zeros):
    found, reader = read(SEGMENT + bytes(zeros))
    assert len(found) == 3
    assert reader.torn.position == len(SEGMENT)
    assert "zeros" in reader.torn.reason


def test_a_batch_whose_end_never_reached_the_disk_is_a_torn_tail():
    big = batch(104, random.Random(1).randbytes(4000))
    found, reader = read(SEGMENT + big[:2000] + bytes(len(big) - 2000))
    assert len(found) == 3
    assert "not written beyond byte" in reader.torn.reason
    assert read(SEGMENT + big[:2000] + bytes(100_000))[1].torn.position == len(SEGMENT)


def test_such_a_batch_in_the_middle_is_corrupt():
    big = batch(104, random.Random(1).randbytes(4000))
    with pytest.raises(CorruptFileError, match="CRC"):
        read(SEGMENT + big[:2000] + bytes(len(big) - 2000) + batch(105, b"next"))


def test_every_single_bit_flip_is_named_with_file_byte_and_batch():
    """Contiguous, as a metadata log is: only an epoch that still fits its neighbours escapes."""
    escaped = set()
    for bit in range(len(SEGMENT) * 8):
        flipped = bytearray(SEGMENT)
        flipped[bit // 8] ^= 1 << bit % 8
        index = max(index for index, border in enumerate(BORDERS) if border <= bit // 8)
        error = raised(CorruptFileError, partial(read, flipped, contiguous=True))
        if error is not None:
            # An epoch that rose is noticed at the next batch.
            assert BORDERS[index] <= error.offset < BORDERS[min(index + 1, 2)] + 61
            assert str(error).startswith(f"{NAME}: ")
            assert f"(byte {error.offset})" in str(error)
            continue
        found, reader = read(flipped, contiguous=True)
        assert reader.torn is None
        assert 12 <= bit // 8 - BORDERS[index] < 16
        escaped.add((index, found[index].leader_epoch > 2))
    assert escaped == {(0, False), (2, True)}


def test_a_flipped_bit_of_a_batch_gives_its_base_offset():
    flipped = bytearray(SEGMENT)
    flipped[BORDERS[1] + 70] ^= 4
    with pytest.raises(CorruptFileError, match=f"{NAME}: CRC of the batch of offset 102 .*byte {BORDERS[1]}") as caught:
        read(flipped)
    assert caught.value.offset == BORDERS[1]


def test_a_length_that_reaches_beyond_the_file_is_no_torn_tail_if_batches_follow():
    flipped = bytearray(SEGMENT)
    flipped[BORDERS[1] + 8] ^= 0x10
    reason = f"a valid batch follows at byte {BORDERS[2]}"
    with pytest.raises(CorruptFileError, match=reason) as caught:
        read(flipped)
    assert caught.value.offset == BORDERS[1]


def test_a_length_that_reaches_beyond_the_file_is_no_torn_tail_if_the_last_batch_is_whole():
    flipped = bytearray(SEGMENT)
    flipped[BORDERS[2] + 9] ^= 0x10
    with pytest.raises(CorruptFileError, match="the length is wrong"):
        read(flipped)


def test_offsets_may_have_gaps_but_must_rise():
    data = batch(105, b"a") + batch(120, b"b")
    assert read(data)[1].end_offset == 121
    with pytest.raises(CorruptFileError, match="begins at offset 105, 100 was expected"):
        read(data, contiguous=True)
    for wrong in (batch(99, b"a"), batch(105, b"a") + batch(105, b"b")):
        with pytest.raises(CorruptFileError, match="was expected"):
            read(wrong)


def test_epochs_of_a_metadata_log_do_not_fall():
    data = batch(100, b"a", leader_epoch=5) + batch(101, b"b", leader_epoch=4)
    assert len(read(data)[0]) == 2
    with pytest.raises(CorruptFileError, match="offset 101 has leader epoch 4 after 5"):
        read(data, contiguous=True)


def test_without_crc_only_the_frames_are_checked():
    flipped = bytearray(SEGMENT)
    flipped[BORDERS[0] + 70] ^= 4
    assert len(read(flipped, check_crc=False)[0]) == 3


def test_old_message_sets_are_named():
    with pytest.raises(CorruptFileError, match="message set of magic 1"):
        read(SEGMENT + bytes(11) + b"\x20" + bytes(4) + b"\x01" + b"x" * 40)


def test_garbage_behind_the_batches_is_corrupt():
    with pytest.raises(CorruptFileError, match="magic 120, 2 was expected"):
        read(SEGMENT + b"x" * 100)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("00000000000000000042.log", SegmentFile(base_offset=42, kind="log")),
        ("00000000000000000000.timeindex", SegmentFile(base_offset=0, kind="timeindex")),
        ("00000000000000000007.txnindex.deleted", SegmentFile(base_offset=7, kind="txnindex", marker="deleted")),
        ("09223372036854775807.log.swap", SegmentFile(base_offset=(1 << 63) - 1, kind="log", marker="swap")),
        ("00000000000000000007.index.cleaned", SegmentFile(base_offset=7, kind="index", marker="cleaned")),
        ("00000000000000000453.snapshot", SegmentFile(base_offset=453, kind="snapshot")),
    ],
)
def test_names_are_read_and_written(name, file):
    assert parse_segment_file(name) == file
    assert format_segment_file(file) == name


@pytest.mark.parametrize(
    "name",
    [
        "42.log",
        "00000000000000000042.txt",
        "0000000000000000004x.log",
        "00000000000000000042.log.",
        "99999999999999999999.log",
    ],
)
def test_other_names_are_none(name):
    assert parse_segment_file(name) is None


def test_the_torn_tail_of_a_real_log_is_found():
    data = (STORAGE / "4.3.1/n1/__cluster_metadata-0/00000000000000000000.log").read_bytes()
    reader = SegmentReader(data[:-1], file="log", base_offset=0, contiguous=True)
    assert sum(1 for _ in reader) == 213
    assert reader.torn.size == len(data) - 1
