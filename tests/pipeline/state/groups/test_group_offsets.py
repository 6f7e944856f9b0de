"""The last offset of each key, in bulk, against one record after the other."""

import pytest
from coordinator_logs import OFFSETS_TOPIC, all_real_partitions, variants
from group_records import Log, offset_key, offset_value
from group_rows import rows_of_chunks
from hypothesis import given
from hypothesis import strategies as st
from predictions import surveyed_groups

from falkirk.coordinator.records.log_entry import TransactionEnd
from falkirk.coordinator.records.offset_commit import offset_topic_partition
from falkirk.pipeline.state.groups.group_offsets import LastOffsets
from falkirk.pipeline.tables.groups import COMMITTED_OFFSETS


def last_offsets(entries, *, chunk=1000, merge=1000):
    offsets = LastOffsets(merge_rows=merge)
    for rows in rows_of_chunks(entries, chunk):
        offsets.add(rows)
    table = offsets.table(0)
    assert table.schema.equals(COMMITTED_OFFSETS.schema, check_metadata=True)
    return table


def keys(entries, **options):
    """Return (group, topic, partition) of what is committed, and of what is pending."""
    table = last_offsets(entries, **options).select(["group", "topic", "topic_partition", "is_pending"])
    rows = [tuple(row.values()) for row in table.to_pylist()]
    assert len(set(rows)) == len(rows)
    return tuple({row[:3] for row in rows if row[3] is pending} for pending in (False, True))


def surveyed_keys(entries):
    groups = surveyed_groups(entries)
    return tuple(
        {(name, *offset_topic_partition(at)) for name, group in groups.items() for at in getattr(group, what)}
        for what in ("committed", "pending")
    )


@pytest.mark.slow
def test_what_is_committed_and_pending_is_what_a_survey_record_by_record_finds():
    for entries in [*all_real_partitions(OFFSETS_TOPIC), *variants(23, 60)]:
        for chunk, merge in ((1000, 1000), (11, 1), (7, 40)):
            assert keys(entries, chunk=chunk, merge=merge) == surveyed_keys(entries)


OPERATIONS = st.lists(
    st.tuples(st.sampled_from("cccft"), st.integers(0, 2), st.sampled_from([-1, -1, 7, 8]), st.booleans()), max_size=25
)


@pytest.mark.slow
@given(OPERATIONS, st.integers(1, 9), st.integers(1, 30))
def test_of_several_committed_offsets_the_later_record_wins(operations, chunk, merge):
    log = Log()
    committed, pending = {}, {}
    for kind, partition, producer, commits in operations:
        if kind == "t":
            log.end(max(producer, 7), commit=commits)
            for at, offset in pending.pop(max(producer, 7), {}).items():
                committed[at] = max(offset, committed.get(at, -1)) if commits else committed.get(at, -1)
        elif kind == "f":
            log.forget("g", partition, producer=producer)
            for offsets in (committed, *pending.values()):
                offsets.pop(partition, None)
        else:
            record = log.commit("g", partition, producer=producer)
            (committed if producer < 0 else pending.setdefault(producer, {}))[partition] = record.offset
    wanted = {(at, False): offset for at, offset in committed.items() if offset >= 0}
    for offsets in pending.values():
        for at, offset in offsets.items():
            wanted[at, True] = max(offset, wanted.get((at, True), -1))
    rows = last_offsets(log.entries, chunk=chunk, merge=merge).select(["topic_partition", "is_pending", "offset"])
    assert {(row["topic_partition"], row["is_pending"]): row["offset"] for row in rows.to_pylist()} == wanted


def test_a_commit_is_told_with_all_that_stands_in_it():
    log = Log("4.4")
    log.raw(offset_key("g", 3), offset_value(1))
    log.value(
        1, {"group": "h", "topic": "t", "partition": 4}, offset=9, leader_epoch=2, metadata="m", commit_timestamp=7
    )
    first, second = last_offsets(log.entries).to_pylist()
    assert (first["group"], first["topic"], first["topic_partition"], first["committed_offset"]) == ("g", "t", 3, 5)
    assert (first["leader_epoch"], first["expire_timestamp"], first["topic_id"]) == (-1, None, None)
    assert (second["committed_offset"], second["leader_epoch"], second["metadata"]) == (9, 2, "m")
    assert (second["partition"], second["offset"], second["is_pending"]) == (0, 1, False)
    assert second["commit_timestamp"].timestamp() == 0.007


def test_a_commit_that_no_release_can_read_has_but_its_key():
    log = Log()
    log.raw(offset_key("g", 3), b"\0\x09" + bytes(20))
    log.raw(b"\0\1\0\1\xff\0\1t" + bytes(4), offset_value())
    rows = last_offsets(log.entries).to_pylist()
    assert [(row["group"], row["topic"], row["topic_partition"]) for row in rows] == [("g", "t", 3), ("\ufffd", "t", 0)]
    assert [row["committed_offset"] for row in rows] == [None, None]
    log.raw(b"\0\1\0\1g\0\1t" + bytes(3), offset_value())
    assert len(last_offsets(log.entries)) == 2, "a key that is cut off is none"


def test_bytes_behind_a_key_are_ignored():
    log = Log()
    log.commit("g", 3)
    log.raw(offset_key("g", 3) + b"xyz", None)
    assert keys(log.entries) == (set(), set())


def test_a_marker_ends_what_its_producer_had_before_it():
    log = Log()
    log.commit("g", 0, producer=7)
    log.end(7, commit=True)
    log.commit("g", 1, producer=7)
    assert isinstance(log.entries[1], TransactionEnd)
    for chunk in (1, 2, 3):
        assert keys(log.entries, chunk=chunk, merge=1) == ({("g", "t", 0)}, {("g", "t", 1)})


def test_no_records_give_no_offsets():
    assert len(last_offsets([])) == 0
