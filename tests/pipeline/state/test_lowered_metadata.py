"""Logs that still hold a lowered metadata.version (KIP-1155): the tables are those of a node's snapshot behind it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lowered_partitions import LOW, lowered_partition, with_snapshot
from metadata_partitions import MemoryCluster, random_partition
from state_reference import in_order, reference_tables

from falkirk.pipeline.state.metadata_state import metadata_state

LEVELS = (7, 11, 14, 15, 16, 17, 19, 22, 23, 25, 28, 29, 30, 33)
# Each example reads two logs.
HALF = settings().max_examples // 2
# Where something was written is another place in a snapshot, and told as such.
PLACES = re.compile("written$|^fenced_since$")
STATE = ("brokers", "controllers", "topics", "partitions", "configs", "acls", "scram_credentials", "client_quotas",
         "producer_ids", "unknown_tags")  # fmt: skip


def tables_of(made, as_of=None):
    tables = metadata_state(MemoryCluster(files=made.files()).fleet(as_of)).tables
    return {name: [row for batch in batches for row in batch.to_pylist()] for name, batches in tables.items()}


def without_places(rows):
    return in_order({name: value for name, value in row.items() if not PLACES.search(name)} for row in rows)


def current_levels(rows):
    return {row["feature"]: row["to_level"] for row in rows if row["is_current"] and row["to_level"]}


def assert_same_state(found, expected):
    for table in STATE:
        assert without_places(found[table]) == without_places(expected[table]), table


def test_a_log_with_the_lowering_gives_the_tables_of_the_snapshot_behind_it():
    made = lowered_partition()
    found, expected = tables_of(made), tables_of(with_snapshot(made))
    assert (found["problems"], expected["problems"]) == ([], [])
    assert_same_state(found, expected)
    assert found["clusters"][0]["metadata_version"] == LOW.level
    assert current_levels(found["feature_levels"]) == current_levels(expected["feature_levels"])


def test_what_the_lowering_leaves_of_each_partition_and_broker():
    found = tables_of(lowered_partition())
    of = {(row["topic"], row["partition_id"]): row for row in found["partitions"]}
    told = {key: (row["isr"], row["leader"], row["leader_recovery_state"]) for key, row in of.items()}
    assert told == {
        ("orders", 0): ([1], 1, 0),
        ("orders", 1): ([2], 2, 0),
        ("orders", 2): ([3], -1, 1),
        ("orders", 3): ([2, 3], 2, 0),
        ("orders", 4): ([1, 2, 3], 3, 0),
        ("later", 0): ([1, 2], 1, 0),
    }
    assert {row["partition_epoch"] for key, row in of.items() if key == ("orders", 0)} == {8}
    for row in of.values():
        assert (row["eligible_leader_replicas"], row["last_known_elr"]) == ([], [])
        assert set(row["directories"]) == {"AAAAAAAAAAAAAAAAAAAAAA"}
        assert len(row["directories"]) == len(row["replicas"])
    assert [(row["log_dirs"], row["cordoned_log_dirs"]) for row in found["brokers"]] == [([], None)] * 3
    assert found["unknown_tags"] == []
    gone = [row for row in found["feature_levels"] if row["feature"].startswith("eligible")]
    lowering = next(row for row in found["feature_levels"] if row["to_level"] == LOW.level)
    assert [(row["to_level"], row["is_current"]) for row in gone] == [(1, False), (0, True)]
    assert gone[-1]["offset"] == lowering["offset"]


def test_a_snapshot_behind_a_log_that_is_not_cleaned_yet_tells_which_features_went():
    made = lowered_partition()
    made.snapshots = [made.end_offset]
    found = tables_of(made)
    assert_same_state(found, tables_of(lowered_partition()))
    assert current_levels(found["feature_levels"]) == {"metadata.version": LOW.level}


@pytest.mark.slow
@given(st.integers(0, 1 << 32), st.sampled_from(LEVELS))
def test_the_state_is_that_of_the_image_wherever_the_level_goes(seed, level):
    made = random_partition(seed, level, moves=LEVELS)
    read = MemoryCluster(files=made.files()).read()
    found, expected = tables_of(made), reference_tables(read)
    assert found["problems"] == []
    assert_same_state(found, expected)
    assert current_levels(found["feature_levels"]) == read.image.features.levels()


@pytest.mark.slow
@settings(max_examples=HALF)
@given(st.integers(0, 1 << 32), st.sampled_from(LEVELS), st.data())
def test_the_state_as_of_any_offset_is_that_of_a_log_that_ends_there(seed, level, data):
    made = random_partition(seed, level, moves=LEVELS)
    made.log_start = 0
    as_of = data.draw(st.integers(1, made.end_offset), label="as of")
    found = tables_of(made, as_of)
    assert_same_state(found, reference_tables(MemoryCluster(files=made.as_of(as_of).files()).read()))
