"""A question that is asked of one cluster at a time has the same answer however it is asked."""

import pytest

from falkirk.logdir.target import parse_target
from falkirk.pipeline.ingest.run import ingest
from falkirk.pipeline.inventory import find_fleet
from falkirk.pipeline.made_fleet import FleetShape, make_fleet
from falkirk.pipeline.spark.job_progress import NoProgress
from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.metadata_state import PARTITIONS
from falkirk.pipeline.transforms.blockers import blockers
from falkirk.pipeline.transforms.cluster_question import ask_clusters, rows_of
from falkirk.pipeline.transforms.downgrade_losses import downgrade_losses
from falkirk.pipeline.transforms.feature_use import feature_users
from falkirk.pipeline.transforms.forgotten_finalisations import forgotten_finalisations
from falkirk.pipeline.transforms.group_readiness import group_readiness, partition_readiness
from falkirk.pipeline.transforms.levels import levels
from falkirk.pipeline.transforms.minimum_version import minimum_version
from falkirk.pipeline.transforms.move_losses import move_losses
from falkirk.pipeline.transforms.point_of_no_return import point_of_no_return
from falkirk.pipeline.transforms.stopped_cluster import stopped_clusters
from falkirk.pipeline.warehouse import fleet_tables
from falkirk.pipeline.warehouse.fleet_tables import FleetTables
from falkirk.pipeline.warehouse.warehouse import Warehouse

TARGET = parse_target("3.9")
QUESTIONS = {
    "clusters": rows_of(CLUSTERS),
    "levels": levels(),
    "blockers": blockers(TARGET.metadata_version, TARGET.release),
    "forgotten": forgotten_finalisations(),
    "stopped": stopped_clusters(TARGET.metadata_version, TARGET.release),
    "losses": downgrade_losses(TARGET.metadata_version, TARGET.release),
    "all losses": move_losses(TARGET.metadata_version, TARGET.release),
    "minimum": minimum_version(),
    "return": point_of_no_return(),
    "groups": group_readiness(TARGET.release),
    "partitions": partition_readiness(TARGET.release),
    "users": feature_users(),
}


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("questions")
    make_fleet(folder / "fleet", FleetShape(clusters=12, partitions=30))
    warehouse = Warehouse.make(str(folder / "w"))
    ingest(spark, warehouse, find_fleet([str(folder / "fleet")]))
    return FleetTables(spark, warehouse)


def told(rows):
    return sorted(map(repr, rows.to_pylist()))


@pytest.fixture(scope="module")
def together(tables):
    return ask_clusters(tables, QUESTIONS, NoProgress())


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTIONS)
def test_together_with_others_as_a_transform_and_of_frames(tables, together, name):
    question = QUESTIONS[name]
    alone = question(tables).toArrow()
    frames = {table.name: tables[table.name] for table in question.needed}
    assert together[name].schema.names == alone.schema.names == ["cluster", *question.schema.names]
    assert [str(field.type) for field in together[name].schema] == [str(field.type) for field in alone.schema]
    assert told(together[name]) == told(alone) == told(question(frames).toArrow()) != []


@pytest.mark.slow
def test_what_is_given_takes_the_place_of_files(tables):
    none = tables[PARTITIONS.name].limit(0)
    users = feature_users()(tables | {PARTITIONS.name: none}).toArrow()
    assert "topic" not in users["kind"].to_pylist()
    assert "topic" in feature_users()(tables.keeping({PARTITIONS.name: none})).toArrow()["kind"].to_pylist()


@pytest.mark.slow
def test_large_clusters_are_worked_on_in_shares(tables, together, monkeypatch):
    monkeypatch.setattr(fleet_tables, "_SHARE_BYTES", 2000)
    needed = [table for question in QUESTIONS.values() for table in question.needed]
    assert max(unit.shares for unit in tables.units({each.name: each for each in needed}.values(), shared=True)) > 3
    shared = ask_clusters(tables, QUESTIONS, NoProgress())
    assert {name: told(rows) for name, rows in shared.items()} == {name: told(rows) for name, rows in together.items()}
    alone = partition_readiness(TARGET.release)(tables).toArrow()
    assert told(alone) == told(together["partitions"])


@pytest.mark.slow
def test_without_clusters_nothing_is_answered(spark, tmp_path):
    empty = FleetTables(spark, Warehouse.make(str(tmp_path / "w")))
    found = ask_clusters(empty, QUESTIONS, NoProgress())
    assert {name: rows.num_rows for name, rows in found.items()} == dict.fromkeys(QUESTIONS, 0)
    assert minimum_version()(empty).toArrow().num_rows == 0
