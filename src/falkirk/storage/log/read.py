"""Results and limits of reads of a log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from falkirk.structs import FrozenLeaf

if TYPE_CHECKING:
    from falkirk.storage.transaction_index import AbortedTransaction


class FetchIsolation(IntEnum):
    """The end that a reader may see."""

    LOG_END = 0
    """Replicas: everything."""
    HIGH_WATERMARK = 1
    """Consumers: what all in-sync replicas have."""
    TXN_COMMITTED = 2
    """Consumers of read_committed: up to the first open transaction."""


class FetchedData(FrozenLeaf):
    """Whole batches as stored, from the one that contains the offset on.

    `records` may end in the middle of a batch, unless it is the first (as in Kafka, readers drop the rest).
    `aborted_transactions` only for TXN_COMMITTED.
    """

    records: bytes | memoryview = b""
    first_offset: int = 0
    aborted_transactions: "tuple[AbortedTransaction, ...] | None" = None


class OffsetOutOfRangeError(Exception):
    """The offset is not between the log's start and the end that the reader may see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampOffset:
    """A record found by its timestamp. `leader_epoch` is that of its batch, None if unknown."""

    timestamp: int
    offset: int
    leader_epoch: int | None = None
