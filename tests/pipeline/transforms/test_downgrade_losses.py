"""What tables say is lost is what `falkirk logdir plan` says, for every cluster at every target."""

import json
from collections import Counter

import pytest

from falkirk.logdir.group_records import GroupPlan
from falkirk.logdir.plan import make_plan
from falkirk.logdir.target import parse_target
from falkirk.metadata.losses.loss import UNKNOWN_TAG
from falkirk.pipeline.transforms.downgrade_losses import LOSSES, downgrade_losses
from falkirk.versions.metadata_version import FLOOR, LATEST_PRODUCTION, METADATA_VERSIONS, MetadataVersion
from falkirk.versions.release import Release

TARGETS = [version.level for version in METADATA_VERSIONS if FLOOR <= version <= LATEST_PRODUCTION]
# The lowest, and the last ones before something came that is lost below.
SOME_TARGETS = [15, 16, 21, 22, 29, 31]
NO_GROUPS = GroupPlan()


def planned(clusters, target):
    """Count the losses of all plans, each as the columns have it."""
    found = Counter()
    for name, cluster in clusters.items():
        report = make_plan(cluster, target, NO_GROUPS).report
        for loss in (*report.losses, *report.inaccessible, *report.dropped_features):
            fields = None if loss.kind == UNKNOWN_TAG else json.dumps(loss.key.fields())
            found[
                name, loss.outcome.value, loss.kind, loss.key_text, fields, loss.record, loss.offset, loss.source,
                loss.detail,
            ] += 1  # fmt: skip
    return found


def told(rows):
    return Counter((*row[:4], row[4] and json.dumps(json.loads(row[4])), *row[5:]) for row in rows)


@pytest.fixture
def _planned_once(spark):
    """Let Spark plan these many small queries once each, and not again and again while they run."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    yield
    spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.mark.slow
@pytest.mark.usefixtures("_planned_once")
@pytest.mark.parametrize("levels", [SOME_TARGETS, pytest.param(TARGETS, marks=pytest.mark.full)], ids=["some", "all"])
def test_losses_are_those_of_the_plans_at_every_target(metadata_fleet, crashed_tables, levels):
    kinds = set()
    for level in levels:
        target = parse_target(str(level))
        losses = downgrade_losses(target.metadata_version, target.release)(crashed_tables)
        assert losses.columns == ["cluster", *LOSSES.names]
        wanted = planned(metadata_fleet.clusters, target)
        assert told(losses.collect()) == wanted, level
        kinds |= {key[2] for key in wanted}
    # A rule that no cluster here is hit by would be held equal by nothing.
    assert kinds == {
        "broker_log_dirs", "cidr_allow_acl", "cidr_deny_acl", "cordoned_log_dirs", "directory_assignment",
        "eligible_leader_replicas", "elr_to_isr", "feature_dropped", "feature_lowered", "group_config",
        "last_known_leader_to_isr", "partition_without_replica", "unknown_config", "unknown_tagged_field",
    }  # fmt: skip


def test_below_the_floor_nothing_is_told():
    below = MetadataVersion.of_level(FLOOR.level - 1)
    with pytest.raises(AssertionError, match=r"is below 3\.7-IV0"):
        downgrade_losses(below, Release.parse("3.7"))


@pytest.mark.slow
def test_only_replicas_of_brokers_that_stopped_cleanly_become_in_sync_at_no_cost(tables_of):
    partition = {"topic": "orders", "topic_id": "A", "last_known_elr": [], "replicas": [1, 2], "directories": []}
    tables = tables_of(
        clusters=[{"metadata_version": 30}], feature_levels=[], configs=[], acls=[], unknown_tags=[],
        brokers=[
            {"broker_id": 1, "fenced": True, "in_controlled_shutdown": True},
            {"broker_id": 2, "fenced": True, "in_controlled_shutdown": False},
            {"broker_id": 3, "fenced": False, "in_controlled_shutdown": True},
        ],
        partitions=[
            partition | {"partition_id": number, "isr": isr, "eligible_leader_replicas": eligible}
            for number, (isr, eligible) in enumerate([([], [1]), ([], [1, 2]), ([], [3]), ([2], [1]), ([], [4])])
        ],
    )  # fmt: skip
    target = parse_target("3.9")
    rows = downgrade_losses(target.metadata_version, target.release)(tables).collect()
    assert sorted((row.key, row.outcome, row.kind) for row in rows) == [
        ("topic orders partition 0", "changed", "elr_to_isr"),
        ("topic orders partition 1", "lost", "elr_to_isr"),
        ("topic orders partition 2", "lost", "elr_to_isr"),
        ("topic orders partition 3", "lost", "eligible_leader_replicas"),
        ("topic orders partition 4", "lost", "elr_to_isr"),
    ]
