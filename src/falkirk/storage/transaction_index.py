"""`.txnindex` of a segment: the transactions aborted by a marker in it (KIP-98), version 0.

entry := version int16, producer id int64, first offset int64, last offset int64 (the marker's), last stable offset
int64. The file exists only if there are entries.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from falkirk.storage.errors import CorruptFileError
from falkirk.storage.producer_state import CompletedTransaction

_ENTRY = struct.Struct(">hqqqq")
_VERSION = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortedTransaction:
    """One entry. `last_stable_offset` is the start of the next open transaction, or the offset behind the marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def parse_transaction_index(data: bytes, *, base_offset: int, file: str) -> tuple[AbortedTransaction, ...]:
    """Read a file.

    Raises CorruptFileError for a partial entry, another version, or last offsets that do not increase or lie before the
    segment.
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


def aborted_transaction(transaction: CompletedTransaction) -> AbortedTransaction:
    """Return the entry of an aborted transaction."""
    assert transaction.is_aborted
    return AbortedTransaction(
        producer_id=transaction.producer_id,
        first_offset=transaction.first_offset,
        last_offset=transaction.last_offset,
        last_stable_offset=transaction.last_stable_offset,
    )
