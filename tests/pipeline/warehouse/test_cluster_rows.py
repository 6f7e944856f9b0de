"""A worker reads the rows of one cluster, by part and column."""

import pyarrow as pa
from pyarrow import parquet

from falkirk.pipeline.tables.metadata_state import TOPICS
from falkirk.pipeline.warehouse import cluster_rows
from falkirk.pipeline.warehouse.cluster_rows import rows_in_files, rows_in_memory
from falkirk.pipeline.warehouse.warehouse import Warehouse

PATH = "cluster=a/file.parquet"


def place_with(tmp_path, rows, row_group_size=None):
    place = Warehouse.make(str(tmp_path / "w"))
    (tmp_path / "w" / "topics" / "cluster=a").mkdir(parents=True)
    parquet.write_table(rows, tmp_path / "w" / "topics" / PATH, row_group_size=row_group_size)
    return place


def test_a_column_that_an_older_file_lacks_is_null(tmp_path):
    place = place_with(tmp_path, pa.table({"name": ["t"]}))
    with rows_in_files(place, {"topics": [PATH]}) as rows:
        found = rows.read(TOPICS, "name", "partitions")
    assert found.schema.types == [pa.string(), pa.int32()]
    assert found.to_pylist() == [{"name": "t", "partitions": None}]


def test_a_type_that_an_older_file_has_is_cast(tmp_path):
    place = place_with(tmp_path, pa.table({"partitions": pa.array([3], pa.int64())}))
    with rows_in_files(place, {"topics": [PATH]}) as rows:
        assert rows.read(TOPICS, "partitions")["partitions"].type == pa.int32()


def test_parts_are_row_groups_and_columns_of_small_ones_are_read_once(tmp_path, monkeypatch):
    place = place_with(tmp_path, pa.table({"name": ["a", "b", "c"], "topic_id": ["x", "y", "z"]}), row_group_size=2)
    loads = []
    load = cluster_rows._load
    monkeypatch.setattr(cluster_rows, "_load", lambda *told: loads.append(told[1:]) or load(*told))
    with rows_in_files(place, {"topics": [PATH]}) as rows:
        assert [part.count for part in rows.parts(TOPICS)] == [2, 1]
        assert rows.read(TOPICS, "name")["name"].to_pylist() == ["a", "b", "c"]
        assert rows.read(TOPICS, "topic_id", "name").to_pylist()[2] == {"topic_id": "z", "name": "c"}
        assert loads == [(0, ["name"]), (1, ["name"]), (0, ["topic_id"]), (1, ["topic_id"])]
        monkeypatch.setattr(cluster_rows, "_KEPT_ROWS", 0)
    with rows_in_files(place, {"topics": [PATH]}) as rows:
        for _ in range(2):
            assert rows.read(TOPICS, "name").num_rows == 3
    assert len(loads) == 8


def test_a_table_without_files_has_no_rows(tmp_path):
    with rows_in_files(Warehouse.make(str(tmp_path / "w")), {}) as rows:
        assert rows.read(TOPICS, "name").to_pylist() == []
    assert list(rows_in_memory({"topics": TOPICS.schema.empty_table()}).parts(TOPICS)) == []
