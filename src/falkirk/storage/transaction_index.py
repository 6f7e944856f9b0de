"""`.txnindex` of a segment: the transactions that were aborted by a marker in it (KIP-98), version 0.

entry := version int16, producer id int64, first offset int64, last offset int64 (the marker's), last stable offset
int64. The file is only there if there are any.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from falkirk.protocol.record_batch import RecordBatch
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.producer_state import CompletedTransaction, ProducerStates


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortedTransaction:
    """One entry. `last_stable_offset` is where the next open transaction begins, or the offset behind the marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def parse_transaction_index(data: bytes, *, base_offset: int, file: str) -> tuple[AbortedTransaction, ...]:
    """Read a file.

    Raises CorruptFileError if it has a fraction of an entry, another version, or last offsets that do not increase or
    lie before the segment.
    """
    if len(data) % _ENTRY.size:
        reason = f"{len(data)} bytes are not a whole number of entries of {_ENTRY.size} bytes"
        raise CorruptFileError(reason, offset=len(data) - len(data) % _ENTRY.size, file=file)
    entries: list[AbortedTransaction] = []
    for index, (version, producer_id, first, last, stable) in enumerate(_ENTRY.iter_unpack(data)):
        if version != _VERSION:
            reason = f"entry {index} has version {version}, 0 was expected"
            raise CorruptFileError(reason, offset=index * _ENTRY.size, file=file)
        entries.append(
            AbortedTransaction(producer_id=producer_id, first_offset=first, last_offset=last, last_stable_offset=stable)
        )
    for index, (before, after) in enumerate(pairwise([base_offset - 1, *(entry.last_offset for entry in entries)])):
        if after <= before:
            reason = f"entry {index} ends at offset {after}, more than {before} was expected"
            raise CorruptFileError(reason, offset=index * _ENTRY.size, file=file)
    return tuple(entries)


def format_transaction_index(entries: Iterable[AbortedTransaction]) -> bytes:
    """Write a file."""
    return b"".join(
        _ENTRY.pack(_VERSION, entry.producer_id, entry.first_offset, entry.last_offset, entry.last_stable_offset)
        for entry in entries
    )


def rebuild_transaction_index(
    batches: Iterable[RecordBatch], producers: ProducerStates
) -> tuple[AbortedTransaction, ...]:
    """Make the index of a segment as Kafka's recovery does.

    `producers` is the state at the segment's begin and is brought to its end, ready for the next segment.
    """
    completed = (producers.append(batch) for batch in batches)
    return tuple(
        aborted_transaction(transaction)
        for transaction in completed
        if transaction is not None and transaction.is_aborted
    )


def aborted_transaction(transaction: CompletedTransaction) -> AbortedTransaction:
    """Give the entry of a transaction that a marker aborted."""
    assert transaction.is_aborted
    return AbortedTransaction(
        producer_id=transaction.producer_id,
        first_offset=transaction.first_offset,
        last_offset=transaction.last_offset,
        last_stable_offset=transaction.last_stable_offset,
    )


_ENTRY = struct.Struct(">hqqqq")
_VERSION = 0
