"""Every log and snapshot in tests/data, damaged ones too, read by columns and by rows."""

import pytest
from columnar_cases import all_files
from row_reference import group_rows, metadata_rows, record_rows, rows_of

from falkirk.columnar.group_tables import GROUP_TABLES, iter_group_tables
from falkirk.columnar.metadata_tables import METADATA_TABLES, OTHER, iter_metadata_tables
from falkirk.columnar.records import records
from falkirk.columnar.report import ReadReport
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import HEADER_BYTES

TYPED = frozenset(METADATA_TABLES) - {OTHER}


@pytest.mark.slow
def test_records_of_every_file_are_those_of_the_row_reader():
    assert len(all_files()) > 800
    damaged = 0
    for path, data in all_files().items():
        report = ReadReport()
        found = rows_of(records(data, headers=True, report=report))
        wanted, is_whole = sound_rows(data)
        assert found == wanted, path
        assert is_whole != bool(report.problems), path
        damaged += not is_whole
    assert damaged > 10


@pytest.mark.slow
def test_metadata_of_every_file_is_that_of_the_row_codec():
    read = read_tables(METADATA_TABLES, iter_metadata_tables, is_metadata)
    assert len(read) > 100
    for path, found in read.items():
        assert found == metadata_rows(all_files()[path], TYPED), path


def test_groups_of_every_file_are_those_of_the_row_codec():
    read = read_tables(GROUP_TABLES, iter_group_tables, lambda path: "__consumer_offsets-" in path)
    assert len(read) > 20
    for path, found in read.items():
        assert found == group_rows(all_files()[path]), path


def is_metadata(path):
    return path.endswith(".checkpoint") or "__cluster_metadata" in path or "/meta/" in path


def read_tables(schemas, read, is_wanted):
    """The tables of all files of a kind that are not damaged."""
    tables = {}
    for path, data in all_files().items():
        report = ReadReport()
        if is_wanted(path):
            found = {table: [] for table in schemas}
            for table, batch in read(data, report=report):
                batch.validate(full=True)
                found[table] += batch.to_pylist()
            if not report.problems:
                tables[path] = found
            else:
                assert path.startswith("dump/"), path
    return tables


def sound_rows(data):
    """The rows of the sound batches up to the first broken header; whether that is all of the file."""
    rows, position, is_whole = [], 0, True
    while position < len(data):
        length = int.from_bytes(data[position + 8 : position + 12], "big", signed=True)
        end = position + 12 + length
        if length < HEADER_BYTES - 12 or end > len(data) or data[position + 16] != 2:
            return rows, False
        try:
            rows += [row for row, _ in record_rows(data[position:end], file_position=position)]
        except RemoteProtocolError:
            is_whole = False
        position = end
    return rows, is_whole
