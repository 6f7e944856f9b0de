"""Other engines read a warehouse by its Delta logs, at the same rows as Spark; a reader keeps its commit."""

import duckdb
import polars as pl
import pytest
from data_files import committed, put
from deltalake import DeltaTable
from py4j.java_collections import ListConverter

from falkirk.pipeline.ingest.run import ingest
from falkirk.pipeline.inventory import find_fleet
from falkirk.pipeline.made_fleet import FleetShape, make_fleet
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse import fleet_tables
from falkirk.pipeline.warehouse.fleet_tables import FleetTables
from falkirk.pipeline.warehouse.vacuum import vacuum
from falkirk.pipeline.warehouse.warehouse import Warehouse


def by_duckdb(warehouse, table, version=None):
    """Return rows by cluster, and the columns."""
    rows = DeltaTable(warehouse.table_uri(table), version=version).to_pyarrow_dataset()
    found = duckdb.from_arrow(rows)
    counts = found.aggregate("cluster, count(*)", "cluster").fetchall()
    return dict(counts), set(found.columns)


def by_polars(warehouse, table, version=None):
    found = pl.read_delta(warehouse.table_uri(table), version=version)
    return dict(found.group_by("cluster").len().rows()), set(found.columns)


def test_duckdb_and_polars_read_each_version_of_a_table(tmp_path):
    warehouse = Warehouse.make(str(tmp_path / "w"))
    committed(warehouse, "a", "one", "two")
    committed(warehouse, "b", "three")
    committed(warehouse, "a", "four")
    for read in (by_duckdb, by_polars):
        assert [read(warehouse, "topics", version)[0] for version in (0, 1, 2, None)] == [
            {"a": 2},
            {"a": 2, "b": 1},
            {"a": 1, "b": 1},
            {"a": 1, "b": 1},
        ]


@pytest.fixture(scope="module")
def warehouse(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    make_fleet(folder / "fleet", FleetShape(clusters=3, partitions=40))
    place = Warehouse.make(str(folder / "w"))
    ingest(spark, place, find_fleet([str(folder / "fleet")]))
    return place


@pytest.mark.slow
def test_paths_of_data_files_go_to_spark_at_once(spark, warehouse, monkeypatch):
    """Py4J takes a call for each element of a list."""
    convert = ListConverter.convert

    def counted(converter, found, gateway):
        assert not any(str(each).endswith(".parquet") for each in found)
        return convert(converter, found, gateway)

    monkeypatch.setattr(ListConverter, "convert", counted)
    assert FleetTables(spark, warehouse)["topics"].select("cluster").distinct().count() == 3


@pytest.mark.slow
@pytest.mark.parametrize("read", [by_duckdb, by_polars])
def test_every_table_has_the_same_rows_in_every_engine(spark, warehouse, read):
    tables = FleetTables(spark, warehouse)
    assert len(tables.mark.versions) > 10
    for table in tables.mark.versions:
        in_spark = {row["cluster"]: row["count"] for row in tables[table].groupBy("cluster").count().collect()}
        columns = {"cluster", *TABLES[table].schema.names}
        assert read(warehouse, table) == (in_spark, columns), table


@pytest.mark.slow
def test_times_and_structs_are_the_same_in_every_engine(spark, warehouse):
    tables = FleetTables(spark, warehouse)
    query = "select cluster, last_timestamp, chosen_node, nodes from {} order by cluster"
    rows = duckdb.from_arrow(DeltaTable(warehouse.table_uri("clusters")).to_pyarrow_dataset())
    found = rows.query("rows", query.format("rows")).to_arrow_table().to_pylist()
    tables["clusters"].createOrReplaceTempView("of_spark")
    of_spark = spark.sql(query.format("of_spark")).toArrow().to_pylist()
    of_polars = pl.read_delta(warehouse.table_uri("clusters"))
    of_polars = of_polars.select("cluster", "last_timestamp", "chosen_node", "nodes").sort("cluster").to_dicts()
    times = [{**row, "last_timestamp": row["last_timestamp"].timestamp()} for row in of_spark]
    for other in (found, of_polars):
        assert [{**row, "last_timestamp": row["last_timestamp"].timestamp()} for row in other] == times


@pytest.mark.slow
def test_small_files_read_by_workers_have_the_same_rows(spark, warehouse, monkeypatch):
    spark_reads = FleetTables(spark, warehouse)
    wanted = {name: spark_reads[name].toArrow() for name in spark_reads.mark.versions}
    monkeypatch.setattr(fleet_tables, "_MANY", 1)
    monkeypatch.setattr(fleet_tables, "_SMALL_BYTES", 1 << 30)
    tables = FleetTables(spark, warehouse)
    for name, expected in wanted.items():
        frame = tables.chosen(TABLES[name], expected.column_names)
        assert frame.dtypes == spark_reads[name].dtypes
        assert sorted(map(repr, frame.toArrow().to_pylist())) == sorted(map(repr, expected.to_pylist())), name


@pytest.mark.slow
def test_a_reader_keeps_its_commit_while_others_commit(spark, tmp_path):
    place = Warehouse.make(str(tmp_path / "w"))
    committed(place, "a", "one")
    before = FleetTables(spark, place)
    lazily = FleetTables(spark, place)
    names = before["topics"].select("name")
    committed(place, "a", "two")
    committed(place, "b", "three")
    vacuum(place, retention_hours=1)
    assert [row["name"] for row in names.collect()] == ["one-0"]
    # Tables are read on first access, and then at the same commit.
    assert [row["name"] for row in lazily["topics"].collect()] == ["one-0"]
    now = FleetTables(spark, place)
    assert sorted(row["name"] for row in now["topics"].collect()) == ["three-0", "two-0"]
    of_first = FleetTables(spark, place, place.mark(1))
    assert [row["cluster"] for row in of_first["topics"].collect()] == ["a"]
    only = FleetTables(spark, place, clusters=["b"])
    assert [row["name"] for row in only["topics"].collect()] == ["three-0"]


@pytest.mark.slow
def test_files_that_are_not_committed_are_in_no_table(spark, tmp_path):
    place = Warehouse.make(str(tmp_path / "w"))
    committed(place, "a", "one")
    put(place, "a", "left by a killed run")
    assert FleetTables(spark, place)["topics"].count() == 1
    assert by_duckdb(place, "topics")[0] == by_polars(place, "topics")[0] == {"a": 1}
