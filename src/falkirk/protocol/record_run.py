"""Records of one shape that follow on one another: what is to be known of all of them, in a few operations.

A producer's records mostly have the same sizes. Then what stands at one place of each is a slice with a stride, and a
slice is compared at once: a twentieth of the time that reading one record after the other takes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from falkirk.protocol.varint import decode_varlong

_MORE: Final = 0x80
"""The bit that says that a varint goes on."""
# Longer ones may have more than 64 bits, and are read one by one.
_DELTA_BYTES_MAX: Final = 9
# The bytes of the offset deltas 0, 1, 2, ... as varints of one byte and of two, place by place. Shorter ones have none.
_OFFSET_DELTAS: Final = (
    (bytes(range(0, 128, 2)),),
    (
        bytes(64) + bytes(2 * delta & 0x7F | 0x80 for delta in range(64, 8192)),
        bytes(64) + bytes(2 * delta >> 7 for delta in range(64, 8192)),
    ),
)


class RecordRun(NamedTuple):
    """So many records (`length`), and the least and the largest of their timestamp deltas."""

    length: int
    earliest: int
    latest: int


NO_RUN: Final = RecordRun(0, 0, 0)


def records_alike(data: bytes | bytearray, start: int, size: int, *, index: int, count: int) -> RecordRun:
    """Count the records, of `count` behind the one at `start`, that have its form and consecutive offset deltas.

    That record is whole, has `size` bytes, its length included, and the offset delta `index`. Records are alike if they
    have the same lengths and no headers; they need no other check. There may be more than are counted.
    """
    following = start + size
    count = min(count, (len(data) - following) // size)
    delta_at = _varint_end(data, start) + 1
    offset_at = _varint_end(data, delta_at)
    key_at = _varint_end(data, offset_at)
    value_at = _field_end(data, key_at)
    headers_at = _field_end(data, value_at)
    if key_at - offset_at > len(_OFFSET_DELTAS) or data[headers_at]:
        return NO_RUN
    offset_deltas = _OFFSET_DELTAS[key_at - offset_at - 1]
    count = min(count, len(offset_deltas[0]) - index - 1)
    lengths = (
        *range(start, delta_at - 1),
        *range(key_at, _varint_end(data, key_at)),
        *range(value_at, _varint_end(data, value_at)),
        headers_at,
    )
    end = following + size * count
    for at in lengths:
        column = data[at + size : end : size]
        if column.count(data[at]) != count:
            count = len(column) - len(column.lstrip(data[at : at + 1]))
            end = following + size * count
    for place, known in enumerate(offset_deltas):
        column = data[offset_at + place + size : end : size]
        if column != known[index + 1 : index + 1 + count]:
            return NO_RUN
    return _with_deltas([data[at + size : end : size] for at in range(delta_at, offset_at)], count)


def _with_deltas(columns: list[bytes | bytearray], count: int) -> RecordRun:
    """Return the run with the timestamp deltas in these columns, lowest byte first; empty if their sizes differ."""
    *low, high = columns
    if not count or len(low) >= _DELTA_BYTES_MAX or max(high) >= _MORE:
        return NO_RUN
    for column in low:
        if min(column) < _MORE:
            return NO_RUN
    columns.reverse()
    # The highest byte first, so that the larger of two is the later one, unless there are negative ones.
    found = set(zip(*columns, strict=True))
    if any(byte & 1 for byte in set(columns[-1])):
        deltas = [_delta(each) for each in found]
        return RecordRun(count, min(deltas), max(deltas))
    return RecordRun(count, _delta(min(found)), _delta(max(found)))


def _delta(each: tuple[int, ...]) -> int:
    return decode_varlong(bytes(each[::-1]), 0)[0]


def _varint_end(data: bytes | bytearray, at: int) -> int:
    while data[at] >= _MORE:
        at += 1
    return at + 1


def _field_end(data: bytes | bytearray, at: int) -> int:
    """Return the end of a key or value whose length, a zigzag varint, is at `at`; null has the length -1."""
    size, at = decode_varlong(data, at)
    return at + max(size, 0)
