"""Puts rewritten records into batches as KRaft writes them: null keys, no headers, all timestamp deltas 0.

A record is a span of old bytes, cut or not, with a changed version and new tagged fields where its message asks for it.
All records of some batches are laid out first, then written into one piece of memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from crc32c import crc32c

from falkirk.protocol.record_batch import (
    ATTRIBUTES_AT,
    CRC_AT,
    HEADER,
    HEADER_BYTES,
    LENGTH_END,
    MAGIC,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from falkirk.columnar.batch_table import BatchTable
    from falkirk.columnar.kernels import Kernels

    Ints = NDArray[np.int64]

BATCH_BYTES_MAX: Final = 8 * 1024 * 1024
"""KRaft's limit. Batches stay those of the source; one that would get larger is cut in two or more."""
NO_VERSION: Final = -1
"""`version` of a record that keeps its own, and its tagged fields with it."""
_VERSION_AT: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenRecords:
    """One row a record, in order. Values may come from the old bytes, or from `new_bytes`."""

    # Position of the span to copy, and its size.
    source_at: Ints
    size: Ints
    is_new: NDArray[np.bool_]
    # Pieces of `new_bytes`, in the order in which they were made.
    new_parts: list[NDArray[np.uint8]]
    # A record whose end was cut off gets this version, and tagged fields anew; NO_VERSION: it is whole.
    version: NDArray[np.int16]
    # The one tagged field that a cut PartitionRecord can have: its leader recovery state, unless 0.
    recovery_state: NDArray[np.int8]
    # Index of the batch that the record stood in.
    batch: Ints

    @classmethod
    def unchanged(cls, value_at: Ints, value_size: Ints, batch: Ints) -> RewrittenRecords:
        """Give records as they are."""
        rows = len(value_at)
        return cls(
            source_at=value_at.copy(),
            size=value_size.copy(),
            is_new=np.zeros(rows, np.bool_),
            new_parts=[],
            version=np.full(rows, NO_VERSION, np.int16),
            recovery_state=np.zeros(rows, np.int8),
            batch=batch,
        )

    @property
    def new_bytes(self) -> NDArray[np.uint8]:
        """Give all new values, behind each other."""
        return np.concatenate([np.empty(0, np.uint8), *self.new_parts])

    def add_new(self, rows: Ints, values: NDArray[np.uint8]) -> None:
        """Let the `source_at` of some records, which counts in `values`, count in `new_bytes` instead."""
        self.is_new[rows] = True
        self.source_at[rows] += sum(map(len, self.new_parts))
        self.new_parts.append(values)

    def with_values(self, rows: Ints, values: list[Sequence[bytes]]) -> RewrittenRecords:
        """Put whole new values, any number of them, in the place of each of some records."""
        times = np.ones(len(self.size), np.int64)
        times[rows] = [len(each) for each in values]
        replaced = np.zeros(len(self.size), np.bool_)
        replaced[rows] = True
        found = RewrittenRecords(
            source_at=np.repeat(self.source_at, times),
            size=np.repeat(self.size, times),
            is_new=np.repeat(self.is_new, times),
            new_parts=list(self.new_parts),
            version=np.repeat(self.version, times),
            recovery_state=np.repeat(self.recovery_state, times),
            batch=np.repeat(self.batch, times),
        )
        flat = [value for each in values for value in each]
        new = np.flatnonzero(np.repeat(replaced, times))
        found.size[new] = size = np.array([len(value) for value in flat], np.int64)
        found.source_at[new] = np.cumsum(size) - size
        found.add_new(new, np.frombuffer(b"".join(flat), np.uint8))
        return found


def write_batches(
    kernels: Kernels,
    data: NDArray[np.uint8],
    records: RewrittenRecords,
    source: BatchTable,
    *,
    base_offset: int,
    epoch: int | None,
) -> memoryview:
    """Write records whose `source_at` counts in `data`, in the batches of `source` that they stood in.

    A batch keeps its epoch (unless `epoch` is given) and its base timestamp, which is that of all its records.
    """
    if not len(records.size):
        return memoryview(b"")
    layout = _layout(records)
    out = np.zeros(layout.bytes_in_all, np.uint8)
    new_bytes = records.new_bytes
    step = kernels.rows_per_block
    for low in range(0, len(records.size), step):
        _write_records(kernels, (data, new_bytes), records, layout, rows=slice(low, low + step), out=out)
    view = out.data
    epochs = source.column("leader_epoch")
    timestamps = source.column("base_timestamp")
    for first, behind, start, end in layout.batches():
        origin = int(records.batch[first])
        HEADER.pack_into(
            view,
            start,
            base_offset + first,
            end - start - LENGTH_END,
            int(epochs[origin]) if epoch is None else epoch,
            MAGIC,
            0,
            0,
            behind - first - 1,
            int(timestamps[origin]),
            int(timestamps[origin]),
            NO_PRODUCER_ID,
            NO_PRODUCER_EPOCH,
            NO_SEQUENCE,
            behind - first,
        )
        view[start + CRC_AT : start + ATTRIBUTES_AT] = crc32c(view[start + ATTRIBUTES_AT : end]).to_bytes(4, "big")
    return view


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Where everything goes."""

    # Rows at which a batch begins.
    first: Ints
    offset_delta: Ints
    value_size: Ints
    # Bytes of a record behind its size.
    body_size: Ints
    record_at: Ints
    record_end: Ints

    @property
    def bytes_in_all(self) -> int:
        return int(self.record_end[-1])

    def batches(self) -> Iterator[tuple[int, int, int, int]]:
        """Give first row, row behind the last, start and end of each batch."""
        firsts = self.first.tolist()
        for first, behind in zip(firsts, [*firsts[1:], len(self.record_at)], strict=True):
            yield first, behind, int(self.record_at[first]) - HEADER_BYTES, int(self.record_end[behind - 1])


# Attributes, timestamp delta, null key, no headers.
_FIXED_BYTES: Final = 4
# Count, tag, size and value of the leader recovery state; without it the count alone.
_STATE_BYTES: Final = 4
_NO_TAGS_BYTES: Final = 1
_NULL_KEY: Final = 0x01


def _layout(records: RewrittenRecords) -> _Layout:
    tags = np.where(records.recovery_state == 0, _NO_TAGS_BYTES, _STATE_BYTES)
    value_size = records.size + np.where(records.version == NO_VERSION, 0, tags)
    first = np.flatnonzero(np.diff(records.batch, prepend=-1))
    # Offsets deltas can only get smaller when a batch is cut, so what is estimated here is never too little.
    estimate = _record_sizes(_deltas(first, len(value_size)), value_size)[1]
    first = _cut_large(first, estimate)
    delta = _deltas(first, len(value_size))
    body_size, record_size = _record_sizes(delta, value_size)
    starts_batch = np.zeros(len(value_size), np.int64)
    starts_batch[first] = HEADER_BYTES
    record_end = np.cumsum(record_size + starts_batch)
    return _Layout(
        first=first,
        offset_delta=delta,
        value_size=value_size,
        body_size=body_size,
        record_at=record_end - record_size,
        record_end=record_end,
    )


def _deltas(first: Ints, rows: int) -> Ints:
    return np.arange(rows) - np.repeat(first, np.diff(first, append=rows))


def _record_sizes(delta: Ints, value_size: Ints) -> tuple[Ints, Ints]:
    body = _FIXED_BYTES + _varint_size(delta) + _varint_size(value_size) + value_size
    return body, body + _varint_size(body)


def _varint_size(value: Ints) -> Ints:
    """Count the bytes of zigzag varints of numbers that are not negative."""
    size = np.ones(len(value), np.int64)
    bits = 6
    while int(value.max(initial=0)) >> bits:
        size += value >> bits > 0
        bits += 7
    return size


def _cut_large(first: Ints, record_size: Ints) -> Ints:
    """Add the rows at which batches have to be cut that would be larger than BATCH_BYTES_MAX."""
    ends = np.cumsum(record_size)
    bounds = [*first.tolist(), len(record_size)]
    cuts = list(bounds[:-1])
    for low, high in pairwise(bounds):
        row = low
        before = int(ends[low] - record_size[low])
        while int(ends[high - 1]) - before + HEADER_BYTES > BATCH_BYTES_MAX:
            behind = int(np.searchsorted(ends, before + BATCH_BYTES_MAX - HEADER_BYTES, side="right"))
            row = max(behind, row + 1)
            if row >= high:
                break
            cuts.append(row)
            before = int(ends[row - 1])
    return np.array(sorted(cuts), np.int64)


def _write_records(
    kernels: Kernels,
    sources: tuple[NDArray[np.uint8], NDArray[np.uint8]],
    records: RewrittenRecords,
    layout: _Layout,
    *,
    rows: slice,
    out: NDArray[np.uint8],
) -> None:
    """Write some records; what is zero stands there already: attributes, timestamp deltas, no tags, no headers."""
    at = _put_varints(out, layout.record_at[rows], layout.body_size[rows])
    at = _put_varints(out, at + 2, layout.offset_delta[rows])
    out[at] = _NULL_KEY
    value_at = _put_varints(out, at + 1, layout.value_size[rows])
    size, source_at, is_new = records.size[rows], records.source_at[rows], records.is_new[rows]
    for source, mine in zip(sources, (~is_new, is_new), strict=True):
        each = slice(None) if mine.all() else np.flatnonzero(mine)
        kernels.copy_spans(source, source_at[each], out, value_at[each], size[each])
    version, state = records.version[rows], records.recovery_state[rows]
    cut = np.flatnonzero(version != NO_VERSION)
    out[value_at[cut] + _VERSION_AT] = version[cut]
    stated = np.flatnonzero(state)
    tags_at = value_at[stated] + size[stated]
    out[tags_at] = 1
    out[tags_at + 2] = 1
    out[tags_at + 3] = state[stated].view(np.uint8)


def _put_varints(out: NDArray[np.uint8], at: Ints, value: Ints) -> Ints:
    """Write zigzag varints of numbers that are not negative; give the positions behind them."""
    left = value << 1
    out[at] = _varint_byte(left)
    end = at + 1
    rows = np.flatnonzero(left > _VARINT_BYTE_MAX)
    while len(rows):
        left = left >> 7
        more = left[rows]
        out[end[rows]] = _varint_byte(more)
        end[rows] += 1
        rows = rows[more > _VARINT_BYTE_MAX]
    return end


_VARINT_BYTE_MAX: Final = 0x7F


def _varint_byte(left: Ints) -> Ints:
    return np.where(left > _VARINT_BYTE_MAX, left & _VARINT_BYTE_MAX | _VARINT_BYTE_MAX + 1, left)
