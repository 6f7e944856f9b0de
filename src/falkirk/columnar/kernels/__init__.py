"""The inner loops of the bulk decoders, twice: in numpy, and compiled by numba (an optional extra).

Both take and give the same arrays; which one runs decides speed alone. Positions count in `data`, an array of bytes.
No kernel reads outside of `data` or allocates by a number that it read: what does not fit comes out as not sound, and
the row codec says why.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from falkirk.columnar.field_plan import FieldPlan

NULL = -1
"""Size or count of a null."""
ABSENT = -2
"""Count, or position, of a tagged field that is not there."""


NO_TYPE = 0xFFFF
"""No metadata record, or one with a type or version above 127."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordScan:
    """Where the parts of each record are: positions and sizes in bytes (NULL for a null key or value)."""

    sound: NDArray[np.bool_]
    attributes: NDArray[np.int8]
    timestamp_delta: NDArray[np.int64]
    offset_delta: NDArray[np.int64]
    key_at: NDArray[np.int64]
    key_size: NDArray[np.int64]
    value_at: NDArray[np.int64]
    value_size: NDArray[np.int64]
    headers_at: NDArray[np.int64]
    header_count: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldScan:
    """Where the fields of each message are: plan.fields, then plan.tagged, one array per field.

    `at` is the position of the value or of the first element (ABSENT for a tagged field that is not there), `count`
    the number of elements (NULL, ABSENT); the counts of fixed-width fields mean nothing.
    """

    # False where the bytes do not parse, or hold what only the row codec handles (tagged fields that are unknown).
    sound: NDArray[np.bool_]
    at: list[NDArray[np.int64]]
    count: list[NDArray[np.int64]]


def new_scan(rows: int) -> RecordScan:
    """Make room for the scan of some records."""
    numbers = {each.name: np.empty(rows, np.int64) for each in fields(RecordScan)}
    return RecordScan(**numbers | {"sound": np.empty(rows, np.bool_), "attributes": np.empty(rows, np.int8)})


def select_scan(scan: RecordScan, rows: slice | NDArray[Any]) -> RecordScan:  # Any: numbers of rows, or a mask
    """Give the scan of some of the records; a slice shares their memory."""
    return RecordScan(**{each.name: getattr(scan, each.name)[rows] for each in fields(RecordScan)})


class Kernels(Protocol):
    """What both implementations offer."""

    # How many rows each of the steps after hopping should get at a time.
    rows_per_block: int

    def hop_records(
        self,
        data: NDArray[np.uint8],
        body_start: NDArray[np.int64],
        body_end: NDArray[np.int64],
        count: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Give the start of every record of every batch, and which batches are filled exactly by their records.

        `count[i] * RECORD_BYTES_MIN` must not be more than the bytes of body `i`.
        """

    def scan_records(self, data: NDArray[np.uint8], start: NDArray[np.int64], end: NDArray[np.int64]) -> RecordScan:
        """Take records apart that lie between `start` and `end`. Headers are located, not checked."""

    def peek_types(self, data: NDArray[np.uint8], start: NDArray[np.int64]) -> NDArray[np.uint16]:
        """Give `record type << 8 | record version` of the metadata record at each (rising) position.

        NO_TYPE for what does not begin as Kafka writes metadata records: no timestamp delta, no key, small varints.
        """

    def scan_fields(
        self, plan: FieldPlan, data: NDArray[np.uint8], start: NDArray[np.int64], end: NDArray[np.int64]
    ) -> FieldScan:
        """Locate the fields of messages that must fill the bytes between `start` and `end`."""

    def frame_types(
        self, data: NDArray[np.uint8], value_at: NDArray[np.int64], value_end: NDArray[np.int64]
    ) -> NDArray[np.uint16]:
        """Give `record type << 8 | record version` of each metadata record's value.

        NO_TYPE where the frame is not three bytes, as Kafka writes it for all types and versions below 128.
        """

    def gather_fixed(self, data: NDArray[np.uint8], at: NDArray[np.int64], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Copy one value of `dtype` (any layout of bytes, big-endian or a struct) from each position."""

    def gather_lists(
        self, data: NDArray[np.uint8], at: NDArray[np.int64], offsets: NDArray[np.int64], dtype: np.dtype[Any]
    ) -> NDArray[Any]:
        """Copy `offsets[i + 1] - offsets[i]` values of `dtype` from each position, in native byte order."""

    def copy_spans(
        self,
        source: NDArray[np.uint8],
        source_at: NDArray[np.int64],
        target: NDArray[np.uint8],
        target_at: NDArray[np.int64],
        size: NDArray[np.int64],
    ) -> None:
        """Copy `size[i]` bytes from each source position to its target position; targets do not overlap."""


def load_kernels(*, jit: bool) -> Kernels:
    """Give numpy's kernels, or numba's. Raises ImportError with what to install if numba is wanted and missing."""
    if not jit:
        from falkirk.columnar.kernels import numpy_kernels  # noqa: PLC0415 - the one that is not wanted stays unloaded

        return numpy_kernels.NUMPY_KERNELS
    try:
        from falkirk.columnar.kernels import numba_kernels  # noqa: PLC0415 - half a second, and optional
    except ImportError as error:
        raise ImportError("compiled decoding needs numba: install falkirk[numba]") from error
    return numba_kernels.NUMBA_KERNELS
