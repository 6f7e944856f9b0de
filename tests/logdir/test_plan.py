"""What a plan says besides losses: what is in the way, what the operator should know."""

import shutil

import pytest
from made_clusters import data_batches, directory_id
from stopped_clusters import DISK, cluster_at, plan_for, texts

from falkirk.logdir.group_records import read_groups
from falkirk.logdir.plan import make_plan
from falkirk.logdir.target import parse_target
from falkirk.metadata.levels.minimum_version import minimum_version
from falkirk.protocol.messages import BeginTransactionRecord, ConfigRecord, FeatureLevelRecord, NoOpRecord
from falkirk.protocol.uuid import uuid_text


def test_a_plan_over_all_directories_of_a_sound_cluster_warns_of_nothing(made_cluster):
    made = made_cluster(brokers=(1, 2), voters=(1, 3), log_dirs=2, partitions={"t-0": data_batches()})
    plan = plan_for("3.9", made.root)
    assert (plan.blockers, plan.warnings, plan.losses) == ((), (), [])


def test_a_log_directory_that_was_not_named_is_told(made_cluster):
    made = made_cluster(log_dirs=3)
    [warning] = texts(plan_for("3.9", made.log_dir(1, 0), made.log_dir(1, 2)).warnings)
    assert warning == (
        f"node 1 is registered with log directories that are not here: {uuid_text(directory_id(1, 1))}; "
        "name them too, or what lies there does not come along"
    )


def test_a_node_that_was_not_named_is_told(made_cluster):
    made = made_cluster(brokers=(1, 2))
    shutil.rmtree(made.folder(2))
    [warning] = texts(plan_for("3.9", made.root).warnings)
    assert warning.startswith("node 2 belongs to the cluster and is not here: before it starts again")


def test_several_nodes_that_were_not_named_are_told_at_once(made_cluster):
    made = made_cluster(brokers=(1, 2, 3))
    shutil.rmtree(made.folder(2))
    shutil.rmtree(made.folder(3))
    [warning] = texts(plan_for("3.9", made.root).warnings)
    assert warning.startswith("nodes 2, 3 belong to the cluster and are not here: before one of them starts again")


def test_a_metadata_transaction_that_never_ended_does_not_count_and_is_told(made_cluster):
    made = made_cluster()
    made.append((BeginTransactionRecord(name="move"), 0), (ConfigRecord(4, "1", "a", "b"), 0))
    plan = plan_for("3.9", made.root)
    [warning] = texts(plan.warnings)
    assert "metadata transaction move of offset 3 never ended; its 1 records do not count" in warning
    assert list(plan.cluster.image.configs) == []


def test_without_a_metadata_version_nothing_can_be_planned(made_cluster):
    made = made_cluster()
    log = made.metadata(1) / "00000000000000000000.log"
    log.unlink()
    made.append((NoOpRecord(), 0))
    [blocker] = texts(plan_for("3.9", made.root).blockers)
    assert blocker == f"{made.log_dir(1)}: no metadata.version is finalized"


@pytest.mark.parametrize(
    ("to", "after", "dropped"),
    [
        ("4.3", {"group.version": 1, "share.version": 1, "transaction.version": 2}, []),
        ("4.0", {"group.version": 1, "transaction.version": 2}, ["share.version"]),
        ("3.9", {}, ["group.version", "share.version", "transaction.version"]),
    ],
)
def test_features_that_the_target_does_not_know_are_dropped_and_named(made_cluster, to, after, dropped):
    made = made_cluster(kraft_version=0)
    levels = {"group.version": 1, "share.version": 1, "transaction.version": 2}
    made.append(*((FeatureLevelRecord(name, level), 0) for name, level in levels.items()))
    plan = plan_for(to, made.root)
    assert plan.dropped_features == dropped
    found = dict(plan.features_after)
    del found["metadata.version"]
    assert found == after
    assert plan.is_lossless


@pytest.mark.full
@pytest.mark.parametrize("name", ["3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0", "elr-4.3.1", "moved-4.3.1"])
def test_metadata_is_lossless_exactly_from_the_minimum_level_on(kafka_directory, name):
    cluster = cluster_at(kafka_directory(name))
    lowest = minimum_version(cluster.image).version
    at = cluster.image.features.metadata_version
    seen = set()
    for level in range(15, at.level + 1):
        target = parse_target(str(level))
        plan = make_plan(cluster, target, read_groups(DISK, cluster, target.release))
        assert plan.blockers == ()
        assert plan.report.is_lossless is (target.metadata_version >= lowest), str(target)
        seen.add(plan.report.is_lossless)
    assert True in seen
