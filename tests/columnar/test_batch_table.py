"""Bytes that are no whole, sound batches: told by their byte, never guessed at."""

import random

import pytest
from columnar_cases import data_files
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st
from record_strategies import batches as batch_bytes
from row_reference import record_rows, rows_of

from falkirk.columnar.batch_table import iter_batch_tables
from falkirk.columnar.records import records
from falkirk.columnar.report import ReadReport
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import ATTRIBUTES_AT, CRC_AT, read_batch, read_batches


def batch_at(offset, values=(b"some value",)):
    return build_batch(
        [Record(offset + index, 5, None, value) for index, value in enumerate(values)], base_offset=offset
    )


def sealed(batch):
    """A batch with the CRC of what it holds."""
    batch[CRC_AT:ATTRIBUTES_AT] = crc32c(bytes(batch[ATTRIBUTES_AT:])).to_bytes(4, "big")
    return bytes(batch)


def read(data, **options):
    report = ReadReport()
    rows = rows_of(records(data, report=report, **options))
    return rows, report


def test_a_torn_tail_is_told_by_its_byte_whatever_is_left_of_it():
    whole, last = batch_at(0), batch_at(1)
    for left in range(1, len(last)):
        rows, report = read(whole + last[:left])
        assert [row["offset"] for row in rows] == [0]
        assert report.torn_at == len(whole)
        assert [problem.kind for problem in report.problems] == ["torn tail"]


def test_a_torn_tail_is_told_by_the_byte_of_the_file():
    data = batch_at(0)
    assert read(data + data[:-1], file_position=1000)[1].torn_at == 1000 + len(data)


def test_a_corrupt_batch_is_left_out_and_the_next_ones_are_read():
    parts = [batch_at(offset) for offset in range(3)]
    broken = bytearray(parts[1])
    broken[-3] ^= 0x10
    rows, report = read(parts[0] + broken + parts[2], file_position=10)
    assert [row["offset"] for row in rows] == [0, 2]
    (problem,) = report.problems
    assert (problem.kind, problem.position, problem.offset) == ("corrupt batch", 10 + len(parts[0]), 1)
    assert "CRC" in problem.reason
    assert report.torn_at is None


def test_the_crc_is_not_checked_if_nobody_wants_it():
    broken = bytearray(batch_at(0))
    broken[17] ^= 1
    assert read(bytes(broken))[0] == []
    assert len(list(iter_batch_tables(bytes(broken), ReadReport(), check_crc=False))) == 1


@pytest.mark.parametrize("magic", [0, 1, 3, 255])
def test_a_wrong_magic_ends_the_read(magic):
    broken = bytearray(batch_at(1))
    broken[16] = magic
    rows, report = read(batch_at(0) + bytes(broken) + batch_at(2))
    assert [row["offset"] for row in rows] == [0]
    (problem,) = report.problems
    assert problem.kind == "corrupt batch"
    assert problem.position == len(batch_at(0)) + 16
    assert "magic" in problem.reason


@pytest.mark.parametrize("length", [-1, 0, 48])
def test_an_impossible_length_ends_the_read(length):
    broken = bytearray(batch_at(1))
    broken[8:12] = length.to_bytes(4, "big", signed=True)
    rows, report = read(batch_at(0) + bytes(broken) + batch_at(2))
    assert [row["offset"] for row in rows] == [0]
    assert [(problem.kind, problem.position) for problem in report.problems] == [
        ("corrupt batch", len(batch_at(0)) + 8)
    ]


def test_a_length_beyond_the_buffer_is_a_torn_tail():
    broken = bytearray(batch_at(0))
    broken[8:12] = (0x7FFFFFFF).to_bytes(4, "big")
    assert read(bytes(broken))[1].torn_at == 0


@pytest.mark.parametrize(
    ("at", "value"),
    [(0, b"\xff" * 8), (23, b"\xff" * 4), (57, b"\xff" * 4), (57, b"\x7f\xff\xff\xff"), (57, b"\x00\x00\x00\x02")],
    ids=["negative base offset", "negative delta", "negative count", "huge count", "more records than offsets"],
)
def test_impossible_header_fields_are_found_though_the_crc_fits(at, value):
    broken = bytearray(batch_at(0))
    broken[at : at + len(value)] = value
    with pytest.raises(RemoteProtocolError):
        read_batch(memoryview(bytes(broken)), 0, check_crc=False).records()
    rows, report = read(sealed(broken) + batch_at(1))
    assert [row["offset"] for row in rows] == [1]
    assert [problem.kind for problem in report.problems] == ["corrupt batch"]


@pytest.mark.slow
@given(st.data())
def test_damage_that_the_crc_covers_up_gives_what_the_row_reader_gives(data):
    parts = [bytearray(part) for part in data.draw(st.lists(batch_bytes(), min_size=1, max_size=3))]
    for part in parts:
        for _ in range(data.draw(st.integers(0, 3))):
            # Behind length, magic and CRC.
            at = data.draw(st.integers(ATTRIBUTES_AT, len(part) - 1))
            part[at] ^= 1 << data.draw(st.integers(0, 7))
        sealed(part)
    wanted, refused = [], 0
    position = 0
    for part in parts:
        try:
            rows = record_rows(bytes(part), file_position=position)
        except RemoteProtocolError:
            refused += 1
        else:
            wanted += [row for row, _ in rows]
        position += len(part)
    found, report = read(b"".join(bytes(part) for part in parts), headers=True)
    assert found == wanted
    assert [problem.kind for problem in report.problems] == ["corrupt batch"] * refused
    assert not any("disagree" in problem.reason for problem in report.problems)


@given(st.binary(max_size=300))
def test_any_bytes_give_rows_or_problems_and_never_another_error(data):
    report = ReadReport()
    rows_of(records(data, headers=True, report=report))
    assert bool(report.problems) == bool(data)


@pytest.mark.parametrize("name", list(data_files())[:6])
def test_chunks_of_any_size_give_the_same_batches(name):
    data = data_files()[name]
    positions = [batch.position for batch in read_batches(data)]
    for chunk_bytes in (1, 100, 5000, 1 << 20):
        tables = list(iter_batch_tables(data, ReadReport(), chunk_bytes=chunk_bytes))
        assert [int(position) for table in tables for position in table.position] == positions


def test_many_tiny_batches_are_read():
    rng = random.Random(5)
    parts = [batch_at(offset, [rng.randbytes(rng.randrange(40))]) for offset in range(3000)]
    rows, report = read(b"".join(parts))
    assert [row["offset"] for row in rows] == list(range(3000))
    assert report.batches == 3000
