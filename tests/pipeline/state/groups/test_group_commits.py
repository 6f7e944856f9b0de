"""Commits that are left out make no difference to any coordinator."""

import pytest
from coordinator_logs import OFFSETS_TOPIC, TARGETS, all_real_partitions, variants
from group_records import Log, member, offset_key, offset_value
from group_rows import group_rows
from hypothesis import given
from hypothesis import strategies as st
from predictions import group_record_verdict

from falkirk.coordinator.prediction.groups import readable_groups
from falkirk.coordinator.prediction.verdict import READ
from falkirk.coordinator.records.loader_rules import CoordinatorKind, loader_rules
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.pipeline.state.groups.group_answers import log_entries, partition_rows
from falkirk.pipeline.state.groups.group_commits import superseded_commits, without_superseded
from falkirk.protocol.coordinator_record import encode_key, encode_value
from falkirk.protocol.messages import OffsetCommitKey, OffsetCommitValue
from falkirk.versions.errors import IncompleteReleaseError
from falkirk.versions.release import Release


def _has(release, kind):
    try:
        loader_rules(release, kind)
    except IncompleteReleaseError:
        return False
    return True


COORDINATORS = [
    (release, kind) for release in map(Release.parse, TARGETS) for kind in CoordinatorKind if _has(release, kind)
]


def rows_of(entries):
    return partition_rows([group_rows(entries)])


def gone(entries):
    return [
        entry.offset for entry, is_gone in zip(entries, superseded_commits(rows_of(entries)), strict=True) if is_gone
    ]


def answers(entries):
    return [readable_groups(release, {0: entries}, kind) for release, kind in COORDINATORS]


def assert_nothing_changes(entries):
    assert answers(log_entries(without_superseded(rows_of(entries))).get(0, [])) == answers(entries)


@pytest.mark.slow
def test_real_logs_and_variants_of_them_have_the_same_answers_without_superseded_commits():
    logs = [*all_real_partitions(OFFSETS_TOPIC), *variants(41, 40)]
    assert sum(len(gone(log)) for log in logs) > 200
    for log in logs:
        assert_nothing_changes(log)


GROUPS = st.sampled_from(["g", "h"])
KINDS = st.sampled_from(
    ["commit", "commit", "commit", "commit4", "forget", "end", "value", "tombstone", "classic", "broken"]
)
OPERATIONS = st.lists(
    st.tuples(
        KINDS,
        GROUPS,
        st.integers(0, 1),
        st.sampled_from([-1, -1, -1, 7, 8]),
        st.sampled_from([3, 5, 6, 8, 10, 11, 14, 15, 17, 19, 22]),
    ),
    min_size=2,
    max_size=14,
)


def log_of(operations):
    log = Log("4.4")
    for kind, group, partition, producer, type_ in operations:
        key = member(group) if type_ in {5, 8, 10, 14, 19, 22} else group
        match kind:
            case "commit":
                log.commit(group, partition, producer=producer)
            case "commit4":
                value = encode_value(OffsetCommitValue(topic_id=bytes(15) + b"\1"), 4)
                log._append(offset_key(group, partition), value, producer)
            case "forget":
                log.forget(group, partition, producer=producer)
            case "end":
                log.end(max(producer, 7), commit=bool(partition))
            case "value":
                log.value(type_, key)
            case "tombstone":
                log.tombstone(2 if type_ > 17 else type_, {"group": group} if type_ > 17 else key)
            case "classic":
                log.classic(group, *["m"] * partition)
            case _:
                log.raw(offset_key(group, partition), b"\0\x09" + bytes(20))
    return log


@pytest.mark.slow
@given(OPERATIONS)
def test_any_log_has_the_same_answers_without_superseded_commits(operations):
    assert_nothing_changes(log_of(operations).entries)


def test_of_commits_of_one_key_the_first_and_the_last_stay():
    log = Log()
    for _ in range(4):
        log.commit("g")
    assert gone(log.entries) == [1, 2]
    assert_nothing_changes(log.entries)


def test_the_first_commit_behind_another_record_of_its_group_stays():
    log = Log()
    log.commit("g", 0)
    log.commit("g", 0)
    log.tombstone(2, {"group": "g"})
    log.commit("g", 0)
    log.commit("h", 0)
    log.commit("g", 0)
    # A share group cannot begin where one was made by these commits.
    log.value(11, "g", epoch=1)
    log.commit("g", 0)
    assert gone(log.entries) == [1, 5]
    assert_nothing_changes(log.entries)


def test_commits_in_transactions_stay_and_supersede_nothing():
    log = Log()
    log.commit("g", 1)
    log.commit("g")
    log.commit("g", producer=7)
    log.commit("g", producer=7)
    log.end(7, commit=False)
    assert gone(log.entries) == []
    log.commit("g")
    assert gone(log.entries) == [1]
    assert_nothing_changes(log.entries)


def test_a_tombstone_supersedes_and_stays():
    log = Log()
    log.commit("g", 1)
    log.commit("g")
    log.forget("g")
    log.forget("g")
    assert gone(log.entries) == [1]
    assert_nothing_changes(log.entries)


def test_a_tombstone_stays_because_it_ends_what_is_pending():
    log = Log()
    log.commit("g", 0, producer=7)
    log.commit("g", 1)
    log.forget("g", 0)
    log.commit("g", 0)
    assert gone(log.entries) == []
    without = [entry for entry in log.entries if entry.offset != 2]
    pending = [answers(entries)[-1].groups[0].pending_offsets for entries in (log.entries, without)]
    assert pending == [0, 1]


def test_what_not_every_release_reads_stays_and_supersedes_nothing():
    log = Log()
    log.commit("g", 1)
    log.commit("g")
    log.raw(offset_key("g"), b"\0\x09" + bytes(20))
    log.raw(b"\0\0" + offset_key("g")[2:], offset_value())
    assert gone(log.entries) == []


def test_no_rows_have_no_superseded_commits():
    assert gone([]) == []


TEXTS = st.text(max_size=5)
COMMIT_KEYS = st.builds(OffsetCommitKey, TEXTS, TEXTS, st.integers(-(2**31), 2**31 - 1))
COMMIT_VALUES = st.builds(
    OffsetCommitValue, st.integers(-(2**63), 2**63 - 1), metadata=TEXTS, commit_timestamp=st.integers(0, 9)
)


@given(COMMIT_KEYS, COMMIT_VALUES, st.integers(0, 4), st.binary(min_size=16, max_size=16))
def test_every_coordinator_reads_a_commit_that_the_table_has_the_fields_of(key, value, version, topic_id):
    if version == 4:
        value.topic_id = topic_id
    entry = LoggedRecord(0, encode_key(key), encode_value(value, version))
    assert rows_of([entry])["commit_group"].to_pylist() == [key.group]
    for release, kind in COORDINATORS:
        assert group_record_verdict(release, entry.key, entry.value, kind) is READ
        assert group_record_verdict(release, entry.key, None, kind) is READ
