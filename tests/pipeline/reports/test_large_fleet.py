"""The numbers of a whole report against sums that DuckDB makes of the warehouse's tables, apart from Spark."""

import csv
import json
from collections import Counter

import duckdb
import pytest
from deltalake import DeltaTable

from falkirk.logdir.target import parse_target
from falkirk.pipeline.ingest.run import ingest
from falkirk.pipeline.inventory import find_fleet
from falkirk.pipeline.made_fleet import FleetShape, make_fleet
from falkirk.pipeline.reports.fleet_report import make_report
from falkirk.pipeline.warehouse.warehouse import Warehouse

TARGET = parse_target("3.9")
LOST_REPLICAS = """
    select count(*) from partitions join clusters using (cluster) where metadata_version >= 21 and len(isr) > 0
    and (len(eligible_leader_replicas) > 0 or len(last_known_elr) > 0)
"""
LOST_RANGES = """
    select count(*) from acls join clusters using (cluster)
    where metadata_version >= 32 and host like '%/%' and permission_type = 3
"""
# Nodes that cannot run 3.9-IV0, which is 21.
HELD_BACK = """
    select distinct cluster from (
        select cluster, unnest(features) as feature from brokers
        union all select cluster, unnest(features) as feature from controllers
    ) where feature.name = 'metadata.version'
    and (feature.min_supported_version > 21 or feature.max_supported_version < 21)
"""
LEVELS = "select cluster, metadata_version from clusters"
MODERN_GROUPS = "select count(*) from groups where type = 'consumer'"


def numbers(path, column):
    with path.open(newline="") as file:
        return Counter(row[column] for row in csv.DictReader(file))


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [30, pytest.param(2000, marks=pytest.mark.full)])
def test_numbers_of_a_report_are_sums_of_the_tables(spark, tmp_path, clusters):
    make_fleet(tmp_path / "fleet", FleetShape(clusters=clusters, partitions=40))
    warehouse = Warehouse.make(str(tmp_path / "w"))
    ingest(spark, warehouse, find_fleet([str(tmp_path / "fleet")]))
    out = tmp_path / "report"
    make_report(spark, warehouse, out, TARGET.metadata_version, TARGET.release)
    document = json.loads((out / "report.json").read_text())

    database = duckdb.connect()
    for table in ("clusters", "partitions", "acls", "brokers", "controllers", "groups"):
        database.register(table, DeltaTable(warehouse.table_uri(table)).to_pyarrow_table())

    def number(query):
        return database.execute(query).fetchall()[0][0]

    lost = {"eligible_leader_replicas": number(LOST_REPLICAS), "cidr_allow_acl": number(LOST_RANGES)}
    assert all(lost.values())
    found = Counter()
    for verdict in document["verdicts"]:
        found.update(verdict["losses"])
    assert found == lost
    assert document["rows_in_all"]["losses"] == sum(numbers(out / "csv" / "losses.csv", "outcome").values())
    assert numbers(out / "csv" / "losses.csv", "outcome")["lost"] == sum(lost.values())

    held_back = {cluster for (cluster,) in database.execute(HELD_BACK).fetchall()}
    kinds = {"unsupporting_node"}
    blocked = {
        verdict["cluster"]
        for verdict in document["verdicts"]
        if kinds & {blocker["kind"] for blocker in verdict["blockers"]}
    }
    assert held_back
    assert blocked == held_back
    levels = {verdict["cluster"]: verdict["from"]["level"] for verdict in document["verdicts"]}
    assert levels == dict(database.execute(LEVELS).fetchall())
    assert sum(document["clusters"].values()) == len(levels) == clusters
    assert len(list((out / "clusters").iterdir())) == clusters
    # Kafka 3.9 reads groups of the consumer protocol as empty ones.
    groups = numbers(out / "csv" / "groups.csv", "verdict")
    assert groups["appears_empty"] + groups["unreadable"] == number(MODERN_GROUPS)
