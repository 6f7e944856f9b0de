"""The last batch of each idempotent producer in a partition (KIP-98), and its file, the producer snapshot.

`<offset>.snapshot` has the state before that offset: version int16 | CRC-32C uint32 of all behind it | number of
producers int32 | per producer: id int64, epoch int16, last sequence int32, last offset int64, offset delta int32,
timestamp int64, coordinator epoch int32, first offset of its open transaction int64.

All releases from 3.7 to 4.4 write version 1 and read no other.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from crc32c import crc32c

from falkirk.protocol.control_record import ControlRecordType, decode_control_record
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages.end_txn_marker import EndTxnMarker
from falkirk.protocol.record_batch import RecordBatch
from falkirk.storage.errors import CorruptFileError

NONE = -1
"""No data batch yet, no open transaction."""
_HEAD = struct.Struct(">hIi")
_ENTRY = struct.Struct(">qhiqiqiq")
_FIELDS = (
    "producer_id",
    "producer_epoch",
    "last_sequence",
    "last_offset",
    "offset_delta",
    "timestamp",
    "coordinator_epoch",
    "current_transaction_first_offset",
)
_CRC_END = 6
_VERSION = 1


class ProducerEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """State of one producer. `offset_delta` is the last batch's last offset minus its base offset.

    Created for each appended batch.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int = NONE
    last_offset: int = NONE
    offset_delta: int = 0
    timestamp: int = NONE
    coordinator_epoch: int = NONE
    current_transaction_first_offset: int = NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedTransaction:
    """A transaction that a marker ended. `last_offset` is the marker's.

    `last_stable_offset` is the start of the next open transaction, or the offset behind the marker.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int
    is_aborted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionMarker:
    """The marker by which a coordinator ended a transaction."""

    coordinator_epoch: int
    timestamp: int
    is_aborted: bool


class ProducerStates:
    """Replays batches in offset order, as a broker does when it recovers a partition.

    Source: ProducerStateManager, ProducerAppendInfo (origin REPLICATION: stale epochs are accepted).
    """

    def __init__(self, entries: Iterable[ProducerEntry] = ()) -> None:
        self.entries = {entry.producer_id: entry for entry in entries}
        """State by producer id."""
        opened = [entry for entry in self.entries.values() if entry.current_transaction_first_offset != NONE]
        opened.sort(key=lambda entry: entry.current_transaction_first_offset)
        self.open_transactions = {entry.producer_id: entry.current_transaction_first_offset for entry in opened}
        """First offset of each open transaction by producer id, in increasing order."""

    def append(self, batch: RecordBatch) -> CompletedTransaction | None:
        """Replay one batch; return the transaction that it ends, if that had data here.

        Raises RemoteProtocolError if a producer's control batch has no transaction marker.
        """
        if batch.producer_id < 0:
            return None
        before = self.entries.get(batch.producer_id)
        if not batch.is_control:
            self.entries[batch.producer_id] = _after_data(batch, before)
            if batch.is_transactional:
                self.open_transactions.setdefault(batch.producer_id, batch.base_offset)
            return None
        marker = transaction_marker(batch)
        if marker is None:
            return None
        completed = self._completed(batch, before, is_aborted=marker.is_aborted)
        is_same_epoch = before is not None and before.producer_epoch == batch.producer_epoch
        self.entries[batch.producer_id] = ProducerEntry(
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            last_sequence=before.last_sequence if before and is_same_epoch else NONE,
            last_offset=before.last_offset if before and is_same_epoch else NONE,
            offset_delta=before.offset_delta if before and is_same_epoch else 0,
            timestamp=marker.timestamp,
            coordinator_epoch=marker.coordinator_epoch,
        )
        return completed

    def is_last_of_its_producer(self, batch: RecordBatch) -> bool:
        """Return whether the cleaner must keep at least the batch's header: it has the producer's last sequence.

        A producer without data batches needs its last marker, for the epoch in it. Call it after all batches of the
        partition have been replayed.
        """
        entry = self.entries.get(batch.producer_id)
        if entry is None:
            return False
        if entry.last_offset != NONE:
            return batch.last_offset == entry.last_offset
        return batch.is_control and batch.producer_epoch == entry.producer_epoch

    def _completed(
        self, batch: RecordBatch, before: ProducerEntry | None, *, is_aborted: bool
    ) -> CompletedTransaction | None:
        if before is None or before.current_transaction_first_offset == NONE:
            return None
        first_offset = self.open_transactions.pop(batch.producer_id)
        return CompletedTransaction(
            producer_id=batch.producer_id,
            first_offset=first_offset,
            last_offset=batch.base_offset,
            last_stable_offset=next(iter(self.open_transactions.values()), batch.base_offset + 1),
            is_aborted=is_aborted,
        )


def transaction_marker(batch: RecordBatch) -> TransactionMarker | None:
    """Read a producer's control batch; None if it is empty: its transaction has been cleaned away completely.

    Raises RemoteProtocolError if it has no transaction marker.
    """
    records = batch.records()
    if not records:
        return None
    try:
        control = decode_control_record(records[0].key, records[0].value)
    except RemoteProtocolError as error:
        reason = f"{error.reason}, batch of offset {batch.base_offset}"
        raise RemoteProtocolError(reason, offset=batch.position) from error
    if not isinstance(control.message, EndTxnMarker):
        reason = f"control record of type {control.record_type} is no marker of a transaction"
        raise RemoteProtocolError(f"{reason}, batch of offset {batch.base_offset}", offset=batch.position)
    return TransactionMarker(
        coordinator_epoch=control.message.coordinator_epoch,
        timestamp=records[0].timestamp,
        is_aborted=control.record_type == ControlRecordType.ABORT,
    )


def parse_producer_snapshot(data: bytes, *, file: str) -> tuple[ProducerEntry, ...]:
    """Return the entries in the file's order. Raises CorruptFileError for another version, a wrong size or CRC."""
    if len(data) < _HEAD.size:
        reason = f"file has {len(data)} bytes, a header has {_HEAD.size}"
        raise CorruptFileError(reason, offset=len(data), file=file)
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise CorruptFileError(f"version is {version}, 1 was expected", offset=0, file=file)
    if len(data) != _HEAD.size + count * _ENTRY.size:
        reason = f"{count} producers do not fit a file of {len(data)} bytes"
        raise CorruptFileError(reason, offset=_CRC_END, file=file)
    computed = crc32c(memoryview(data)[_CRC_END:])
    if crc != computed:
        raise CorruptFileError(f"CRC is {computed}, the file says {crc}", offset=2, file=file)
    entries = _ENTRY.iter_unpack(memoryview(data)[_HEAD.size :])
    return tuple(ProducerEntry(**dict(zip(_FIELDS, fields, strict=True))) for fields in entries)


def format_producer_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """Write a file."""
    packed = [_ENTRY.pack(*(getattr(entry, field) for field in _FIELDS)) for entry in entries]
    body = len(packed).to_bytes(4, "big") + b"".join(packed)
    return _VERSION.to_bytes(2, "big") + crc32c(body).to_bytes(4, "big") + body


def _after_data(batch: RecordBatch, before: ProducerEntry | None) -> ProducerEntry:
    first_offset = before.current_transaction_first_offset if before else NONE
    if first_offset == NONE and batch.is_transactional:
        first_offset = batch.base_offset
    return ProducerEntry(
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        last_sequence=batch.last_sequence,
        last_offset=batch.last_offset,
        offset_delta=batch.last_offset_delta,
        timestamp=batch.max_timestamp,
        coordinator_epoch=before.coordinator_epoch if before else NONE,
        current_transaction_first_offset=first_offset,
    )
