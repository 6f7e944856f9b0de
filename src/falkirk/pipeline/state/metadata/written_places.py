"""Places where objects were written last, as columns: type of the record, its offset, the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from falkirk.pipeline.tables.table import PLACE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

NOWHERE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingRows:
    """Rows of one record type that may have written something, and the number of each row's object."""

    record: str
    key: Ints
    order: Ints
    offset: Ints
    file: NDArray[np.int32]

    def select(self, wanted: NDArray[np.bool_]) -> WritingRows:
        """Return some of them."""
        return WritingRows(
            record=self.record,
            key=self.key[wanted],
            order=self.order[wanted],
            offset=self.offset[wanted],
            file=self.file[wanted],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPlaces:
    """The place of each object; `record` is an index into `records`, NOWHERE if no row wrote the object."""

    records: tuple[str, ...]
    record: NDArray[np.int8]
    offset: Ints
    file: NDArray[np.int32]

    def array(self, files: pa.Array[Any], rows: Ints) -> pa.StructArray:  # Any: string
        """Return the places of some objects as a column."""
        record = self.record[rows]
        mask = record == NOWHERE
        children: list[pa.Array[Any]] = [  # Any: of the field's own type
            pa.array(self.records, pa.string()).take(np.maximum(record, 0)),
            pa.array(self.offset[rows]),
            files.take(self.file[rows]),
        ]
        fields = [PLACE.field(index) for index in range(PLACE.num_fields)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=pa.array(mask) if mask.any() else None)


def written_places(objects: int, writers: Sequence[WritingRows]) -> WrittenPlaces:
    """Find the last row that wrote each object."""
    order = np.full(objects, -1)
    offset = np.zeros(objects, np.int64)
    file = np.zeros(objects, np.int32)
    record = np.full(objects, NOWHERE, np.int8)
    for index, rows in enumerate(writers):
        at = _last(rows, objects)
        newer = np.flatnonzero((at >= 0) & (rows.order[at] > order)) if len(rows.key) else np.empty(0, np.int64)
        last = at[newer]
        order[newer], offset[newer], file[newer] = rows.order[last], rows.offset[last], rows.file[last]
        record[newer] = index
    return WrittenPlaces(records=tuple(rows.record for rows in writers), record=record, offset=offset, file=file)


def joined(rows: WritingRows, more: WritingRows) -> WritingRows:
    """Merge rows of one record type, in order."""
    if not len(more.key):
        return rows
    order = np.concatenate([rows.order, more.order])
    sequence = np.argsort(order, kind="stable")
    return WritingRows(
        record=rows.record,
        key=np.concatenate([rows.key, more.key])[sequence],
        order=order[sequence],
        offset=np.concatenate([rows.offset, more.offset])[sequence],
        file=np.concatenate([rows.file, more.file])[sequence],
    )


def _last(rows: WritingRows, objects: int) -> Ints:
    last = np.full(objects, -1)
    last[rows.key] = np.arange(len(rows.key))
    return last
