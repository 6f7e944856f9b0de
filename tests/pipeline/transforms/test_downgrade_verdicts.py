"""Verdicts of a whole fleet are those of the plans, groups included."""

from collections import Counter

import pyarrow as pa
import pytest
from stopped_clusters import DISK

from falkirk.cli.logdir.commands import _status
from falkirk.logdir.group_records import read_groups
from falkirk.logdir.plan import make_plan
from falkirk.logdir.target import parse_target
from falkirk.pipeline.transforms.downgrade_losses import downgrade_losses
from falkirk.pipeline.transforms.downgrade_verdicts import VERDICTS, counted, downgrade_verdicts, loss_counts
from falkirk.pipeline.transforms.stopped_cluster import stopped_clusters

NOTHING = pa.table({name: pa.array([], pa.string()) for name in ("cluster", "outcome", "kind")})


def counts(losses):
    return dict(Counter(loss["kind"] for loss in losses))


def expected(plan):
    found = plan.as_json()
    return {
        "from_level": found["from"]["level"],
        "from_version": found["from"]["name"],
        "to_level": found["to"]["level"],
        "to_version": found["to"]["name"],
        "release": found["to"]["release"],
        "lossless": found["lossless"],
        "losses": counts(found["losses"]),
        "inaccessible": counts(found["inaccessible"]),
        "dropped_features": sorted(found["dropped_features"]),
        "lowered_features": sorted(
            each["fields"]["feature"] for each in found["conversions"] if each["kind"] == "feature_lowered"
        ),
        "blockers": len(found["blockers"]),
        "controller_quorum_voters": found["controller_quorum_voters"],
        "status": int(_status(plan)),
    }


def told(row):
    found = dict(row)
    assert found.pop("changes") == {}
    del found["cluster"], found["warnings"]
    return found | {"blockers": len(row["blockers"])}


def verdicts(target, tables, losses=NOTHING):
    stopped = stopped_clusters(target.metadata_version, target.release)(tables).toArrow()
    found = downgrade_verdicts(stopped, counted(losses))
    assert found.schema.equals(VERDICTS)
    return {row["cluster"]: row for row in found.to_pylist(maps_as_pydicts="strict")}


@pytest.mark.slow
@pytest.mark.parametrize("to", ["3.7", "3.9", "4.3"])
def test_verdicts_are_those_of_the_plans(metadata_fleet, crashed_tables, spark, to):
    target = parse_target(to)
    plans = {
        name: make_plan(cluster, target, read_groups(DISK, cluster, target.release))
        for name, cluster in metadata_fleet.clusters.items()
    }
    of_metadata = downgrade_losses(target.metadata_version, target.release)(crashed_tables).toArrow()
    of_metadata = of_metadata.select(NOTHING.schema.names)
    of_groups = [
        {"cluster": name, "outcome": "lost", "kind": loss.kind}
        for name, plan in plans.items()
        for loss in plan.groups.losses()
    ]
    losses = pa.concat_tables([of_metadata, pa.Table.from_pylist(of_groups, of_metadata.schema)])
    rows = verdicts(target, crashed_tables, losses)
    assert {name: told(row) for name, row in rows.items()} == {name: expected(plan) for name, plan in plans.items()}
    own = {
        name: [each for each in plan.warnings if each.kind in {"missing_nodes", "missing_log_dirs"}]
        for name, plan in plans.items()
    }
    assert {name: len(row["warnings"]) for name, row in rows.items()} == {name: len(each) for name, each in own.items()}
    assert len({row["status"] for row in rows.values()}) == 3


@pytest.mark.slow
def test_without_a_level_a_cluster_is_blocked(tables_of):
    tables = tables_of(
        clusters=[{"cluster": "a", "kraft_version": 0}, {"cluster": "b", "metadata_version": 21, "kraft_version": 0}],
        log_dirs=[], brokers=[], controllers=[], feature_levels=[],
    )  # fmt: skip
    target = parse_target("3.9")
    found = {
        name: (row["from_version"], [each["text"] for each in row["blockers"]], row["losses"], row["status"])
        for name, row in verdicts(target, tables).items()
    }
    assert found == {
        "a": (None, ["no metadata.version is finalized"], {}, 1),
        "b": ("3.9-IV0", [], {}, 0),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("to", "dropped", "lowered"),
    [("3.9", ["group.version", "share.version"], []), ("4.1", [], ["share.version"]), ("4.4", [], [])],
)
def test_a_feature_that_the_target_has_at_a_lower_level_is_not_dropped(tables_of, to, dropped, lowered):
    levels = {"share.version": 2, "group.version": 1, "metadata.version": 33}
    tables = tables_of(
        clusters=[{"cluster": "a", "metadata_version": 33, "kraft_version": 0}],
        log_dirs=[], brokers=[], controllers=[],
        feature_levels=[
            {"cluster": "a", "feature": name, "to_level": level, "is_current": True} for name, level in levels.items()
        ],
    )  # fmt: skip
    target = parse_target(to)
    [row] = verdicts(target, tables).values()
    assert (row["dropped_features"], row["lowered_features"]) == (dropped, lowered)


@pytest.mark.slow
def test_losses_that_are_only_counted_are_as_many(metadata_fleet):
    target = parse_target("3.9")
    losses = downgrade_losses(target.metadata_version, target.release)
    counts = loss_counts(losses)(metadata_fleet.tables).toArrow().to_pylist()
    assert {(row["cluster"], row["outcome"], row["kind"], row["count"]) for row in counts} == {
        tuple(row.values()) for row in counted(losses(metadata_fleet.tables).toArrow()).to_pylist()
    }
    assert sum(row["count"] for row in counts) > 100


def test_counts_of_the_shares_of_a_cluster_are_added():
    counts = [("a", "lost", "x", 1), ("a", "lost", "x", 2), ("a", "changed", "y", 4), ("b", "feature", "z", 8)]
    columns = ("cluster", "outcome", "kind", "count")
    stopped = pa.Table.from_pylist([{"cluster": "a", "blockers": []}, {"cluster": "b"}], VERDICTS)
    found = downgrade_verdicts(
        stopped.drop_columns(["lossless", "losses", "changes", "inaccessible", "status"]),
        pa.Table.from_pylist([dict(zip(columns, each, strict=True)) for each in counts]),
    ).to_pylist(maps_as_pydicts="strict")
    assert [(row["losses"], row["changes"], row["lossless"], row["status"]) for row in found] == [
        ({"x": 3}, {"y": 4}, False, 3),
        ({}, {}, True, 0),
    ]
