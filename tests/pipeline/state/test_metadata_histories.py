"""Any history of a metadata log: the columns give what the image gives, at its end and at every offset."""

import re
from dataclasses import replace
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from metadata_partitions import MadePartition, MemoryCluster, damaged, garbled_partition, random_partition
from state_reference import in_order, reference_tables

from falkirk.logdir.errors import DamagedLogError
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, Provenance
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.metadata.records.record_reader import read_record
from falkirk.pipeline.errors import InventoryError
from falkirk.pipeline.state.metadata_state import metadata_state
from falkirk.storage.errors import CorruptFileError

SEEDS = st.integers(0, 1 << 32)
# Each example reads two logs.
HALF = settings().max_examples // 2
LEVELS = st.sampled_from([7, 11, 14, 17, 19, 20, 22, 25, 28, 30, 33])


def rows_of(cluster):
    tables = metadata_state(cluster).tables
    return {name: [row for batch in batches for row in batch.to_pylist()] for name, batches in tables.items()}


def assert_equal_tables(found, expected):
    for table, rows in expected.items():
        assert in_order(found[table]) == in_order(rows), table


@pytest.mark.slow
@given(SEEDS, LEVELS)
def test_the_state_at_the_end_is_that_of_the_image(seed, level):
    cluster = MemoryCluster(files=random_partition(seed, level).files())
    found = rows_of(cluster.fleet())
    assert_equal_tables(found, reference_tables(cluster.read()))
    assert found["problems"] == []


@pytest.mark.slow
@settings(max_examples=HALF)
@given(SEEDS, LEVELS, st.data())
def test_the_state_as_of_any_offset_is_that_of_a_log_that_ends_there(seed, level, data):
    made = random_partition(seed, level)
    as_of = data.draw(st.integers(made.log_start or 1, made.end_offset), label="as of")
    reachable = [end for end in made.snapshots if made.log_start <= end <= as_of]
    if made.log_start and not reachable:
        with pytest.raises(InventoryError, match=f"as_of is {as_of}, and no sound snapshot and log of node 1 reach"):
            metadata_state(MemoryCluster(files=made.files()).fleet(as_of))
        return
    found = rows_of(MemoryCluster(files=made.files()).fleet(as_of))
    assert_equal_tables(found, reference_tables(MemoryCluster(files=made.as_of(as_of).files()).read()))
    assert found["problems"] == []


def skipping(made):
    """Replay record by record, leaving out those that contradict earlier ones; return the image and their offsets."""
    delta, refused = MetadataDelta(EMPTY), []
    for batch in made.batches:
        for offset, value in enumerate(batch.values, batch.base_offset):
            try:
                delta.replay(read_record(value))
            except InconsistentRecordError:
                refused.append(offset)
    return delta.apply(Provenance()), refused


WRITTEN = re.compile("written$|^fenced_since$")


def without_places(rows):
    return in_order({name: value for name, value in row.items() if not WRITTEN.search(name)} for row in rows)


@pytest.mark.slow
@given(SEEDS, LEVELS, st.floats(0.01, 0.3))
def test_what_contradicts_itself_is_left_out_and_told_record_by_record(seed, level, lost):
    made = garbled_partition(seed, level, lost=lost)
    cluster = MemoryCluster(files=made.files())
    image, refused = skipping(made)
    found = rows_of(cluster.fleet())
    assert [(row["kind"], row["offset"]) for row in found["problems"]] == [
        ("inconsistent record", at) for at in refused
    ]
    assert found["clusters"][0]["is_complete"] is (not refused)
    whole = MadePartition(level=level)
    whole.add()
    expected = reference_tables(replace(MemoryCluster(files=whole.files()).read(), image=image))
    for table in ("topics", "partitions", "configs", "brokers", "controllers", "acls", "client_quotas", "producer_ids"):
        assert without_places(found[table]) == without_places(expected[table]), table
    if refused:
        with pytest.raises(InconsistentRecordError) as raised:
            cluster.read()
        assert raised.value.offset == refused[0]
        assert str(raised.value) == found["problems"][0]["detail"]


@pytest.mark.slow
@given(SEEDS, LEVELS)
@example(317, 17)  # an emptied segment behind a snapshot
@example(546697, 25)  # a transaction without its end before the snapshot
@example(72376, 33)  # the newest snapshot is damaged, and holds less than the log
def test_whatever_happens_to_the_files_what_is_called_complete_is_what_the_rows_say(seed, level):
    made = random_partition(seed, level)
    files = made.files()
    cluster = MemoryCluster(files=damaged(dict(files), Random(seed)))
    found = rows_of(cluster.fleet())
    [facts] = found["clusters"]
    if not facts["is_complete"]:
        assert found["problems"]
        return
    try:
        expected = reference_tables(cluster.read())
    except (CorruptFileError, DamagedLogError):
        # `logdir` refuses damage before the newest snapshot, too; the state is that of the last one that is whole, and
        # of the log behind it. A snapshot has not what a record of a feature that is off has.
        assert found["problems"]
        sound = {
            int(name[:20])
            for name, data in files.items()
            if cluster.files.get(name) == data and name.endswith(".checkpoint")
        }
        as_of = made.as_of(facts["end_offset"])
        as_of.snapshots = [end for end in as_of.snapshots if end in sound]
        whole = reference_tables(MemoryCluster(files=as_of.files()).read())
        for table in ("topics", "partitions", "configs", "brokers", "controllers", "acls", "client_quotas"):
            assert without_places(found[table]) == without_places(whole[table]), table
    else:
        assert_equal_tables(found, expected)
