"""All batches and records as columns, against the row reader."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_strategies import batches as batch_bytes
from row_reference import record_rows, rows_of

from falkirk.columnar import arrow_arrays
from falkirk.columnar.records import records
from falkirk.columnar.report import ReadReport
from falkirk.columnar.schemas import RECORDS, RECORDS_WITH_HEADERS
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches


def wanted(data, *, headers=True, file_position=0):
    rows = [dict(row) for row, _ in record_rows(data, file_position=file_position)]
    if not headers:
        for row in rows:
            del row["headers"]
    return rows


def sound_records(data, **options):
    report = ReadReport()
    found = list(records(data, report=report, **options))
    assert report.problems == []
    return found


@pytest.mark.slow
@given(st.lists(batch_bytes(), min_size=1, max_size=4))
def test_any_records_are_those_of_the_row_reader(parts):
    data = b"".join(parts)
    assert rows_of(sound_records(data, headers=True)) == wanted(data)


def test_positions_count_in_the_file_that_the_buffer_was_cut_from():
    data = build_batch([Record(3, 5, b"k", b"v"), Record(4, 5)], base_offset=3)
    rows = rows_of(sound_records(data, file_position=1000))
    assert rows == wanted(data, headers=False, file_position=1000)


@pytest.mark.slow
def test_whatever_has_the_buffer_protocol_can_be_read():
    data = build_batch([Record(0, 5, b"k", b"v")], base_offset=0)
    for buffer in (bytearray(data), memoryview(data), memoryview(b"x" + data)[1:]):
        assert rows_of(sound_records(buffer)) == wanted(data, headers=False)


def test_an_empty_buffer_has_no_records():
    assert rows_of(sound_records(b"")) == []


def test_a_batch_that_the_cleaner_emptied_has_no_records():
    from falkirk.protocol.batch_filter import filter_batch

    batch = next(read_batches(build_batch([Record(0, 5, b"k", b"v")], base_offset=0)))
    data = filter_batch(batch, lambda _: False, retain_empty=True)
    assert rows_of(sound_records(data)) == []
    assert rows_of(sound_records(data + bytes(batch.data)))[0]["value"] == b"v"


def test_long_values_are_views_of_the_buffer_and_not_copies():
    value = bytes(range(256)) * 40
    data = build_batch([Record(0, 5, b"short", value)], base_offset=0)
    (batch,) = sound_records(data)
    column = batch.column("value")
    assert column[0].as_py() == value
    assert sum(buffer.size for buffer in column.buffers()[:2] if buffer) < 64
    assert column.buffers()[2].size == len(data)


def test_offsets_of_views_beyond_their_bits_count_in_a_later_buffer(monkeypatch):
    monkeypatch.setattr(arrow_arrays, "_VIEW_SHIFT", 6)
    values = [None, b"", *(bytes([index]) * index for index in range(1, 60))]
    data = build_batch([Record(index, 5, None, value) for index, value in enumerate(values)], base_offset=0)
    (batch,) = sound_records(data)
    batch.validate(full=True)
    assert batch.column("value").to_pylist() == values


@pytest.mark.parametrize("count", [1, 63, 64, 65, 5000])
def test_a_record_with_many_headers_is_read(count):
    headers = tuple((f"h{index}", None if index % 3 else b"v" * (index % 50)) for index in range(count))
    data = build_batch([Record(0, 5, b"k", b"v", headers), Record(1, 5, b"k", b"v", headers[:1])], base_offset=0)
    assert rows_of(sound_records(data, headers=True)) == wanted(data)


def test_sequence_numbers_wrap_around():
    data = build_batch(
        [Record(index, 5) for index in range(4)],
        base_offset=0,
        producer_id=1,
        producer_epoch=0,
        base_sequence=0x7FFFFFFE,
    )
    assert [row["sequence"] for row in rows_of(sound_records(data))] == [0x7FFFFFFE, 0x7FFFFFFF, 0, 1]


def test_a_report_counts_what_was_read():
    report = ReadReport()
    data = build_batch([Record(0, 5), Record(1, 5)], base_offset=0)
    control = build_batch([Record(2, 5, bytes(4), bytes(6))], base_offset=2, is_control=True)
    list(records(data + control, report=report))
    assert (report.batches, report.records, report.control_records, report.problems) == (2, 3, 1, [])


def test_every_column_says_what_it_is():
    for schema in (RECORDS, RECORDS_WITH_HEADERS):
        assert [field.name for field in schema if not field.metadata[b"comment"]] == []


def test_a_problem_names_its_byte():
    data = bytearray(build_batch([Record(0, 5, b"k", b"v")], base_offset=0))
    data[-1] ^= 1
    report = ReadReport()
    assert list(records(bytes(data), report=report, file_position=50)) == []
    assert [problem.position for problem in report.problems] == [50]
    assert "CRC" in report.problems[0].reason
