"""Transactions of the metadata log (KIP-868): records of an aborted or unfinished one do not count."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.pipeline.state.metadata.metadata_rows import MetadataRows, OtherRecord
from falkirk.protocol.messages import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from falkirk.pipeline.state.metadata.inconsistencies import Inconsistencies
    from falkirk.pipeline.state.metadata.metadata_rows import BulkRows

_MARKERS = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)
_NEVER = 1 << 62


@dataclass(slots=True, kw_only=True)
class Transactions:
    """Spans of records that do not count, by the orders of their first and last marker, both excluded."""

    dropped: list[tuple[int, int]] = field(default_factory=list)
    open_at: OtherRecord | None = None

    def counts(self, order: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which records count."""
        found = np.ones(len(order), np.bool_)
        for begin, end in self.dropped:
            found &= (order < begin) | (order > end)
        return found

    def keep(self, rows: BulkRows) -> BulkRows:
        """Return the rows that count."""
        return rows.select(self.counts(rows.order)) if self.dropped else rows


def without_transactions(rows: MetadataRows, problems: Inconsistencies) -> tuple[MetadataRows, Transactions]:
    """Return the records that count, without markers; a transaction that is open at the end is dropped.

    Earlier records have transactions of their own, because no snapshot ends inside one.
    """
    state = _transactions([other for other in rows.others if not other.is_earlier], problems)
    earlier = _transactions([other for other in rows.others if other.is_earlier], None)
    orders = np.array([other.order for other in rows.others], np.int64)
    is_earlier = np.array([other.is_earlier for other in rows.others], np.bool_)
    counts = np.where(is_earlier, earlier.counts(orders), state.counts(orders))
    others = [
        other
        for other, count in zip(rows.others, counts.tolist(), strict=True)
        if count and not isinstance(other.message, _MARKERS)
    ]
    kept = MetadataRows(
        files=rows.files,
        bulk={record: state.keep(found) for record, found in rows.bulk.items()},
        earlier={record: earlier.keep(found) for record, found in rows.earlier.items()},
        others=others,
        controls=rows.controls,
    )
    return kept, state


def _transactions(others: Iterable[OtherRecord], problems: Inconsistencies | None) -> Transactions:
    found = Transactions()
    for other in others:
        if not isinstance(other.message, _MARKERS):
            continue
        if isinstance(other.message, BeginTransactionRecord):
            if found.open_at is None:
                found.open_at = other
            elif problems is not None:
                reason = f"the transaction of offset {found.open_at.offset} is still open"
                problems.add(other, InconsistentRecordError("BeginTransactionRecord", reason))
        elif found.open_at is None:
            if problems is not None:
                error = InconsistentRecordError(type(other.message).__name__, "no transaction has begun")
                problems.add(other, error)
        else:
            if isinstance(other.message, AbortTransactionRecord):
                found.dropped.append((found.open_at.order, other.order))
            found.open_at = None
    if found.open_at is not None:
        found.dropped.append((found.open_at.order, _NEVER))
    return found
