"""Ingests with Spark: every table of a whole fleet at once, what is new, and what is wrong with files."""

import gzip
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from archives import unpack_cluster
from made_clusters import MadeCluster
from metadata_fleet import unpack_fleet
from pyspark.sql import DataFrame
from state_reference import in_order, reference_tables
from stopped_clusters import cluster_at
from tests.support.watched_clusters import BEGIN_MS, HOUR_MS, made_event, made_findings

from falkirk.logdir.cluster import Cluster
from falkirk.logdir.group_records import read_groups
from falkirk.logdir.plan import make_plan
from falkirk.logdir.target import parse_target
from falkirk.metadata.records.record_reader import read_record
from falkirk.pipeline.errors import PipelineError
from falkirk.pipeline.fleet import UNKNOWN_CLUSTER
from falkirk.pipeline.ingest.run import ingest
from falkirk.pipeline.inventory import find_fleet
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.transforms.downgrade_losses import downgrade_losses
from falkirk.pipeline.transforms.group_readiness import group_losses
from falkirk.pipeline.warehouse.fleet_tables import FleetTables
from falkirk.pipeline.warehouse.warehouse import Warehouse
from falkirk.protocol.messages import ConfigRecord, TopicRecord
from falkirk.storage.posix_disk import PosixDisk
from falkirk.versions.release import latest_release
from falkirk.watch.journal import Bookmark, Journal

REQUESTS = Path(__file__).parents[2] / "data" / "requests"


def rows(frame: DataFrame):
    return frame.toArrow().to_pylist()


def write_inventory(file, clusters, request_logs=()):
    """Write an inventory of clusters that `logdir` has read."""
    entries = [
        {
            "name": name,
            "log_dirs": [str(log_dir.path) for node in cluster.nodes for log_dir in node.log_dirs],
            "request_logs": [str(log) for log in request_logs],
        }
        for name, cluster in clusters.items()
    ]
    file.write_text(json.dumps({"clusters": entries}))  # JSON is YAML
    return str(file)


@dataclass
class Ingested:
    clusters: dict[str, Cluster]
    inventory: str
    warehouse: Warehouse
    tables: FleetTables


@pytest.fixture(scope="module")
def ingested(spark, tmp_path_factory):
    """All clusters that real Kafka ran, and others, in one run."""
    folder = tmp_path_factory.mktemp("ingested")
    clusters = unpack_fleet(folder / "fleet")
    log = folder / "request.log"
    log.write_bytes(gzip.decompress((REQUESTS / "log4j-4.3.1.log.gz").read_bytes()))
    inventory = write_inventory(folder / "fleet.yaml", clusters)
    text = json.loads(Path(inventory).read_text())
    text["clusters"][0]["request_logs"] = [str(log)]
    Path(inventory).write_text(json.dumps(text))
    warehouse = Warehouse.make(str(folder / "warehouse"), keep_secrets=True)
    report = ingest(spark, warehouse, find_fleet([inventory]))
    assert len(report.changed) == report.clusters == len(clusters)
    return Ingested(clusters, inventory, warehouse, FleetTables(spark, warehouse))


def by_cluster(frame):
    found = {}
    for row in rows(frame):
        found.setdefault(row.pop("cluster"), []).append(without_time(row))
    return found


def without_time(row):
    """The time of the ingest is different each time."""
    return {**row, "ingested_at": None} if "ingested_at" in row else row


STATE_TABLES = [
    "acls",
    "brokers",
    "client_quotas",
    "clusters",
    "configs",
    "controllers",
    "feature_levels",
    "partitions",
    "producer_ids",
    "scram_credentials",
    "topics",
    "unknown_tags",
]


@pytest.fixture(scope="module")
def references(ingested):
    return {name: reference_tables(cluster) for name, cluster in ingested.clusters.items()}


@pytest.mark.slow
@pytest.mark.parametrize("table", STATE_TABLES)
def test_state_tables_of_a_whole_fleet_are_what_logdir_reads(ingested, references, table):
    found = by_cluster(ingested.tables[table])
    expected = {name: tables[table] for name, tables in references.items() if tables[table]}
    assert found.keys() == expected.keys()
    for name, told in expected.items():
        assert in_order(found[name]) == in_order(told), name


@pytest.mark.slow
def test_every_metadata_record_is_in_the_tables_once(ingested):
    columns = ("source", "offset", "record_name")
    found = by_cluster(ingested.tables["metadata_records"].select("cluster", *columns))
    for name, cluster in ingested.clusters.items():
        log = cluster.log
        if log is None or log.end_offset == 0:
            continue  # never ran: what formatting wrote is no log
        batches = [batch for batch in cluster.record_batches() if batch.values]
        expected = [
            {"source": batch.source, "offset": offset, "record_name": type(read_record(value)).__name__}
            for batch in batches
            for offset, value in enumerate(batch.values, batch.base_offset)
        ]
        assert in_order(found[name]) == in_order(expected), name


@pytest.mark.slow
def test_groups_are_those_that_logdir_reads(ingested):
    found = {
        (row["cluster"], row["group"]): (row["type"], row["members"], row["committed_offsets"], row["pending_offsets"])
        for row in rows(ingested.tables["groups"])
    }
    expected = {
        (name, group.group_id): (group.type.value, group.members, group.committed_offsets, group.pending_offsets)
        for name, cluster in ingested.clusters.items()
        for group in read_groups(PosixDisk(), cluster, latest_release()).groups
    }
    assert len(expected) > 60
    assert found == expected


@pytest.mark.slow
def test_the_other_tables_have_what_the_files_have(ingested):
    counts = {name: ingested.tables[name].count() for name in TABLES}
    assert all(counts[name] for name in ("group_records", "group_members", "committed_offsets", "transactions"))
    assert counts["requests"] == gzip.decompress((REQUESTS / "log4j-4.3.1.log.gz").read_bytes()).count(b"Completed")
    assert counts["log_dirs"] == sum(
        len(node.log_dirs) for cluster in ingested.clusters.values() for node in cluster.nodes
    )


@pytest.mark.slow
def test_what_the_tables_say_is_lost_is_what_plans_say(ingested):
    target = parse_target("3.9")
    of_metadata = downgrade_losses(target.metadata_version, target.release)(ingested.tables)
    # A plan counts as losses, too, what costs nothing.
    losses = of_metadata.where("outcome IN ('lost', 'changed')").unionByName(
        group_losses(target.release)(ingested.tables)
    )
    told = ("kind", "key", "record", "offset", "source", "detail")
    found = by_cluster(losses.select("cluster", *told))
    for name, cluster in ingested.clusters.items():
        plan = make_plan(cluster, target, read_groups(PosixDisk(), cluster, target.release))
        expected = [{column: getattr(loss, column) for column in told} for loss in plan.losses]
        assert in_order(found.get(name, [])) == in_order(expected), name
    assert sum(map(len, found.values())) > 400


@pytest.mark.slow
def test_a_second_run_changes_nothing(spark, ingested):
    before = {path: path.stat().st_mtime_ns for path in Path(ingested.warehouse.root).rglob("*") if path.is_file()}
    report = ingest(spark, ingested.warehouse, find_fleet([ingested.inventory]))
    assert (report.changed, report.new_rows) == ((), {})
    after = {path: path.stat().st_mtime_ns for path in Path(ingested.warehouse.root).rglob("*") if path.is_file()}
    assert {path: time for path, time in after.items() if path.name != "lock"} == {
        path: time for path, time in before.items() if path.name != "lock"
    }


@pytest.mark.slow
def test_every_table_has_its_columns_with_comments(ingested):
    for name, table in TABLES.items():
        fields = ingested.tables[name].schema.fields
        assert [field.name for field in fields] == [*table.schema.names, "cluster"]


def ingest_at(spark, folder, *inputs, **options):
    return ingest(spark, Warehouse.make(str(folder)), find_fleet([str(each) for each in inputs]), **options)


def table_rows(spark, folder, name):
    return [without_time(row) for row in rows(FleetTables(spark, Warehouse.open(str(folder)))[name])]


@pytest.mark.slow
def test_a_grown_log_adds_its_own_rows_and_renews_the_state(spark, tmp_path):
    made = MadeCluster(root=tmp_path / "c").make()
    warehouse = tmp_path / "w"
    ingest_at(spark, warehouse, made.root)
    before = {path.name for path in warehouse.rglob("metadata_records/**/*.parquet")}
    made.append((TopicRecord("late", b"l" * 16), 0))
    report = ingest_at(spark, warehouse, made.root)
    assert report.new_rows["metadata_records"] == 1
    assert "late" in {row["name"] for row in table_rows(spark, warehouse, "topics")}
    assert before < {path.name for path in warehouse.rglob("metadata_records/**/*.parquet")}
    shutil.rmtree(tmp_path / "again", ignore_errors=True)
    ingest_at(spark, tmp_path / "again", made.root)
    for name in TABLES:
        assert in_order(table_rows(spark, warehouse, name)) == in_order(table_rows(spark, tmp_path / "again", name))


@pytest.mark.slow
def test_the_trend_of_a_watch_is_in_the_warehouse(spark, tmp_path):
    with Journal(tmp_path / "watch.sqlite") as journal:
        closed = made_event("prod", "way_closed", "4.1", BEGIN_MS)
        journal.commit("prod", Bookmark(cluster_id="x", end_offset=1, known={}), [closed], {}, BEGIN_MS)
        for hour, losses in enumerate((0, 2, 1)):
            journal.add_moment(made_findings(losses=losses, at_ms=BEGIN_MS + hour * HOUR_MS))
    (tmp_path / "fleet.yaml").write_text("clusters: [{name: prod, watch_journal: watch.sqlite}]")
    report = ingest_at(spark, tmp_path / "w", tmp_path / "fleet.yaml")
    assert report.rows == {"watch_events": 1, "watch_ways": 21}
    tables = FleetTables(spark, Warehouse.open(str(tmp_path / "w")))
    trend = tables["watch_ways"].where("release = '4.1'").orderBy("at").select("cluster", "state", "losses")
    assert [tuple(row.values()) for row in rows(trend)] == [
        ("prod", "open", 0),
        ("prod", "closed", 2),
        ("prod", "closed", 1),
    ]
    assert [row["key"] for row in rows(tables["watch_events"])] == [closed.key]


@pytest.mark.slow
def test_small_ranges_of_a_file_give_the_rows_of_the_whole(spark, tmp_path):
    data = unpack_cluster("4.3.1", tmp_path)
    ingest_at(spark, tmp_path / "whole", data)
    ingest_at(spark, tmp_path / "split", data, split_bytes=2000)
    for name in ("metadata_records", "group_records"):
        whole, split = (table_rows(spark, tmp_path / each, name) for each in ("whole", "split"))
        assert in_order(whole) == in_order(split)
    files = [len(list((tmp_path / each / "group_records").rglob("*.parquet"))) for each in ("whole", "split")]
    assert files[0] < files[1]


@pytest.mark.slow
def test_only_the_tables_that_are_wanted_are_made_and_others_stay(spark, tmp_path):
    made = MadeCluster(root=tmp_path / "c").make()
    ingest_at(spark, tmp_path / "w", made.root, tables=frozenset({"topics", "metadata_records"}))
    assert {path.name for path in (tmp_path / "w").iterdir()} == {"_falkirk", "metadata_records"}
    made.append((TopicRecord("late", b"l" * 16), 0))
    report = ingest_at(spark, tmp_path / "w", made.root, tables=frozenset({"brokers"}))
    assert report.new_rows == {"brokers": 1, "topics": 1}  # both are of one state
    assert report.rows["metadata_records"] > 0


@pytest.mark.slow
def test_damage_becomes_problems_and_stops_nothing(spark, tmp_path):
    MadeCluster(root=tmp_path / "fleet" / "sound").make()
    torn = unpack_cluster("3.9.1", tmp_path / "fleet" / "torn")
    log = next(torn.rglob("__cluster_metadata-0/*.log"))
    whole = log.stat().st_size
    with log.open("ab") as file:
        file.write(bytes.fromhex("000000000000ffff00000400") + b"cut")
    groups = max(torn.rglob("__consumer_offsets-*/*.log"), key=lambda path: path.stat().st_size)
    data = bytearray(groups.read_bytes())
    data[30] ^= 0xFF
    groups.write_bytes(data)
    broken = tmp_path / "fleet" / "broken" / "d0"
    broken.mkdir(parents=True)
    (broken / "meta.properties").write_text("version=one\n")
    report = ingest_at(spark, tmp_path / "w", tmp_path / "fleet")
    assert report.clusters == 3
    problems = table_rows(spark, tmp_path / "w", "problems")
    told = {(row["kind"], row["source"], row["position"]) for row in problems}
    assert ("torn tail", str(log), whole) in told
    assert [source for kind, source, _ in told if kind == "corrupt batch"] == [str(groups)]
    assert [row["source"] for row in problems if row["cluster"] == UNKNOWN_CLUSTER] == [str(broken / "meta.properties")]
    clusters = {row["cluster"]: row["is_complete"] for row in table_rows(spark, tmp_path / "w", "clusters")}
    assert len(clusters) == 2
    assert clusters["hfgjSfLshYrZXYqfd36Qxg"]
    shutil.rmtree(broken)
    ingest_at(spark, tmp_path / "w", tmp_path / "fleet")
    assert UNKNOWN_CLUSTER not in {row["cluster"] for row in table_rows(spark, tmp_path / "w", "problems")}


@pytest.mark.slow
def test_state_as_of_an_offset_is_that_of_the_log_up_to_there(spark, tmp_path):
    made = MadeCluster(root=tmp_path / "c").make()
    end = cluster_at(made.root).end_offset
    made.append((ConfigRecord(2, "t", "retention.ms", "1"), 0))
    fleet = find_fleet([str(made.root)], as_of=end)
    ingest(spark, Warehouse.make(str(tmp_path / "w")), fleet)
    assert table_rows(spark, tmp_path / "w", "configs") == []
    [cluster] = table_rows(spark, tmp_path / "w", "clusters")
    assert cluster["end_offset"] == end
    ingest_at(spark, tmp_path / "w", made.root)
    assert [row["value"] for row in table_rows(spark, tmp_path / "w", "configs")] == ["1"]


@pytest.mark.slow
def test_an_offset_that_no_file_reaches_is_refused_and_changes_nothing(spark, tmp_path):
    made = MadeCluster(root=tmp_path / "c").make()
    fleet = find_fleet([str(made.root)], as_of=10_000)
    with pytest.raises(PipelineError, match="10000"):
        ingest(spark, Warehouse.make(str(tmp_path / "w")), fleet)
    assert Warehouse.open(str(tmp_path / "w")).manifests() == []


@pytest.mark.slow
def test_a_request_log_that_is_rolled_over_is_read_once(spark, tmp_path):
    made = MadeCluster(root=tmp_path / "c").make()
    lines = gzip.decompress((REQUESTS / "log4j-3.9.1.log.gz").read_bytes()).splitlines(keepends=True)
    log = tmp_path / "requests" / "request.log"
    log.parent.mkdir()

    def run():
        fleet = find_fleet([str(made.root)], request_logs=[str(log.parent / "*")])
        return ingest(spark, Warehouse.make(str(tmp_path / "w")), fleet).new_rows.get("requests", 0)

    log.write_bytes(b"".join(lines[:10]) + lines[10][:50])
    assert run() == 10
    assert [row["kind"] for row in table_rows(spark, tmp_path / "w", "problems")] == ["torn tail"]
    with log.open("ab") as file:
        file.write(lines[10][50:] + lines[11])
    assert run() == 2
    log.rename(log.with_name("request.log.1"))
    log.write_bytes(b"".join(lines[12:20]))
    assert run() == 8
    assert table_rows(spark, tmp_path / "w", "problems") == []
    connections = [row["position"] for row in table_rows(spark, tmp_path / "w", "requests")]
    assert len(connections) == 20
