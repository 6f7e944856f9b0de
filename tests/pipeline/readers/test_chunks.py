"""Ranges and buffers of whole batches: together they are the file, whatever their size, and the tail is told."""

import pytest
from columnar_cases import all_files
from hypothesis import given
from hypothesis import strategies as st

from falkirk.columnar.batch_table import iter_batch_tables
from falkirk.columnar.report import ReadReport
from falkirk.pipeline.filesystem import Location
from falkirk.pipeline.readers.chunks import iter_chunks
from falkirk.pipeline.readers.splits import split_batches, split_file
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record
from falkirk.storage.batch_borders import iter_borders
from falkirk.storage.memory_disk import MemoryDisk

PATH = "/log"


class CountingDisk(MemoryDisk):
    """Keeps the ranges that were read."""

    def __init__(self, data):
        super().__init__()
        self.write(PATH, [data])
        self.ranges = []

    def read(self, path, position=0, length=None):
        found = super().read(path, position, length)
        self.ranges.append((position, len(found)))
        return found


def place(disk):
    return Location(disk=disk, path=PATH, uri=PATH)


def batch(offset, payload=b"", *, count=1):
    records = [Record(offset + index, 1000, None, payload) for index in range(count)]
    return build_batch(records, base_offset=offset)


def read(data, **options):
    """The chunks of a range, and its problems."""
    report = ReadReport()
    chunks = [(chunk.position, bytes(chunk.data)) for chunk in iter_chunks(CountingDisk(data), PATH, report, **options)]
    return chunks, [(problem.kind, problem.position, problem.reason) for problem in report.problems]


SIZES = st.lists(st.integers(0, 3000), min_size=1, max_size=20)


@given(SIZES, st.integers(1, 5000), st.integers(1, 5000), st.integers(61, 3000))
def test_ranges_and_chunks_of_any_size_are_the_file_cut_between_batches(sizes, split_bytes, chunk_bytes, block_bytes):
    batches = [batch(offset, bytes(size)) for offset, size in enumerate(sizes)]
    data = b"".join(batches)
    ends = {0} | {sum(map(len, batches[: index + 1])) for index in range(len(batches))}
    disk = CountingDisk(data)
    assert {0, *iter_borders(disk, PATH, 0, len(data), block_bytes=block_bytes)} == ends
    ranges = split_file(place(disk), split_bytes)
    assert [each.start for each in ranges] == [0, *(each.end for each in ranges[:-1])]
    assert ranges[-1].end == len(data)
    assert all(each.end - each.start >= split_bytes for each in ranges[:-1])
    found = []
    for each in ranges:
        assert {each.start, each.end} <= ends
        chunks, problems = read(data, start=each.start, end=each.end, chunk_bytes=chunk_bytes)
        assert not problems
        assert all(position in ends for position, _ in chunks)
        found += [chunk for _, chunk in chunks]
    assert b"".join(found) == data


def test_a_batch_larger_than_a_chunk_is_a_chunk_of_its_own():
    small, large = batch(0, b"x"), batch(1, bytes(10_000))
    chunks, problems = read(small + large + small, chunk_bytes=200)
    assert chunks == [(0, small), (len(small), large), (len(small + large), small)]
    assert not problems


def test_a_file_of_one_range_is_not_read_to_plan_it():
    disk = CountingDisk(batch(0, bytes(1000)))
    assert len(split_file(place(disk), 5000)) == 1
    assert disk.ranges == []


def test_borders_are_found_by_blocks_and_not_by_a_request_for_each_batch():
    data = b"".join(batch(offset) for offset in range(1000))
    disk = CountingDisk(data)
    assert len(split_file(place(disk), 1000)) > 50
    assert len(disk.ranges) == 1


def test_of_batches_larger_than_a_block_only_the_blocks_at_their_heads_are_read():
    data = b"".join(batch(offset, bytes(100_000)) for offset in range(20))
    disk = CountingDisk(data)
    assert len(list(iter_borders(disk, PATH, 0, len(data), block_bytes=1000))) == 20
    assert sum(length for _, length in disk.ranges) == 20 * 1000


def test_the_end_of_a_torn_file_is_handed_to_the_last_range_and_told_once():
    whole = [batch(offset, bytes(100)) for offset in range(10)]
    data = b"".join(whole) + whole[0][:50]
    border = len(data) - 50
    ranges = split_file(place(CountingDisk(data)), 300)
    told = [problem for each in ranges for problem in read(data, start=each.start, end=each.end)[1]]
    reason = "50 bytes are left, a batch has a header of 61; the last 50 bytes of the file give no rows"
    assert told == [("torn tail", border, reason)]
    assert split_batches(place(CountingDisk(data)), 0, len(data), 300) == [*ranges[:-1], (ranges[-1].start, border)]


def test_a_file_without_a_whole_batch_has_one_range_if_all_of_it_is_wanted_and_none_else():
    disk = CountingDisk(b"x" * 500)
    assert split_file(place(disk), 100) == [(0, 500)]
    assert split_batches(place(disk), 0, 500, 100) == []
    assert split_file(place(CountingDisk(b"")), 100) == []


@pytest.mark.parametrize("zeros", [1, 61, 5000])
def test_zeros_behind_the_last_batch_are_a_torn_tail(zeros):
    data = batch(0) + bytes(zeros)
    assert [problem[:2] for problem in read(data)[1]] == [("torn tail", len(batch(0)))]


def test_a_wrong_length_with_a_sound_batch_behind_it_is_no_torn_tail():
    damaged = bytearray(batch(0, bytes(100)))
    damaged[8:12] = (100_000).to_bytes(4, "big")
    first = batch(7)
    data = first + bytes(damaged) + batch(1) + batch(2)
    [(kind, position, reason)] = read(data)[1]
    assert (kind, position) == ("corrupt batch", len(first))
    assert "a valid batch follows" in reason


@pytest.mark.parametrize(
    ("head", "kind", "at"),
    [(b"\0" * 100, "torn tail", 0), (b"#!/bin/sh\n" * 10, "corrupt batch", 16), (batch(0)[:8] + b"\x7f", "x", 8)],
)
def test_a_tail_too_long_to_be_searched_is_told_by_its_head(monkeypatch, head, kind, at):
    monkeypatch.setattr("falkirk.pipeline.readers.file_tail.TAIL_BYTES_MAX", 100)
    first = batch(7)
    if kind == "x":
        kind, head = "corrupt batch", head + batch(0)[9:]
    data = first + (head + bytes(200))[:200]
    [(found, position, reason)] = read(data)[1]
    assert (found, position) == (kind, len(first) + at)
    assert reason.endswith("; the last 200 bytes of the file give no rows")


def test_a_file_that_is_cut_while_it_is_read_is_told():
    data = batch(0) + batch(1)
    [(kind, position, reason)] = read(data, end=len(data) + 500)[1]
    assert (kind, position) == ("torn tail", len(data))
    assert reason == "the file became shorter while it was read; the last 500 bytes of the file give no rows"


@pytest.mark.parametrize("damage", [b"", b"junk" * 30])
def test_the_end_of_a_growing_file_is_its_last_whole_batch(damage):
    data = b"".join(batch(offset) for offset in range(5))
    disk = CountingDisk(data + damage)
    start = len(batch(0))
    assert split_batches(place(disk), start, len(data + damage)) == [(start, len(data))]
    assert split_batches(place(disk), start, len(data) - 1) == [(start, len(data) - len(batch(4)))]


@pytest.mark.slow
def test_chunks_of_every_file_have_the_batches_that_columns_find_in_the_whole():
    stopped = 0
    for path, data in all_files().items():
        whole, parts = ReadReport(), ReadReport()
        positions = [each for table in iter_batch_tables(data, whole) for each in table.position.tolist()]
        found = []
        for chunk in iter_chunks(CountingDisk(data), PATH, parts, chunk_bytes=700):
            for table in iter_batch_tables(chunk.data, parts, file_position=chunk.position):
                found += (table.position + chunk.position).tolist()
        assert found == positions, path
        places = [(problem.position, problem.offset) for problem in whole.problems]
        assert [(problem.position, problem.offset) for problem in parts.problems] in (places, zeros_told(places)), path
        stopped += bool(places)
    assert stopped > 10


def zeros_told(places):
    """Columns take zeros for a batch of magic 0, and name the byte of the magic; here the first zero is named."""
    return [*places[:-1], (places[-1][0] - 16, None)] if places else None
