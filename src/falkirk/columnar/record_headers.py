"""Record headers: located for all records at once, round by round, and checked as the row reader checks them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from falkirk.columnar.kernels import ABSENT, NULL
from falkirk.columnar.kernels.varints import varints
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.varint import decode_varlong

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from falkirk.columnar.kernels.record_scan import RecordScan

_ROUNDS_MAX = 64
"""Records with more headers are walked one by one: a round costs the same for one record as for thousands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderScan:
    """Positions of the headers, record by record; `first` is the index of each record's first header."""

    first: NDArray[np.int64]
    key_at: NDArray[np.int64]
    key_size: NDArray[np.int64]
    value_at: NDArray[np.int64]
    # NULL for a null value.
    value_size: NDArray[np.int64]


def scan_headers(data: NDArray[np.uint8], parts: RecordScan, end: NDArray[np.int64]) -> HeaderScan:
    """Locate the headers of all sound records; records whose headers do not parse become unsound."""
    count = np.where(parts.sound, parts.header_count, 0)
    first = np.cumsum(count) - count
    # The counts are bounded by the bytes of their records, see `scan_records`.
    places = np.full((4, int(count.sum())), NULL, np.int64)
    at = parts.headers_at.copy()
    rows = np.flatnonzero(count)
    for index in range(_ROUNDS_MAX):
        if not len(rows):
            break
        sound = _one_header(data, at, end, rows=rows, places=places, slot=first[rows] + index)
        parts.sound[rows[~sound]] = False
        rows = rows[sound & (count[rows] > index + 1)]
    for row in rows.tolist():
        done = int(first[row]) + _ROUNDS_MAX
        stop = int(first[row] + count[row])
        at[row] = end[row] if _walk(data, int(at[row]), int(end[row]), places[:, done:stop]) else ABSENT
    wrong = np.flatnonzero((count > 0) & parts.sound & (at != end))
    parts.sound[wrong] = False
    return HeaderScan(first=first, key_at=places[0], key_size=places[1], value_at=places[2], value_size=places[3])


def _one_header(
    data: NDArray[np.uint8],
    at: NDArray[np.int64],
    end: NDArray[np.int64],
    *,
    rows: NDArray[np.int64],
    places: NDArray[np.int64],
    slot: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Read the next header of some records and advance `at`; return which are sound."""
    sound = np.ones(len(rows), np.bool_)
    stop = end[rows]
    key_size, key_at = varints(data, at[rows], sound)
    sound &= (key_size >= 0) & (key_size <= stop - key_at)
    key_size[~sound] = 0
    value_size, value_at = varints(data, key_at + key_size, sound)
    sound &= (key_at + key_size < stop) & (value_size >= NULL) & (value_size <= stop - value_at)
    value_size[~sound] = NULL
    places[:, slot] = key_at, key_size, value_at, value_size
    at[rows] = value_at + np.maximum(value_size, 0)
    return sound


def _walk(data: NDArray[np.uint8], at: int, end: int, places: NDArray[np.int64]) -> bool:
    """Read the last headers of one record; return whether they fill it."""
    body = data[at:end].tobytes()
    position = 0
    for slot in range(places.shape[1]):
        try:
            key_size, key_at = decode_varlong(body, position)
            # A header's value takes a byte at least.
            if not 0 <= key_size < len(body) - key_at:
                return False
            value_size, value_at = decode_varlong(body, key_at + key_size)
        except RemoteProtocolError:
            return False
        if not NULL <= value_size <= len(body) - value_at:
            return False
        places[:, slot] = at + key_at, key_size, at + value_at, value_size
        position = value_at + max(value_size, 0)
    return position == len(body)
