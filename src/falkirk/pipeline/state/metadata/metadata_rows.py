"""Metadata records as read: types with many records as columns, all others as objects.

Every record has an `order`: a snapshot's records come first, the log's behind them, so that the last record written has
the highest one. Records of the log that the snapshot stands for are `earlier`: they change nothing, but still show
where something was written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from falkirk.columnar import schemas
from falkirk.columnar.message_columns import UNKNOWN_TAGS
from falkirk.metadata.losses.condition import AnyOf, Condition, IsSet
from falkirk.metadata.losses.loss_catalogue import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from falkirk.protocol.schema import WireMessage

    Column = pa.Array[Any]  # Any: of the column's own type

PARTITION: Final = "PartitionRecord"
PARTITION_CHANGE: Final = "PartitionChangeRecord"
TOPIC: Final = "TopicRecord"
CONFIG: Final = "ConfigRecord"

SETS_DIRECTORIES: Final = "sets_directories"
SETS_REPLICA_STATE: Final = "sets_replica_state"
WRITER_COLUMNS: Final = {SETS_DIRECTORIES: "directory_assignment", SETS_REPLICA_STATE: "eligible_leader_replicas"}
"""Column of a change -> kind of loss whose place is that of the last change with the column set."""

ORDER_MAX: Final = 1 << 61
"""No log reaches such offsets: a bit flipped, and arithmetic with orders must stay within 64 bits."""

_NOT_KEPT: Final = frozenset({"position", "epoch", "timestamp", "record_version"})
# Of earlier records only the object that they write is needed, and of changes the part of it.
_EARLIER: Final = {
    PARTITION: ("topic_id", "partition_id", UNKNOWN_TAGS),
    PARTITION_CHANGE: ("topic_id", "partition_id", SETS_DIRECTORIES, SETS_REPLICA_STATE, UNKNOWN_TAGS),
    TOPIC: ("topic_id", "name", UNKNOWN_TAGS),
    CONFIG: ("resource_type", "resource_name", "name", UNKNOWN_TAGS),
}
_WRITERS: Final = {rule.kind: rule.writers for rule in CATALOGUE}


def _kept(schema: pa.Schema) -> pa.Schema:
    return pa.schema([each for each in schema if each.name not in _NOT_KEPT])


BULK: Final[dict[str, pa.Schema]] = {
    PARTITION: _kept(schemas.PARTITION_RECORDS),
    PARTITION_CHANGE: _kept(schemas.PARTITION_CHANGE_RECORDS),
    TOPIC: _kept(schemas.TOPIC_RECORDS),
    CONFIG: _kept(schemas.CONFIG_RECORDS),
}
"""Record types of which a cluster may have a million -> the columns that are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkRows:
    """Records of one type in the order they were read, as columns, each with its order, offset and file."""

    columns: dict[str, Column]
    order: NDArray[np.int64]
    offset: NDArray[np.int64]
    # Index of the file.
    file: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.order)

    def select(self, wanted: NDArray[np.bool_]) -> BulkRows:
        """Return some of the rows."""
        if wanted.all():
            return self
        mask = pa.array(wanted)
        return BulkRows(
            columns={name: column.filter(mask) for name, column in self.columns.items()},
            order=self.order[wanted],
            offset=self.offset[wanted],
            file=self.file[wanted],
        )

    def numbers(self, name: str) -> NDArray[Any]:  # Any: the column's own type
        """Return a column without nulls."""
        return np.asarray(self.columns[name].to_numpy(zero_copy_only=False))


class OtherRecord(NamedTuple):
    """A record that is not of a bulk type, or a control record."""

    order: int
    offset: int
    epoch: int
    timestamp: int
    file: int
    is_earlier: bool
    message: WireMessage


@dataclass(slots=True, kw_only=True)
class MetadataRows:
    """All records read. `files` has the name of each file."""

    files: list[str] = field(default_factory=list)
    # Records that make up the state, and earlier ones; by record type.
    bulk: dict[str, BulkRows] = field(default_factory=dict)
    earlier: dict[str, BulkRows] = field(default_factory=dict)
    others: list[OtherRecord] = field(default_factory=list)
    controls: list[OtherRecord] = field(default_factory=list)


class RowParts:
    """Collects the batches of rows of one record type."""

    def __init__(self, record: str) -> None:
        self._record = record
        self._parts: list[tuple[pa.RecordBatch, int, int]] = []

    def add(self, rows: pa.RecordBatch, *, file: int, shift: int) -> None:
        """Add rows of a file; `shift` is added to their offsets to make orders."""
        if rows.num_rows:
            self._parts.append((rows, file, shift))

    def rows(self) -> BulkRows:
        """Return all rows, and release the parts."""
        offsets = [np.asarray(rows.column("offset")) for rows, _, _ in self._parts]
        shifts = [shift for _, _, shift in self._parts]
        orders = [np.minimum(each, ORDER_MAX) + shift for each, shift in zip(offsets, shifts, strict=True)]
        files = [np.full(rows.num_rows, file, np.int32) for rows, file, _ in self._parts]
        types = _types(self._parts[0][0] if self._parts else None, self._record)
        pieces = {name: [rows.column(name) for rows, _, _ in self._parts] for name in types if name != "offset"}
        self._parts = []
        # Column by column, so that only one of them is in memory twice.
        columns = {name: _joined(pieces.pop(name), types[name]) for name in list(pieces)}
        return BulkRows(
            columns=columns,
            order=_concatenated(orders, np.int64),
            offset=_concatenated(offsets, np.int64),
            file=_concatenated(files, np.int32),
        )


def state_rows(record: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the columns that the state needs."""
    return _with_writer_columns(rows) if record == PARTITION_CHANGE else rows


def earlier_rows(record: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the columns needed of records that the snapshot stands for."""
    return state_rows(record, rows).select(["offset", *_EARLIER[record]])


def _with_writer_columns(rows: pa.RecordBatch) -> pa.RecordBatch:
    for column, kind in WRITER_COLUMNS.items():
        mask = _writer_mask(_WRITERS[kind][PARTITION_CHANGE], rows)
        rows = rows.append_column(column, pa.array(mask))
    return rows


def _writer_mask(condition: Condition, rows: pa.RecordBatch) -> NDArray[np.bool_]:
    """Evaluate a condition on every row; the catalogue asks of changes only what they set."""
    match condition:
        case IsSet(name):
            return np.asarray(rows.column(name).is_valid().to_numpy(zero_copy_only=False))
        case AnyOf(parts):
            return reduce(np.logical_or, [_writer_mask(part, rows) for part in parts])
    raise AssertionError(f"no columns for {condition}")


def _types(rows: pa.RecordBatch | None, record: str) -> dict[str, pa.DataType]:
    if rows is None:
        empty = BULK[record].empty_table().to_batches()
        rows = state_rows(record, empty[0] if empty else pa.RecordBatch.from_pylist([], schema=BULK[record]))
    return {each.name: each.type for each in rows.schema}


def _joined(arrays: list[Column], type_: pa.DataType) -> Column:
    if not arrays:
        return pa.array([], type_)
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


def _concatenated(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:  # Any: of the dtype
    return np.concatenate([np.empty(0, dtype), *arrays]) if arrays else np.empty(0, dtype)
