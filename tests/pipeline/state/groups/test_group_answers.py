"""What a partition's rows are answered, against the coordinator package and `falkirk logdir plan`."""

import json
from random import Random

import pyarrow as pa
import pytest
from coordinator_logs import TARGETS, judged_logs
from fleet_clusters import CLUSTER_NAMES, fleet_cluster
from group_records import Log, member, offset_key
from group_rows import group_rows
from stopped_clusters import DISK, cluster_at

from falkirk.coordinator.prediction.group_losses import group_losses
from falkirk.coordinator.prediction.groups import readable_groups
from falkirk.logdir.group_records import GROUPS_TOPIC, Replica, read_groups
from falkirk.pipeline.state.groups.group_answers import GROUP_ANSWERS, cluster_answers, partition_rows
from falkirk.pipeline.state.groups.group_state import coordinator_replicas
from falkirk.versions.release import Release


def answers(entries, release, *, partition=0, source="d/__consumer_offsets-0/0.log"):
    records = group_rows(entries, partition=partition, source=source)
    table = cluster_answers(Release.parse(release), [records])
    assert table.schema.equals(GROUP_ANSWERS, check_metadata=True)
    rows = table.to_pylist()
    assert {row["partition"] for row in rows} == {partition}
    assert all(sum(row[name] is not None for name in ("group", "loss", "load")) == 1 for row in rows)
    return {name: [row[name] for row in rows if row[name] is not None] for name in ("group", "loss", "load")}


def told(loss):
    """Return a loss of `falkirk logdir` in the columns that tables have."""
    names = ("kind", "key", "key_fields", "record", "offset", "source", "detail")
    return {name: getattr(loss, name) for name in names}


def losses(found):
    return [loss | {"key_fields": json.loads(loss["key_fields"])} for loss in found["loss"]]


@pytest.mark.slow
def test_groups_and_losses_are_those_of_the_coordinator_package():
    for log, _ in judged_logs()[::3]:
        for release in TARGETS:
            wanted = readable_groups(Release.parse(release), {0: log})
            found = answers(log, release)
            assert losses(found) == [
                told(loss)
                for loss in group_losses(wanted, name="__consumer_offsets-0", source="d/__consumer_offsets-0")
            ]
            assert [
                (group["group"], group["type"], group["members"], group["committed_offsets"], group["pending_offsets"])
                for group in found["group"]
            ] == [
                (group.group_id, group.type.value, group.members, group.committed_offsets, group.pending_offsets)
                for group in wanted.groups
            ]
            [load] = found["load"]
            assert load["failing_records"] == len(wanted.failing)
            assert dict(load["skipped"]) == wanted.skipped


@pytest.mark.slow
@pytest.mark.parametrize("name", CLUSTER_NAMES)
def test_groups_and_losses_of_real_clusters_are_those_of_a_plan_at_every_release(kafka_directory, name):
    path = kafka_directory(name)
    replicas = coordinator_replicas(fleet_cluster(path), GROUPS_TOPIC)
    cluster = cluster_at(path)
    for release in TARGETS:
        plan = read_groups(DISK, cluster, Release.parse(release))
        found = {"group": [], "loss": []}
        for partition, (directory, _) in replicas.items():
            entries = list(_replica(cluster, directory.path))
            rows = answers(entries, release, partition=partition, source=f"{directory.path}/0.log")
            found["group"] += rows["group"]
            found["loss"] += rows["loss"]
        assert losses(found) == [told(loss) for loss in plan.losses()]
        assert sorted(map(_as_plan, found["group"]), key=lambda group: group["group"]) == [
            {name: value for name, value in group.as_json().items() if name != "partition"} for group in plan.reported()
        ]


def _replica(cluster, path):
    for node in cluster.nodes:
        for log_dir in node.log_dirs:
            if path.startswith(f"{log_dir.path}/"):
                return Replica(disk=DISK, node=node, log_dir=log_dir, name=path.rpartition("/")[2], partition=0)
    raise AssertionError(path)


def _as_plan(group):
    named = {name: value for name, value in group.items() if name != "conversion"}
    return named | {"lost": dict(group["lost"])}


def test_of_a_partition_that_would_not_load_the_first_record_that_fails_is_named():
    log = Log("4.4")
    log.commit("g")
    log.value(15, "s")
    log.tombstone(15, "s")
    [load] = answers(log.entries, "4.0")["load"]
    assert (load["records"], load["tombstones"], load["failing_records"], load["first_failing_offset"]) == (3, 1, 2, 1)
    assert "ShareGroupStatePartitionMetadataValue" in load["first_failing_reason"]
    [load] = answers(log.entries, "4.4")["load"]
    assert (load["failing_records"], load["first_failing_offset"], load["first_failing_reason"]) == (0, None, None)


def test_what_stands_in_a_partition_is_counted_by_type():
    log = Log("4.4")
    log.commit("g")
    log.commit("g")
    log.forget("g")
    log.value(5, member("g"))
    log.raw(b"\0\x63g", b"\0\0")
    log.raw(b"\0\x63g", None)
    log.raw(None, b"\0\0")
    log.commit("g", producer=7)
    log.end(7, commit=True)
    [load] = answers(log.entries, "3.9")["load"]
    assert (load["records"], load["tombstones"], load["without_type"]) == (8, 2, 1)
    assert (dict(load["values"]), dict(load["unknown_types"])) == ({1: 3, 5: 1}, {99: 2})
    assert dict(load["skipped"]) == {5: 1, 99: 2}


def test_unknown_tagged_fields_are_counted():
    log = Log("4.4")
    log.value(3, "g", epoch=1, unknown_tagged_fields=((9, b"x"), (10, b"y")))
    log.value(1, {"group": "g", "topic": "t", "partition": 0})
    [load] = answers(log.entries, "4.4")["load"]
    assert load["unknown_tags"] == 2


def test_a_tombstone_that_goes_is_told_with_its_group():
    log = Log("4.4")
    log.commit("g")
    log.tombstone(2, {"group": "g"})
    log.value(17, "g", epoch=1)
    found = answers(log.entries, "4.0")
    [group] = found["group"]
    assert group["conversion"].startswith("group g: the tombstone at offset 1 of __consumer_offsets-0 goes")
    assert found["loss"] == []


def test_a_value_that_can_be_read_needs_not_be_there():
    log = Log("4.4")
    log.commit("g")
    log.raw(offset_key("g", 1), b"\0\x09" + bytes(20))
    rows = partition_rows([group_rows(log.entries)])
    assert rows["value"].is_valid().to_pylist() == [False, True]
    [group] = answers(log.entries, "4.4")["group"]
    assert group["lost"] == [("committed_offsets", 1), ("records", 1)]
    assert group["verdict"] == "unreadable"


def test_partitions_together_are_answered_as_each_alone():
    logs = [log for log, _ in judged_logs()[:8]]
    # The same keys in two partitions: neither supersedes the other's commits.
    batches = [group_rows(log, partition=number % 5 * 3 + number) for number, log in enumerate([*logs, *logs])]
    release = Release.parse("3.9")
    alone = [row for batch in batches for row in cluster_answers(release, [batch]).to_pylist()]
    together = pa.Table.from_batches(batches)
    shuffled = together.take(pa.array(Random(1).sample(range(len(together)), len(together))))
    parts = shuffled.to_batches(max_chunksize=100)
    assert cluster_answers(release, parts).to_pylist() == sorted(alone, key=lambda row: row["partition"]) != []


def test_no_records_have_no_answers():
    assert cluster_answers(Release.parse("3.9"), []).num_rows == 0
