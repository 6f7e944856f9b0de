"""What a shard loads is what its release loads: the same failures, groups, members and offsets."""

from itertools import groupby, pairwise

import pytest
from coordinator_logs import (
    OFFSETS_TOPIC,
    RELEASES,
    TARGETS,
    all_real_partitions,
    judged_logs,
    real_partitions,
    variants,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from legal_compactions import legal_compactions
from offsets_world import empty_shard, load

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.loader import partition_loader
from falkirk.coordinator.loader.partition_loader import PartitionLoader
from falkirk.coordinator.offsets.offset_records import offset_key_bytes, offset_value_bytes
from falkirk.coordinator.prediction.loading import PartitionLoad
from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.records.log_entry import LoggedRecord, TransactionEnd
from falkirk.coordinator.records.record_type import GroupType
from falkirk.coordinator.runtime.load_failure import LoadFailure
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.control_record import ControlRecordType, encode_control_record
from falkirk.protocol.messages import EndTxnMarker, OffsetCommitKey, OffsetCommitValue
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import read_batches
from falkirk.slices import exhaust
from falkirk.versions.release import Release

SIMPLE_AND_EMPTY = (GroupType.SIMPLE, 0)


def groups_of(shard):
    """Return type and members of each group; one that but holds offsets is SIMPLE."""
    return {
        group_id: (
            GroupType.SIMPLE if isinstance(group, ClassicGroup) and group.is_simple else group.type,
            len(group.members),
        )
        for group_id, group in shard.context.groups.items()
    }


def check_against_prediction(release, kind, entries, *, is_tolerant=False):
    """Load, and if that fails load without the record that failed, and so on."""
    judge = PartitionLoad(Release.parse(release), kind, is_tolerant=is_tolerant)
    predicted = {entry.offset: verdict.reason for entry in entries if (verdict := judge.replay(entry)).fails}
    left = list(entries)
    for offset, reason in predicted.items():
        assert load(empty_shard(release, kind, is_tolerant=is_tolerant), left) == LoadFailure(offset, reason)
        left = [entry for entry in left if entry.offset != offset]
    shard = empty_shard(release, kind, is_tolerant=is_tolerant)
    stops = judge.finish()
    assert load(shard, left) == (LoadFailure(*stops[0]) if stops else None)
    if stops:
        return
    store = shard.offsets.store
    assert {group: set(positions) for group, positions in store.committed.items()} == judge.offsets.committed
    pending = {group: set(store.pending_positions(group)) for group in store.groups_with_pending()}
    assert pending == judge.offsets.pending_by_group()
    expected = {
        group_id: (group.type, group.members)
        for group_id, group in judge.groups().items()
        # Differs from Kafka: a group that was made by offsets, and has none left, is not loaded.
        if (group.type, group.members) != SIMPLE_AND_EMPTY or group_id in {*store.committed, *pending}
    }
    found = groups_of(shard)
    kept = {group_id: group for group_id, group in found.items() if group != SIMPLE_AND_EMPTY or group_id in expected}
    assert kept == expected


@pytest.mark.slow
def test_logs_that_kafka_judged_load_as_it_said():
    for entries, verdicts in judged_logs():
        records = [entry for entry in entries if isinstance(entry, LoggedRecord)]
        for (release, kind), letters in verdicts.items():
            failing = [record.offset for record, letter in zip(records, letters, strict=False) if letter == "F"]
            failure = load(empty_shard(release, CoordinatorKind(kind)), entries)
            if failing:
                assert failure is not None
                assert failure.offset == failing[0]
            else:
                assert (failure is None) == (not letters.endswith("!"))


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_real_logs_load_as_predicted_in_every_release(release):
    for entries in real_partitions(release, OFFSETS_TOPIC).values():
        for target in TARGETS:
            check_against_prediction(target, CoordinatorKind.NEW, entries)
            if Release.parse(target).has_zookeeper:
                check_against_prediction(target, CoordinatorKind.OLD, entries)


@pytest.mark.slow
@given(st.sampled_from(all_real_partitions(OFFSETS_TOPIC)), st.sampled_from(TARGETS), st.data())
@settings(max_examples=25)
def test_what_a_cleaner_leaves_of_real_logs_loads_tolerantly_as_predicted(entries, target, data):
    left = data.draw(legal_compactions(entries)) if entries else []
    check_against_prediction(target, CoordinatorKind.NEW, left, is_tolerant=True)
    if Release.parse(target).has_zookeeper:
        check_against_prediction(target, CoordinatorKind.OLD, left, is_tolerant=True)


def test_a_log_loads_in_batches_as_it_does_record_by_record():
    logs = [entries for each in RELEASES[-1:] for entries in real_partitions(each, OFFSETS_TOPIC).values()]
    logs += variants(11, 12)
    for number, entries in enumerate(logs):
        for is_tolerant in (False, True):
            release = TARGETS[number % len(TARGETS)]
            one_by_one, in_batches = (empty_shard(release, is_tolerant=is_tolerant) for _ in range(2))
            failure = load(one_by_one, entries)
            assert load_batches(in_batches, entries) == failure
            if failure is None:
                assert groups_of(in_batches) == groups_of(one_by_one)
            for shard in (one_by_one, in_batches):
                assert shard.offsets.store.committed == one_by_one.offsets.store.committed
                assert pending_of(shard) == pending_of(one_by_one)


def test_groups_of_offsets_alone_are_made_some_in_a_slice(monkeypatch):
    monkeypatch.setattr(partition_loader, "GROUPS_AT_ONCE", 3)
    shard = empty_shard("4.4", is_tolerant=True)
    loader = PartitionLoader(shard)
    for number in range(10):
        shard.offsets.store.commit(f"g{number}", b"position", b"value", number)
    made = [len(shard.context.groups) for _ in loader.finish()]
    # Then all of them are looked through: those without offsets go.
    assert made == [3, 6, 9, 10, 10, 10]


class CountedGroups(dict):
    """Groups that count how often one of them is looked at in turn."""

    looked_at = 0

    def __iter__(self):
        for key in super().__iter__():
            self.looked_at += 1
            yield key

    def items(self):
        for key in self:
            yield key, self[key]

    def values(self):
        for key in self:
            yield self[key]


@pytest.mark.parametrize("is_tolerant", [True, False])
def test_no_slice_of_a_load_s_end_looks_at_many_groups(monkeypatch, is_tolerant):
    monkeypatch.setattr(partition_loader, "GROUPS_AT_ONCE", 3)
    shard = empty_shard("4.4", is_tolerant=is_tolerant)
    loader = PartitionLoader(shard)
    store, judged = shard.offsets.store, CountedGroups()
    store.committed = CountedGroups()
    loader._judge._groups = judged
    for number in range(10):
        store.commit(f"g{number}", b"position", b"value", number)
        loader._judge.hold_offsets(f"g{number}")
    seen = [store.committed.looked_at + judged.looked_at for _ in loader.finish()]
    assert max(after - before for before, after in pairwise([0, *seen])) <= 2 * 3
    assert store.committed.looked_at + judged.looked_at >= 10


def test_split_keys_are_freed_one_by_one(monkeypatch):
    monkeypatch.setattr(partition_loader, "_OFFSET_KEYS_MAX", 4)
    monkeypatch.setattr(partition_loader, "_KEYS_FREED_AT_ONCE", 2)
    loader = PartitionLoader(empty_shard("4.4"))
    held = []
    for number in range(12):
        key, value = offset_key_bytes(OffsetCommitKey("g", "t", number)), offset_value_bytes(OffsetCommitValue(1), 3)
        assert loader.apply(LoggedRecord(number, key, value, -1, False)) is None
        held.append(len(loader._offset_keys) + len(loader._retired_keys))
    assert held == [1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4]
    left = [len(loader._offset_keys) for _ in loader.finish()]
    assert left == [2]


def pending_of(shard):
    store = shard.offsets.store
    return {group: set(store.pending_positions(group)) for group in store.groups_with_pending()}


def load_batches(shard, entries):
    """Load entries as they stand in a log: records in batches of a few, transactions' ends in their own."""
    loader = PartitionLoader(shard)
    data = b"".join(batches_of(entries))
    for batch in read_batches(data):
        failure = loader.apply_batch(batch)
        if failure is not None:
            return failure
    assert loader.record_count == len(entries)
    return exhaust(loader.finish())


def batches_of(entries):
    for (kind, producer_id, is_transactional, _), each in groupby(entries, _batch_of):
        members = list(each)
        if kind is TransactionEnd:
            yield from (end_of(entry) for entry in members)
            continue
        records = [Record(entry.offset, 5, entry.key, entry.value) for entry in members]
        yield build_batch(
            records,
            base_offset=records[0].offset,
            producer_id=producer_id,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=is_transactional,
        )


def end_of(entry):
    type_ = ControlRecordType.COMMIT if entry.is_commit else ControlRecordType.ABORT
    record = Record(entry.offset, 5, *encode_control_record(type_, EndTxnMarker()))
    return build_batch(
        [record],
        base_offset=entry.offset,
        producer_id=entry.producer_id,
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
    )


def _batch_of(entry):
    return type(entry), entry.producer_id, getattr(entry, "is_transactional", True), entry.offset // 5


@pytest.mark.slow
def test_logs_of_any_kind_load_as_predicted():
    for number, entries in enumerate(variants(7, 24)):
        release = TARGETS[number % len(TARGETS)]
        check_against_prediction(release, CoordinatorKind.NEW, entries)
        if Release.parse(release).has_zookeeper:
            check_against_prediction(release, CoordinatorKind.OLD, entries)
