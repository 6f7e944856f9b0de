"""The delivery state of share groups, counted."""

import struct
from collections import Counter

from coordinator_logs import OFFSETS_TOPIC, SHARE_TOPIC, real_partitions
from predictions import surveyed_groups

from falkirk.coordinator.prediction.share_states import ShareStateSurvey
from falkirk.coordinator.records.log_entry import LoggedRecord, TransactionEnd
from falkirk.coordinator.records.record_type import GroupType

SNAPSHOT, UPDATE = 0, 1


def key(type_, group, partition=0, topic=1):
    text = struct.pack(">h", len(group)) + group.encode()
    return struct.pack(">h", type_) + text + bytes([topic]) * 16 + struct.pack(">i", partition)


def counted(*records):
    survey = ShareStateSurvey()
    for offset, (key_, value) in enumerate(records):
        survey.add(LoggedRecord(offset, key_, value))
    survey.add(TransactionEnd(len(records), 7, True))
    return survey.partitions()


def test_each_partition_that_has_a_state_counts_once_for_its_group():
    assert counted(
        (key(SNAPSHOT, "a"), b"x"),
        (key(UPDATE, "a"), b"x"),
        (key(SNAPSHOT, "a", partition=1), b"x"),
        (key(SNAPSHOT, "a", topic=2), b"x"),
        # What is left of one whose snapshots were pruned.
        (key(UPDATE, "b"), b"x"),
    ) == {"a": 3, "b": 1}


def test_a_tombstone_of_the_snapshot_ends_a_state():
    state = (key(SNAPSHOT, "a"), b"x")
    assert counted(state, (key(SNAPSHOT, "a"), None)) == {}
    assert counted(state, (key(SNAPSHOT, "a"), None), state) == {"a": 1}
    assert counted(state, (key(UPDATE, "a"), None)) == {"a": 1}


def test_what_is_no_key_of_a_state_tells_nothing():
    assert counted((None, b"x"), (b"\0", b"x"), (key(7, "a"), b"x"), (key(SNAPSHOT, "a")[:-1], b"x")) == {}


def test_states_of_a_real_cluster_are_those_of_its_share_groups():
    states, groups = Counter(), set()
    for entries in real_partitions("4.3.1", SHARE_TOPIC).values():
        survey = ShareStateSurvey()
        for entry in entries:
            survey.add(entry)
        states.update(survey.partitions())
    for entries in real_partitions("4.3.1", OFFSETS_TOPIC).values():
        groups |= {name for name, group in surveyed_groups(entries).items() if group.type is GroupType.SHARE}
    assert states == {"sg-1": 3, "sg-empty-1": 3}
    assert groups == set(states)
