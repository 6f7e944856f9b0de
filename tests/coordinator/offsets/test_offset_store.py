"""Committed offsets and pending ones, against a model that keeps all of history; any compaction gives the same."""

import pytest
from group_records import offset_key, offset_value
from hypothesis import given
from hypothesis import strategies as st
from legal_compactions import legal_compactions

from falkirk.coordinator.offsets.offset_store import OffsetStore
from falkirk.coordinator.records.log_entry import LoggedRecord, TransactionEnd
from falkirk.coordinator.records.offset_commit import offset_key as split

GROUPS, PRODUCERS = ("g", "h"), (7, 8)


def log_of(steps):
    """Return entries; a commit's value says where it stands."""
    entries = []
    for offset, (group, partition, producer, what) in enumerate(steps):
        if what == "commit":
            value = offset_value() + bytes([offset])
            entries.append(LoggedRecord(offset, offset_key(group, partition), value, producer, producer >= 0))
        elif what == "forget":
            entries.append(LoggedRecord(offset, offset_key(group, partition), None))
        else:
            entries.append(TransactionEnd(offset, max(producer, 7), what == "complete"))
    return entries


LOGS = st.lists(
    st.tuples(
        st.sampled_from(GROUPS),
        st.integers(0, 1),
        st.sampled_from((-1, *PRODUCERS)),
        st.sampled_from(("commit", "commit", "commit", "forget", "complete", "abort")),
    ),
    max_size=20,
).map(log_of)


def stored(entries):
    store = OffsetStore()
    for entry in entries:
        if isinstance(entry, TransactionEnd):
            store.end_transaction(entry.producer_id, is_commit=entry.is_commit)
            continue
        group, position = split(entry.key)
        group = group.decode()
        if entry.value is None:
            store.delete(group, position)
        elif entry.producer_id < 0:
            store.commit(group, position, entry.value, entry.offset)
        else:
            store.commit_pending(group, position, entry.value, log_offset=entry.offset, producer_id=entry.producer_id)
    return store


def state(store):
    pending = {group: set(store.pending_positions(group)) for group in store.groups_with_pending()}
    return store.committed, pending


def ends_of(entries):
    """Return for each record of a completed transaction whether it was committed."""
    ends, open_ = {}, {}
    for entry in entries:
        if isinstance(entry, TransactionEnd):
            ends |= dict.fromkeys(open_.pop(entry.producer_id, ()), entry.is_commit)
        elif entry.producer_id >= 0:
            open_.setdefault(entry.producer_id, []).append(entry.offset)
    return ends


def expected(entries):
    """Of each key the newest record counts that is not of an open or aborted transaction; what is older is gone."""
    ends = ends_of(entries)
    records = [entry for entry in entries if isinstance(entry, LoggedRecord)]
    forgotten = {record.key: record.offset for record in records if record.value is None}
    committed, pending = {}, {}
    for record in records:
        group, position = split(record.key)
        if record.value is None or record.offset < forgotten.get(record.key, -1):
            continue
        if record.producer_id < 0 or ends.get(record.offset):
            committed.setdefault(group.decode(), {})[position] = record.value
        elif record.offset not in ends:
            pending.setdefault(group.decode(), set()).add(position)
    return committed, pending


@given(LOGS)
def test_the_newest_record_that_counts_is_what_is_committed(entries):
    assert state(stored(entries)) == expected(entries)


@pytest.mark.slow
@given(LOGS, st.data())
def test_any_compaction_leaves_the_same_offsets(entries, data):
    left = data.draw(legal_compactions(entries))
    assert state(stored(left)) == state(stored(entries))


@given(LOGS)
def test_nothing_is_left_of_transactions_that_have_ended(entries):
    store = stored(entries)
    for producer in PRODUCERS:
        store.end_transaction(producer, is_commit=True)
    assert not store.groups_with_pending()
    assert not any(store.has_open_transactions(group) for group in GROUPS)
    assert not any(getattr(store, name) for name in ("_pending", "_open", "_committed_at"))


def test_a_tombstone_spares_pending_offsets_where_the_release_does():
    store = OffsetStore(tombstones_end_pending=False)
    store.commit("g", b"p", b"1", 0)
    store.commit_pending("g", b"p", b"2", log_offset=1, producer_id=7)
    store.delete("g", b"p")
    store.end_transaction(7, is_commit=True)
    assert store.get("g", b"p") == b"2"
