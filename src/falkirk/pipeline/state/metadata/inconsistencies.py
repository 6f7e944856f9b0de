"""Records that contradict earlier ones: they are reported, and change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from falkirk.metadata.records.errors import InconsistentRecordError
    from falkirk.pipeline.state.metadata.metadata_rows import BulkRows, OtherRecord

INCONSISTENT: Final = "inconsistent record"
REPORTED_MAX: Final = 100
"""Contradictions of one kind that are reported one by one, the rest in one row: a lost batch can cause millions."""


class _Found(NamedTuple):
    order: int
    offset: int
    file: int
    records: int
    error: InconsistentRecordError


class Inconsistencies:
    """Collects contradictions, in any order."""

    def __init__(self) -> None:
        self._found: list[_Found] = []

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self._found)

    def add(self, other: OtherRecord, error: InconsistentRecordError) -> None:
        """Add one record."""
        self._found.append(_Found(other.order, other.offset, other.file, 1, error))

    def add_rows(
        self, rows: BulkRows, wrong: NDArray[np.int64], error_of: Callable[[int], InconsistentRecordError]
    ) -> None:
        """Add rows that are wrong in the same way; `error_of` returns the error of one of them."""
        for row in wrong[:REPORTED_MAX].tolist():
            self._add_row(rows, row, 1, error_of(row))
        if len(wrong) > REPORTED_MAX:
            row = int(wrong[REPORTED_MAX])
            self._add_row(rows, row, len(wrong) - REPORTED_MAX, error_of(row))

    def rows(self, files: Sequence[str], node_id: int | None) -> list[dict[str, Any]]:  # Any: values of columns
        """Return rows of the table `problems`, in the order of the records."""
        return [_row(found, files[found.file], node_id) for found in sorted(self._found, key=lambda each: each.order)]

    def _add_row(self, rows: BulkRows, row: int, count: int, error: InconsistentRecordError) -> None:
        self._found.append(_Found(int(rows.order[row]), int(rows.offset[row]), int(rows.file[row]), count, error))


def _row(found: _Found, source: str, node_id: int | None) -> dict[str, Any]:  # Any: same
    found.error.locate(found.offset, source)
    detail = str(found.error)
    if found.records > 1:
        detail += f"; it is the first of {found.records} more like it"
    return {
        "node_id": node_id,
        "source": source,
        "kind": INCONSISTENT,
        "position": None,
        "offset": found.offset,
        "count": found.records,
        "detail": detail,
    }
