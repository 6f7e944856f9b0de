"""Spans of bytes copied from many places to many places at once."""

# ruff: noqa: PLR0917 - columns of the same rows, as many as it takes

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int64]

# Above this many different sizes, spans are copied by the powers of two that make up each size.
_SIZES_APART_MAX: Final = 16
_SIZE_COUNTED_MAX: Final = 4096
_COPY_BYTES_MAX: Final = 1 << 14


def window(data: Bytes, width: int) -> NDArray[np.void]:
    """View `width` bytes at every position. Indexing it is a gather, or a scatter, of that many bytes a row."""
    return np.ndarray((max(len(data) - width + 1, 0),), f"V{width}", data, strides=(1,))


def gather_fixed(data: Bytes, at: Ints, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Copy one value of `dtype` (any layout of bytes, big-endian or a struct) from each position."""
    return window(data, dtype.itemsize)[at].view(dtype)


def gather_lists(data: Bytes, at: Ints, offsets: Ints, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Copy `offsets[i + 1] - offsets[i]` values of `dtype` from each position, in native byte order."""
    if not offsets[-1]:
        return np.empty(0, dtype.newbyteorder("="))
    packed = np.empty(int(offsets[-1]) * dtype.itemsize, np.uint8)
    size = np.diff(offsets) * dtype.itemsize
    copy_spans(data, at, packed, offsets[:-1] * dtype.itemsize, size)
    return packed.view(dtype).astype(dtype.newbyteorder("="), copy=False)


def copy_spans(source: Bytes, source_at: Ints, target: Bytes, target_at: Ints, size: Ints) -> None:
    """Copy `size[i]` bytes from each source position to its target position; targets do not overlap."""
    if not len(size):
        return
    largest = int(size.max())
    if largest <= _SIZE_COUNTED_MAX:
        sizes = np.flatnonzero(np.bincount(size)).tolist()
        if len(sizes) <= _SIZES_APART_MAX:
            for each in sizes:
                rows = slice(None) if len(sizes) == 1 else np.flatnonzero(size == each)
                _copy(source, source_at[rows], target, target_at[rows], each)
            return
    _copy_by_powers(source, source_at, target, target_at, size, largest)


def _copy(source: Bytes, source_at: Ints, target: Bytes, target_at: Ints, size: int) -> None:
    if size:
        window(target, size)[target_at] = window(source, size)[source_at]


def _copy_by_powers(source: Bytes, source_at: Ints, target: Bytes, target_at: Ints, size: Ints, largest: int) -> None:
    """Copy spans of any sizes: each as blocks of powers of two, very large ones one by one."""
    if largest >= 2 * _COPY_BYTES_MAX:
        for row in np.flatnonzero(size >= 2 * _COPY_BYTES_MAX).tolist():
            start, at, length = int(source_at[row]), int(target_at[row]), int(size[row])
            target[at : at + length] = source[start : start + length]
        size = np.where(size >= 2 * _COPY_BYTES_MAX, 0, size)
    done = np.zeros(len(size), np.int64)
    power = 1
    while power <= min(largest, _COPY_BYTES_MAX):
        rows = np.flatnonzero(size & power)
        if len(rows):
            _copy(source, source_at[rows] + done[rows], target, target_at[rows] + done[rows], power)
            done[rows] += power
        power <<= 1
