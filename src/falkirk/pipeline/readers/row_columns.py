"""Columns of several tables: the origin of a row, and times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from falkirk.columnar.arrow_arrays import buffer_of, constant_array
from falkirk.pipeline.tables.table import TIMESTAMP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from falkirk.pipeline.readers.origin import Origin

NO_TIME: Final = -1
"""Kafka's "no timestamp"."""
TIME_MIN: Final = -62_135_596_800_000
"""The first millisecond of the year 1."""
TIME_END: Final = 253_402_300_800_000
"""The first millisecond after the year 9999; Spark's own times overflow soon after it."""


def origin_columns(origin: Origin, count: int) -> dict[str, pa.Array[Any]]:  # Any: of the column's own type
    """Return the columns `node_id` and `source` for rows of one file."""
    return {
        "node_id": constant_array(origin.node_id, count, pa.int32()),
        "source": constant_array(origin.source, count, pa.string()),
    }


def timestamps(milliseconds: pa.Array[Any]) -> pa.Array[Any]:  # Any: int64 to timestamp
    """Convert milliseconds since 1970 to times; Kafka's "none" and times outside the years 1 to 9999 become null."""
    filled = milliseconds.fill_null(NO_TIME) if milliseconds.null_count else milliseconds
    numbers = filled.to_numpy(zero_copy_only=False)
    gone = (numbers == NO_TIME) | (numbers < TIME_MIN) | (numbers >= TIME_END)
    return (null_where(milliseconds, gone) if gone.any() else milliseconds).view(TIMESTAMP)


def null_if(array: pa.Array[Any], number: int) -> pa.Array[Any]:  # Any: of numbers
    """Replace a number that means "none" by null."""
    filled = array.fill_null(number) if array.null_count else array
    gone = filled.to_numpy(zero_copy_only=False) == number
    return null_where(array, gone) if gone.any() else array


def null_where(array: pa.Array[Any], gone: NDArray[np.bool_]) -> pa.Array[Any]:  # Any: of fixed width, or text
    """Set rows to null; `gone` must also be true for rows that are null already."""
    copied = array if array.offset == 0 else pa.concat_arrays([array])
    validity = buffer_of(np.packbits(~gone, bitorder="little"))
    return pa.Array.from_buffers(array.type, len(array), [validity, *copied.buffers()[1:]])
