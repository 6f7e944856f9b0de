"""Conditions of the loss catalogue on changes of partitions, asked of columns."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from falkirk.metadata.condition import AnyOf, Condition, IsSet

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def writer_mask(condition: Condition, rows: pa.RecordBatch) -> NDArray[np.bool_]:
    """Say for each row whether a condition holds; the catalogue says of changes only what they set."""
    match condition:
        case IsSet(name):
            return np.asarray(rows.column(name).is_valid().to_numpy(zero_copy_only=False))
        case AnyOf(parts):
            return reduce(np.logical_or, [writer_mask(part, rows) for part in parts])
    raise AssertionError(f"no columns for {condition}")
