"""The idempotent and transactional producers of one log: what they may append next, and duplicates (KIP-98).

Source: ProducerStateManager, ProducerAppendInfo, ProducerStateEntry.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.storage.log.append import AppendOrigin, AppendRefusedError
from falkirk.storage.log.verification import VERIFICATION_OFF
from falkirk.storage.producer_state import (
    NONE,
    CompletedTransaction,
    ProducerEntry,
    ProducerStates,
    transaction_marker,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.storage.log.verification import Verification

RECENT_BATCHES: Final = 5
"""A producer may have this many batches in flight, whose duplicates are recognized."""
_SEQUENCE_MAX: Final = (1 << 31) - 1
_EPOCH_MAX: Final = (1 << 15) - 1
# The transaction.version at which every transaction has an epoch of its own (KIP-890, part 2).
_EPOCH_BUMP_SINCE: Final = 2


class RecentBatch(NamedTuple):
    """A producer's batch in the log."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class LogProducers:
    """The producers of one log, as of `end_offset`.

    A snapshot has the last batch of each; the four before it are known only for what was appended since.
    """

    def __init__(self, entries: Iterable[ProducerEntry] = (), *, end_offset: int = 0) -> None:
        self.states = ProducerStates(entries)
        self.end_offset = end_offset
        self._recent: dict[int, deque[RecentBatch]] = {}
        # Ended transactions by first offset, with the marker's offset: until that is replicated they count as open.
        self._unreplicated: dict[int, int] = {}
        for entry in self.states.entries.values():
            if entry.last_offset != NONE:
                self._recent[entry.producer_id] = deque([_last_batch(entry)], maxlen=RECENT_BATCHES)

    @property
    def first_unstable_offset(self) -> int | None:
        """The start of the first transaction that is open, or whose marker is above the high watermark."""
        first = next(iter(self.states.open_transactions.values()), None)
        if self._unreplicated:
            unreplicated = min(self._unreplicated)
            return unreplicated if first is None else min(first, unreplicated)
        return first

    def is_open(self, producer_id: int, epoch: int) -> bool:
        """Return whether a producer of this epoch has a transaction open here."""
        entry = self.states.entries.get(producer_id)
        if entry is None or entry.producer_epoch != epoch:
            return False
        return entry.current_transaction_first_offset != NONE

    def epoch_of(self, producer_id: int) -> int:
        """Return the latest epoch of a producer in the log; -1 if it has none."""
        entry = self.states.entries.get(producer_id)
        return NONE if entry is None else entry.producer_epoch

    def check(
        self,
        batch: RecordBatch,
        origin: AppendOrigin,
        *,
        verification: Verification | None,
        guard: int,
        transaction_version: int,
    ) -> RecentBatch | None:
        """Check whether a producer's batch may be appended; return the batch that it duplicates.

        `verification` of the producer is under way; `guard`: that of the request. `transaction_version`: that of the
        coordinator which sent a marker.

        Raises AppendRefusedError: INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE,
        TRANSACTION_COORDINATOR_FENCED. `batch` needs its final offsets only for the messages.
        """
        entry = self.states.entries.get(batch.producer_id)
        is_clients = origin is AppendOrigin.CLIENT
        if is_clients and entry is not None:
            duplicate = self._duplicate(batch, entry)
            if duplicate is not None:
                return duplicate
        if batch.is_control:
            _check_marker_epoch(batch, entry, transaction_version)
            _check_coordinator_epoch(batch, entry)
            return None
        if entry is not None and batch.producer_epoch < entry.producer_epoch:
            reason = f"{_named(batch)} has epoch {batch.producer_epoch}, {entry.producer_epoch} was seen already"
            raise AppendRefusedError(ErrorCode.INVALID_PRODUCER_EPOCH, reason)
        if batch.is_transactional and guard != VERIFICATION_OFF:
            is_verified = verification is not None and verification.guard == guard
            if not is_verified and not self.is_open(batch.producer_id, batch.producer_epoch):
                reason = f"{_named(batch)} is not part of a transaction that is open here"
                raise AppendRefusedError(ErrorCode.INVALID_TXN_STATE, reason)
        if is_clients:
            _check_verified_sequence(batch, entry, verification)
            if entry is not None:
                _check_sequence(batch, entry)
        if entry is not None and entry.current_transaction_first_offset != NONE and not batch.is_transactional:
            reason = f"{_named(batch)} is not transactional, and the producer has a transaction open"
            raise AppendRefusedError(ErrorCode.INVALID_TXN_STATE, reason)
        return None

    def append(self, batch: RecordBatch) -> CompletedTransaction | None:
        """Update the producers after an append; return the transaction that it ends.

        Raises RemoteProtocolError as ProducerStates.
        """
        producer_id = batch.producer_id
        if producer_id < 0:
            return None
        before = self.states.entries.get(producer_id)
        completed = self.states.append(batch)
        recent = self._recent.get(producer_id)
        if before is not None and before.producer_epoch != batch.producer_epoch and recent is not None:
            recent.clear()
        if not batch.is_control:
            if recent is None:
                recent = self._recent[producer_id] = deque(maxlen=RECENT_BATCHES)
            after = self.states.entries[producer_id]
            recent.append(
                RecentBatch(
                    batch.base_sequence, after.last_sequence, batch.base_offset, after.last_offset, after.timestamp
                )
            )
        if completed is not None:
            self._unreplicated[completed.first_offset] = completed.last_offset
        return completed

    def on_high_watermark(self, offset: int) -> None:
        """Remove ended transactions whose markers are below `offset`."""
        if self._unreplicated:
            self._unreplicated = {first: last for first, last in self._unreplicated.items() if last >= offset}

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        """Remove producers that have been idle for that long, and have no open transaction."""
        for entry in list(self.states.entries.values()):
            if is_expired(entry, now_ms, expiration_ms):
                del self.states.entries[entry.producer_id]
                self._recent.pop(entry.producer_id, None)

    def _duplicate(self, batch: RecordBatch, entry: ProducerEntry) -> RecentBatch | None:
        if batch.producer_epoch != entry.producer_epoch:
            return None
        first, last = batch.base_sequence, batch.last_sequence
        for recent in self._recent.get(batch.producer_id, ()):
            if recent.first_sequence == first and recent.last_sequence == last:
                return recent
        return None


def is_expired(entry: ProducerEntry, now_ms: int, expiration_ms: int) -> bool:
    """Return whether a producer has been idle for that long, and has no open transaction."""
    return entry.current_transaction_first_offset == NONE and now_ms - entry.timestamp >= expiration_ms


def _last_batch(entry: ProducerEntry) -> RecentBatch:
    first = entry.last_sequence - entry.offset_delta
    return RecentBatch(
        first if first >= 0 or entry.last_sequence < 0 else first + _SEQUENCE_MAX + 1,
        entry.last_sequence,
        entry.last_offset - entry.offset_delta,
        entry.last_offset,
        entry.timestamp,
    )


def _check_marker_epoch(batch: RecordBatch, entry: ProducerEntry | None, transaction_version: int) -> None:
    """Check a marker's epoch: not below the producer's, and at transaction.version 2 above it.

    There the coordinator raises the epoch with each marker; only a marker that is sent again has the same.
    """
    if entry is None or batch.producer_epoch > entry.producer_epoch:
        return
    if batch.producer_epoch == entry.producer_epoch:
        is_open = entry.current_transaction_first_offset != NONE
        if transaction_version < _EPOCH_BUMP_SINCE or not is_open or batch.producer_epoch == _EPOCH_MAX:
            return
    reason = f"{_named(batch)} is a marker of epoch {batch.producer_epoch}, {entry.producer_epoch} was seen already"
    raise AppendRefusedError(ErrorCode.INVALID_PRODUCER_EPOCH, reason)


def _check_verified_sequence(
    batch: RecordBatch, entry: ProducerEntry | None, verification: Verification | None
) -> None:
    """Keep a batch back that came in behind one which is not appended yet."""
    if verification is None:
        return
    sequence, expected = batch.base_sequence, verification.lowest_sequence
    if verification.adds_partitions and (entry is None or entry.last_offset == NONE):
        # Each transaction has an epoch of its own, which begins with 0.
        expected = 0
    if sequence > expected:
        reason = f"{_named(batch)} has sequence number {sequence}, {expected} was not appended yet"
        raise AppendRefusedError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason)


def _check_sequence(batch: RecordBatch, entry: ProducerEntry) -> None:
    sequence = batch.base_sequence
    if batch.producer_epoch != entry.producer_epoch:
        # Without an epoch retention has removed all that the producer wrote: any sequence may follow.
        if sequence != 0 and entry.producer_epoch != NONE:
            reason = (
                f"{_named(batch)} begins epoch {batch.producer_epoch} after {entry.producer_epoch} with sequence number"
                f" {sequence}, 0 was expected"
            )
            raise AppendRefusedError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason)
        return
    last = entry.last_sequence
    if entry.producer_epoch != NONE and sequence != last + 1 and not (sequence == 0 and last == _SEQUENCE_MAX):
        reason = f"{_named(batch)} has sequence number {sequence}, the last one was {last}"
        raise AppendRefusedError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason)


def _check_coordinator_epoch(batch: RecordBatch, entry: ProducerEntry | None) -> None:
    try:
        marker = transaction_marker(batch)
    except RemoteProtocolError as error:
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, error.reason) from error
    if marker is not None and entry is not None and entry.coordinator_epoch > marker.coordinator_epoch:
        reason = (
            f"{_named(batch)} is a marker of coordinator epoch {marker.coordinator_epoch},"
            f" {entry.coordinator_epoch} was seen already"
        )
        raise AppendRefusedError(ErrorCode.TRANSACTION_COORDINATOR_FENCED, reason)


def _named(batch: RecordBatch) -> str:
    return f"the batch of producer {batch.producer_id} at offset {batch.base_offset}"
