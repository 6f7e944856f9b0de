"""Groups of a fleet at a release, against `falkirk logdir plan` cluster by cluster."""

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from archives import unpack_cluster
from fleet_clusters import fleet_cluster
from group_records import Log
from group_rows import group_rows
from stopped_clusters import DISK, cluster_at

from falkirk.logdir.group_records import read_groups
from falkirk.pipeline.readers.coordinator_segments import read_partition
from falkirk.pipeline.readers.group_records import read_group_records
from falkirk.pipeline.state.groups.group_state import coordinator_replicas, group_state
from falkirk.pipeline.tables.groups import GROUP_MEMBERS, GROUP_RECORDS
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.transforms.downgrade_losses import LOSSES
from falkirk.pipeline.transforms.group_readiness import (
    group_losses,
    group_readiness,
    partition_readiness,
)
from falkirk.storage.partition_directory import GROUPS_TOPIC
from falkirk.versions.release import Release

EXPECTED = Path(__file__).parents[2] / "data" / "metadata"
CLUSTERS = ("3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0")
TARGETS = ("3.9", "4.0")
# The directories of 4.4.0 once more, as if its features had been lowered.
LOWERED = "lowered"
MADE = "made"


def of_cluster(name, parts):
    table = pa.Table.from_batches(parts) if isinstance(parts, list) else parts
    return table.append_column("cluster", pa.array([name] * len(table), pa.string())).replace_schema_metadata()


def made_log():
    log = Log("4.4")
    log.commit("g")
    log.value(15, "s")
    log.raw(b"\0\x63g", b"\0\0")
    return log


@pytest.fixture(scope="module")
def fleet(spark, tmp_path_factory):
    """What each target is answered of all clusters, and the clusters as `falkirk logdir` reads them."""
    tables = {GROUP_RECORDS.name: [], GROUP_MEMBERS.name: []}
    levels, clusters = [(LOWERED, "metadata.version", 21)], {}
    for name in CLUSTERS:
        path = unpack_cluster(name, tmp_path_factory.mktemp(name))
        clusters[name] = cluster_at(path)
        features = json.loads(gzip.decompress((EXPECTED / f"cluster-{name}.expected.json.gz").read_bytes()))
        levels += [(name, *feature) for feature in features["finalizedFeatures"].items()]
        for partition, (directory, node_id) in coordinator_replicas(fleet_cluster(path), GROUPS_TOPIC).items():
            rows = list(read_partition(directory, node_id, read_group_records, []))
            members = group_state(directory, partition, node_id)[0][GROUP_MEMBERS.name]
            for alias in (name, LOWERED) if name == "4.4.0" else (name,):
                tables[GROUP_RECORDS.name].append(of_cluster(alias, rows))
                tables[GROUP_MEMBERS.name].append(of_cluster(alias, members))
    tables[GROUP_RECORDS.name].append(of_cluster(MADE, [group_rows(made_log().entries)]))
    # PySpark 4.3 forgets what stands behind a chunk without rows.
    frames = {name: spark.createDataFrame(pa.concat_tables(parts).combine_chunks()) for name, parts in tables.items()}
    rows = [
        {"cluster": name, "feature": feature, "to_level": level, "is_current": True} for name, feature, level in levels
    ]
    frames[FEATURE_LEVELS.name] = spark.createDataFrame(pa.Table.from_pylist(rows, FEATURE_LEVELS.full_schema))
    answers = {}
    for target in TARGETS:
        release = Release.parse(target)
        answers[target] = SimpleNamespace(
            groups=group_readiness(release)(frames).toArrow().to_pylist(),
            losses=group_losses(release)(frames).toArrow().to_pylist(),
            partitions=partition_readiness(release)(frames).toArrow().to_pylist(),
        )
    return SimpleNamespace(clusters=clusters, answers=answers)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_groups_and_losses_are_those_of_a_plan(fleet, target):
    for name, cluster in fleet.clusters.items():
        plan = read_groups(DISK, cluster, Release.parse(target))
        losses = [loss for loss in fleet.answers[target].losses if loss["cluster"] == name]
        wanted = [{"cluster": name, "outcome": "lost", **_told(loss.as_json())} for loss in plan.losses()]
        assert sorted(map(json.dumps, losses)) == sorted(map(json.dumps, wanted))
        groups = [group for group in fleet.answers[target].groups if group["cluster"] == name]
        assert sorted((_as_plan(group) for group in groups), key=lambda group: group["group"]) == [
            group.as_json() for group in plan.reported()
        ]


def _told(loss):
    found = {column: loss[column] for column in LOSSES.names if column in loss}
    return found | {"key_fields": json.dumps(loss["key_fields"], separators=(",", ":"))}


def _as_plan(group):
    names = ("group", "type", "partition", "members", "committed_offsets", "pending_offsets", "verdict")
    return {name: group[name] for name in names} | {"lost": dict(group["lost"]), "detail": group["detail"]}


@pytest.mark.slow
def test_losses_have_the_columns_of_metadatas_losses(fleet):
    [loss] = {tuple(loss) for loss in fleet.answers["4.0"].losses}
    assert loss == ("cluster", *LOSSES.names)


@pytest.mark.slow
def test_members_are_counted_by_the_protocol_that_they_speak(fleet):
    found = {(group["cluster"], group["group"]): group for group in fleet.answers["3.9"].groups}
    assert dict(found["4.4.0", "mig-up-1"]["members_by_protocol"]) == {"classic": 1, "consumer": 1}
    assert dict(found["4.4.0", "sg-1"]["members_by_protocol"]) == {"share": 2}
    assert dict(found["4.4.0", "cg-simple-1"]["members_by_protocol"]) == {}
    assert all(sum(dict(group["members_by_protocol"]).values()) == group["members"] for group in found.values())


@pytest.mark.slow
def test_a_partition_that_would_not_load_says_why_and_what_it_steps_over(fleet):
    [row] = [row for row in fleet.answers["4.0"].partitions if row["cluster"] == MADE]
    assert (row["partition"], row["records"], row["tombstones"], row["load_fails"]) == (0, 3, 0, True)
    assert (row["failing_records"], row["first_failing_offset"]) == (1, 1)
    assert "ShareGroupStatePartitionMetadataValue" in row["first_failing_reason"]
    assert (dict(row["skipped"]), dict(row["unknown_types"]), dict(row["orphaned"])) == ({99: 1}, {99: 1}, {15: 1})
    [row] = [row for row in fleet.answers["3.9"].partitions if row["cluster"] == MADE]
    assert (row["load_fails"], dict(row["skipped"])) == (False, {15: 1, 99: 1})


@pytest.mark.slow
def test_what_a_cluster_wrote_at_its_levels_is_orphaned_once_they_are_lowered(fleet):
    orphaned = {(row["cluster"], row["partition"]): dict(row["orphaned"]) for row in fleet.answers["3.9"].partitions}
    for name in ("3.7.2", "4.0.0", "4.3.1", "4.4.0"):
        assert {found for (cluster, _), counts in orphaned.items() if cluster == name for found in counts} == set()
    types = {type_ for (cluster, _), counts in orphaned.items() if cluster == LOWERED for type_ in counts}
    assert {3, 5, 8, 10, 11, 15, 17, 19, 22} <= types
    assert types & {1, 2} == set()
