"""What a log cleaner may leave of a compacted partition, at any moment.

    log = entries_of(release, [batch, batch, ...])           # CoordinatorRecords as they were written, batch by batch
    @given(st.data())
    def test_any_compaction_loads_to_the_same_state(data):
        assert state_of(data.draw(legal_compactions(log))) == state_of(log)

A log may end in an open transaction: nothing from its first record on is ever cleaned.

Rules (Kafka's LogCleaner, and KIP-534 for tombstones):

1. A round of cleaning scans the log up to `looked_at_end` and finds the newest record of each key there.
   Records of aborted transactions are skipped; whether a transaction that continues past that end was aborted is known.
2. It then rewrites what is before `cleaned_end`, which is less if the broker died on the way. It drops records that are
   superseded by a newer one of their key before `looked_at_end`, and those of aborted transactions.
3. A tombstone, the newest record of its key, survives the first round that rewrites it. A later round drops it once
   `delete.retention.ms` have passed.
4. The marker of a transaction stays as long as a round finds a record of that transaction, and then as long as a
   tombstone would.
5. Nothing from `cleaned_end` on is changed; offsets never change. Ends are those of batches, as segments hold whole
   batches.

So the newest record of a key in the whole log is never dropped, unless it is a tombstone or was aborted; and an older
value never reappears once its tombstone is gone.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from falkirk.coordinator.records.log_entry import LogEntry, LoggedRecord, TransactionEnd
from falkirk.coordinator.runtime.outcome import CoordinatorRecord
from falkirk.protocol.coordinator_record import encode_key, encode_value
from falkirk.protocol.record_batch import NO_PRODUCER_ID
from falkirk.versions.message_layouts import layout_in
from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True)
class Cleaning:
    """One round. Ends are exclusive offsets; `is_delay_over`: delete.retention.ms passed since the previous one."""

    looked_at_end: int
    cleaned_end: int
    is_delay_over: bool


@st.composite
def legal_compactions(
    draw: st.DrawFn, entries: Sequence[LogEntry], *, batch_starts: Collection[int] | None = None
) -> list[LogEntry]:
    """Draw what up to three rounds may leave of a log; `batch_starts`: offsets, by default each entry is a batch."""
    stable_end = _stable_end(entries)
    starts = [entry.offset for entry in entries] if batch_starts is None else batch_starts
    ends = sorted({0, *(offset for offset in starts if offset < stable_end), stable_end})
    rounds = []
    for end in sorted(draw(st.lists(st.sampled_from(ends), min_size=1, max_size=3))):
        # Mostly the round comes to its end.
        cut = draw(st.none() | st.sampled_from([each for each in ends if each <= end]))
        rounds.append(Cleaning(end, end if cut is None else cut, draw(st.booleans())))
    return cleaned(entries, rounds)


def cleaned(entries: Sequence[LogEntry], rounds: Iterable[Cleaning]) -> list[LogEntry]:
    """Return what these rounds leave of a log."""
    transactions = _transactions(entries)
    aborted = {entry.offset for entry in entries if isinstance(entry, TransactionEnd) and not entry.is_commit}
    left = list(entries)
    delayed_end = 0
    for each in rounds:
        newest = {
            entry.key: entry.offset
            for entry in left
            if isinstance(entry, LoggedRecord)
            and entry.offset < each.looked_at_end
            and transactions.get(entry.offset) not in aborted
        }
        with_data = {transactions.get(entry.offset) for entry in left}
        # What was written anew before, and has waited since.
        removable_end = delayed_end if each.is_delay_over else 0
        left = [
            entry
            for entry in left
            if entry.offset >= each.cleaned_end
            or (
                _stays(entry, newest, transactions.get(entry.offset) in aborted, removable_end)
                if isinstance(entry, LoggedRecord)
                else entry.offset in with_data or entry.offset >= removable_end
            )
        ]
        delayed_end = max(delayed_end, each.cleaned_end)
    return left


def entries_of(
    release: str | Release, records: Iterable[CoordinatorRecord], *, first_offset: int = 0, producer_id: int = -1
) -> list[LogEntry]:
    """Return records as a release writes them, in order; with a producer they belong to its transaction."""
    release = Release.parse(release) if isinstance(release, str) else release
    entries: list[LogEntry] = []
    for offset, record in enumerate(records, first_offset):
        value = None
        if record.value is not None:
            layout = layout_in(release, record.value.SCHEMA.info.name)
            value = encode_value(record.value, record.version, layout=layout)
        entries.append(LoggedRecord(offset, encode_key(record.key), value, producer_id, producer_id >= 0))
    return entries


def _stays(record: LoggedRecord, newest: dict[bytes | None, int], is_aborted: bool, removable_end: int) -> bool:
    if is_aborted or record.offset < newest.get(record.key, record.offset):
        return False
    return record.value is not None or record.offset >= removable_end


def _transactions(entries: Sequence[LogEntry]) -> dict[int, int]:
    """Return the marker's offset for each record of a completed transaction."""
    ends: dict[int, int] = {}
    open_: dict[int, list[int]] = {}
    for entry in entries:
        if isinstance(entry, TransactionEnd):
            ends |= dict.fromkeys(open_.pop(entry.producer_id, ()), entry.offset)
        elif entry.is_transactional and entry.producer_id != NO_PRODUCER_ID:
            open_.setdefault(entry.producer_id, []).append(entry.offset)
    return ends


def _stable_end(entries: Sequence[LogEntry]) -> int:
    ended = _transactions(entries)
    for entry in entries:
        if isinstance(entry, LoggedRecord) and entry.is_transactional and entry.offset not in ended:
            return entry.offset
    return entries[-1].offset + 1 if entries else 0
