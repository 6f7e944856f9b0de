"""A table of the warehouse, and columns that many of them have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

CLUSTER: Final = "cluster"
"""The column that partitions every table: the name of the cluster, its id if it has no name."""
CLUSTER_COMMENT: Final = "Name of the cluster: from the inventory, else its cluster id."

TIMESTAMP: Final = pa.timestamp("ms", tz="UTC")
INTS: Final = pa.list_(pa.int32())
STRINGS: Final = pa.list_(pa.string())
PLACE: Final = pa.struct(
    [pa.field("record", pa.string()), pa.field("offset", pa.int64()), pa.field("source", pa.string())]
)
"""Where something was written last: type of the record, its offset (in a snapshot counted from 0), the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of the warehouse. `schema` lacks the column `cluster`, which is part of each data file's path."""

    name: str
    comment: str
    schema: pa.Schema

    @property
    def full_schema(self) -> pa.Schema:
        """All columns, `cluster` first."""
        return pa.schema([column(CLUSTER, pa.string(), CLUSTER_COMMENT, nullable=False), *self.schema])

    def rows(self, rows: Iterable[dict[str, Any]]) -> pa.RecordBatch:  # Any: values as the columns have them
        """Make a batch of rows; columns that a row lacks are null."""
        return pa.RecordBatch.from_pylist(list(rows), schema=self.schema)


def column(name: str, type_: pa.DataType, comment: str, *, nullable: bool = True) -> pa.Field[pa.DataType]:
    """Make a column with its comment (`field.metadata[b"comment"]`)."""
    return pa.field(name, type_, nullable=nullable, metadata={"comment": comment})


def comment_of(field: pa.Field[pa.DataType]) -> str:
    """Return a column's comment."""
    assert field.metadata is not None, f"column {field.name} was made without `column`"
    return field.metadata[b"comment"].decode()


NODE_ID: Final = column("node_id", pa.int32(), "Node that owns the file's directory.")
SOURCE: Final = column("source", pa.string(), "File that the row comes from.")
POSITION: Final = column(
    "position", pa.int64(), "Byte of the file where the record starts; in a compressed batch, where the batch does."
)
BATCH_COLUMNS: Final = (
    column("offset", pa.int64(), "Offset of the record."),
    column("epoch", pa.int32(), "Epoch of the leader that appended the batch."),
    column("timestamp", TIMESTAMP, "Time of the record."),
    column("producer_id", pa.int64(), "Producer of the batch; -1 without."),
    column("producer_epoch", pa.int16(), "Epoch of that producer; -1 without."),
)
"""Columns that every record has, of its own and of its batch."""
WRITTEN: Final = column("written", PLACE, "The record that wrote or changed the object last.")
