"""Columns that every table has: the position of a record, and what its batch header says about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from falkirk.columnar.arrow_arrays import fixed_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from falkirk.columnar.record_frames import RecordBlock

    Arrays = dict[str, pa.Array[Any]]  # Any: of the column's own type


def place_columns(block: RecordBlock, rows: NDArray[np.int64]) -> Arrays:
    """Return position, offset, epoch and timestamp of some records of a block."""
    return {
        "position": fixed_array(block.position[rows], pa.int64()),
        "offset": fixed_array(block.offset[rows], pa.int64()),
        "epoch": fixed_array(block.batches.column("leader_epoch")[block.batch[rows]], pa.int32()),
        "timestamp": fixed_array(block.timestamp[rows], pa.int64()),
    }


def table_batch(schema: pa.Schema, arrays: Arrays) -> pa.RecordBatch:
    """Order arrays by a schema."""
    return pa.RecordBatch.from_arrays([arrays[name] for name in schema.names], schema=schema)


def joined_batch(schema: pa.Schema, parts: list[tuple[NDArray[np.int64], Arrays]]) -> pa.RecordBatch:
    """Join arrays of some rows each, given with the rows' numbers, in row order."""
    if len(parts) == 1:
        return table_batch(schema, parts[0][1])
    order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
    joined = {name: pa.concat_arrays([arrays[name] for _, arrays in parts]).take(order) for name in schema.names}
    return table_batch(schema, joined)
