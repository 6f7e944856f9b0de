"""The data files that workers write."""

import pytest
from pyarrow import parquet

from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse import data_files
from falkirk.pipeline.warehouse.data_files import DataFileWriter
from falkirk.pipeline.warehouse.warehouse import Warehouse


@pytest.fixture
def written(tmp_path):
    """Write batches of metadata records; return the file's metadata."""

    def write(*batches):
        warehouse = Warehouse.make(str(tmp_path / "w"))
        with DataFileWriter(warehouse, "a") as writer:
            for rows in batches:
                writer.write_rows("metadata_records", rows)
            [file] = writer.close()
        return parquet.ParquetFile(tmp_path / "w" / file.path).metadata

    return write


def records(count, **fields):
    return [{"offset": offset, "position": 0, "record_name": "TopicRecord", **fields} for offset in range(count)]


def test_columns_that_hardly_repeat_have_no_dictionary(written):
    group = written(records(3, json="{}")).row_group(0)
    columns = [group.column(index) for index in range(group.num_columns)]
    with_dictionary = {column.path_in_schema for column in columns if column.has_dictionary_page}
    assert {"record_name", "source", "partition.replicas.list.element"} <= with_dictionary
    assert with_dictionary.isdisjoint({"offset", "position", "json", "key"})
    encodings = {column.path_in_schema: column.encodings for column in columns}
    assert "DELTA_BINARY_PACKED" in encodings["offset"]


def test_bounds_are_kept_of_the_columns_that_are_searched_for(written):
    group = written(records(3)).row_group(0)
    bounds = {
        column.path_in_schema: (column.statistics.min, column.statistics.max)
        for column in map(group.column, range(group.num_columns))
        if column.is_stats_set and column.statistics.has_min_max
    }
    assert bounds == {"offset": (0, 2), "position": (0, 0), "record_name": ("TopicRecord", "TopicRecord")}


@pytest.mark.parametrize("limit", ["_GROUP_ROWS", "_GROUP_BYTES"])
def test_rows_are_gathered_into_groups_of_a_size(written, monkeypatch, limit):
    rows = records(10)
    monkeypatch.setattr(
        data_files, limit, 25 if limit == "_GROUP_ROWS" else 2 * TABLES["metadata_records"].rows(rows).nbytes
    )
    found = written(*[rows] * 5)
    counts = [found.row_group(index).num_rows for index in range(found.num_row_groups)]
    assert counts == ([30, 20] if limit == "_GROUP_ROWS" else [20, 20, 10])
