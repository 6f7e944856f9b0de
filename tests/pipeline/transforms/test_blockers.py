"""Nodes that do not support a target, all at once, and what to do about each."""

from datetime import timedelta

import pytest

from falkirk.pipeline.transforms.blockers import blockers
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

DAY = 86_400_000
NOW = 100 * DAY


def features(**ranges):
    names = {"mv": "metadata.version", "group": "group.version", "kraft": "kraft.version"}
    return [
        {"name": names[name], "min_supported_version": lowest, "max_supported_version": highest}
        for name, (lowest, highest) in ranges.items()
    ]


def fleet(tables_of, *, brokers=(), controllers=(), levels=None, last_timestamp=NOW):
    finalized = {"metadata.version": 25} | (levels or {})
    return tables_of(
        clusters=[{"metadata_version": 25, "last_timestamp": last_timestamp}],
        brokers=list(brokers),
        controllers=list(controllers),
        feature_levels=[
            {"feature": name, "from_level": 0, "to_level": level, "offset": 1, "is_current": True}
            for name, level in finalized.items()
        ],
    )


def told(tables, to="4.3", **options):
    rows = blockers(MetadataVersion.parse(to), Release.parse(to), **options)(tables).collect()
    return sorted(
        ((row.role, row.node_id, row.feature, row.level, row.min_supported, row.max_supported, row.is_ghost,
          row.what_to_do) for row in rows),
        key=str,
    )  # fmt: skip


UNREGISTER = "kafka-cluster.sh unregister --bootstrap-server HOST:PORT --id {}"


@pytest.mark.slow
def test_all_nodes_and_features_are_told_at_once(tables_of):
    all_of_it = {"mv": (7, 30), "group": (0, 1), "kraft": (0, 1)}
    tables = fleet(
        tables_of,
        levels={"group.version": 1, "kraft.version": 1},
        brokers=[
            {"broker_id": 1, "features": features(**all_of_it), "fenced": False},
            {"broker_id": 2, "features": features(mv=(7, 25), kraft=(0, 1)), "fenced": False},
            {"broker_id": 3, "features": None, "fenced": True, "fenced_since": NOW - DAY},
        ],
        controllers=[{"controller_id": 9, "features": features(**all_of_it | {"mv": (31, 33)})}],
    )
    newer, older = "put a newer release on it", "put an older release on it"
    gone = f"{newer}, or if it is gone for good: {UNREGISTER.format(3)}"
    assert told(tables) == [
        ("broker", 2, "group.version", 1, None, None, False, newer),
        ("broker", 2, "metadata.version", 30, 7, 25, False, newer),
        ("broker", 3, "group.version", 1, None, None, False, gone),
        ("broker", 3, "kraft.version", 1, None, None, False, gone),
        ("broker", 3, "metadata.version", 30, None, None, False, gone),
        ("controller", 9, "metadata.version", 30, 31, 33, False, older),
    ]


@pytest.mark.slow
def test_a_feature_that_the_target_drops_blocks_nobody(tables_of):
    nodes = [{"broker_id": 1, "features": features(mv=(1, 21)), "fenced": False}]
    tables = fleet(tables_of, levels={"group.version": 1, "kraft.version": 1}, brokers=nodes)
    assert told(tables, to="3.8") == []
    assert [row[2] for row in told(tables, to="3.9")] == ["kraft.version"]


@pytest.mark.slow
def test_a_broker_that_was_fenced_for_long_is_a_ghost_whether_it_blocks_or_not(tables_of):
    new, old = features(mv=(7, 33)), features(mv=(7, 25))
    tables = fleet(
        tables_of,
        brokers=[
            {"broker_id": 1, "features": new, "fenced": True, "fenced_since": NOW - 7 * DAY},
            {"broker_id": 2, "features": old, "fenced": True, "fenced_since": NOW - 8 * DAY},
            {"broker_id": 3, "features": new, "fenced": True, "fenced_since": NOW - 7 * DAY + 1},
            # Nobody knows since when.
            {"broker_id": 4, "features": new, "fenced": True, "fenced_since": None},
            {"broker_id": 5, "features": new, "fenced": False, "fenced_since": NOW - 9 * DAY},
        ],
    )
    assert told(tables) == [
        ("broker", 1, None, None, None, None, True, UNREGISTER.format(1)),
        ("broker", 2, "metadata.version", 30, 7, 25, True, UNREGISTER.format(2)),
    ]
    assert [row[1] for row in told(tables, ghost_after=timedelta(days=8))] == [2]
    never_ran = fleet(tables_of, brokers=[{"broker_id": 1, "features": new, "fenced": True}], last_timestamp=None)
    assert told(never_ran) == []
