"""The start of every record of many batches, found at many places at once.

Records can only be hopped one after the other, because each gives its own length. A snapshot has batches of tens of
thousands of records, so besides hopping all batches in step, long batches are cut into segments at bytes that look like
the start of a record, and the segments are hopped in step. A wrong guess is safe: the hops of a segment must land
exactly on the start of the next one, and the first segment starts where the batch does, so by induction every start is
a real one. A batch where that fails is hopped again, alone.
"""

# ruff: noqa: PLR0917 - columns of the same rows, as many as it takes

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from falkirk.columnar.kernels.record_scan import scan_records
from falkirk.columnar.kernels.varints import UVARLONG_BYTES_MAX, bytes_at, varints
from falkirk.protocol.record import RECORD_BYTES_MIN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

# A step costs the same for one segment as for hundreds; more segments cost more guesses.
_SEGMENTS_WANTED: Final = 1024
_SEGMENT_RECORDS_MIN: Final = 64
# A record is searched for in so many bytes behind each cut, if records are of the usual size.
_WINDOW_BYTES_MAX: Final = 1024
# Size (of one or two bytes, or there is no guess), attributes, timestamp delta.
_HEAD_BYTES_MAX: Final = 4
_SIZE_BYTE_MIN: Final = 2 * (RECORD_BYTES_MIN - 1)
_RECORDS_CHECKED: Final = 2
# Below this many segments left, a plain loop over each is faster than a step of a dozen numpy calls for all.
_SEGMENTS_IN_STEP_MIN: Final = 48
_NOWHERE: Final = 1 << 62


def _steps() -> NDArray[np.int16]:
    """Map the first two bytes of a record, the second one high, to the bytes of the record.

    0 where two bytes do not decide: the size has three bytes or more, is negative, or is too small.
    """
    pair = np.arange(1 << 16)
    low, high = pair & 0xFF, pair >> 8
    two = low >> 7
    size = (low & 0x7F) + two * (high << 7)
    known = (size & 1 == 0) & (size >> 1 >= RECORD_BYTES_MIN - 1) & ((two == 0) | (high < 0x80))
    return np.where(known, (size >> 1) + 1 + two, 0).astype(np.int16)


_STEPS: Final = _steps()


@dataclass(slots=True, kw_only=True)
class _Segments:
    """Parts of batches, in byte order."""

    batch: Ints
    start: Ints
    end: Ints
    # End of the batch.
    limit: Ints


def hop_records(data: Bytes, body_start: Ints, body_end: Ints, count: Ints) -> tuple[Ints, Flags]:
    """Return the start of every record of every batch, and which batches are filled exactly by their records.

    `count[i] * RECORD_BYTES_MIN` must not be more than the bytes of body `i`.
    """
    segments = _cut(data, body_start, body_end, count)
    starts, hopped, finished = _hop_in_step(data, segments)
    found = np.bincount(segments.batch, hopped, len(count)).astype(np.int64)
    # Batches without records have no segments, and may have no bytes.
    sound = (found == count) & ((count > 0) | (body_start == body_end))
    sound[segments.batch[finished != segments.end]] = False
    if sound.all():
        return starts, sound
    parts: list[Ints] = []
    behind = np.cumsum(found)
    for batch in range(len(count)):
        part = starts[int(behind[batch] - found[batch]) : int(behind[batch])]
        if not sound[batch] and count[batch]:
            mine = np.flatnonzero(segments.batch == batch)
            part, landed = _joined(data, segments, mine, part, hopped[mine], finished[mine])
            sound[batch] = landed and len(part) == count[batch]
            if not sound[batch]:
                part = np.full(int(count[batch]), int(body_start[batch]), np.int64)
        parts.append(part)
    return np.concatenate(parts), sound


def _cut(data: Bytes, body_start: Ints, body_end: Ints, count: Ints) -> _Segments:
    """Return each batch as one segment, or as several where it has many records."""
    wanted = np.minimum(count // _SEGMENT_RECORDS_MIN, count * _SEGMENTS_WANTED // max(int(count.sum()), 1))
    batches = np.arange(len(count))
    filled = count > 0
    start, batch = body_start[filled], batches[filled]
    if (wanted > 1).any():
        guessed, owner = _guess(data, body_start, body_end, count, wanted)
        start, batch = np.concatenate([start, guessed]), np.concatenate([batch, owner])
        # Bodies follow each other, so byte order is batch order. Two windows may find the same byte.
        start, first = np.unique(start, return_index=True)
        batch = batch[first]
    end = np.empty_like(start)
    end[:-1] = start[1:]
    last = np.ones(len(batch), np.bool_)
    last[:-1] = batch[1:] != batch[:-1]
    end[last] = body_end[batch[last]]
    return _Segments(batch=batch, start=start, end=end, limit=body_end[batch])


def _guess(data: Bytes, body_start: Ints, body_end: Ints, count: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Find bytes inside batches that look like the start of a record: (positions, their batches)."""
    cuts = np.maximum(wanted - 1, 0)
    owner = np.repeat(np.arange(len(count)), cuts)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(cuts) - cuts, cuts) + 1
    size = body_end - body_start
    cut = body_start[owner] + number * (size[owner] // wanted[owner])
    width = min(2 * int((size // np.maximum(count, 1)).max()) + 64, _WINDOW_BYTES_MAX)
    at, window = _likely(data, cut, width)
    limit = body_end[owner[window]]
    # What looks like a record by chance is seldom followed by others; the last check costs most.
    following = at
    for _ in range(_RECORDS_CHECKED):
        following = _next(data, following)
        likely = (following <= limit) & (bytes_at(data, _attributes_at(data, following)) == 0) | (following == limit)
        at, window, limit, following = at[likely], window[likely], limit[likely], following[likely]
    sound = scan_records(data, at, _next(data, at)).sound
    at, window = at[sound], window[sound]
    windows, first = np.unique(window, return_index=True)
    return at[first], owner[windows]


def _likely(data: Bytes, cut: Ints, width: int) -> tuple[Ints, Ints]:
    """Find the bytes behind each cut where attributes could follow a size: (positions, numbers of the cuts)."""
    span = width + _HEAD_BYTES_MAX
    cut = np.minimum(cut, len(data) - span)
    # Windows are laid end to end, so that each test is one pass over bytes; matches that cross a border are cut off.
    flat = np.lib.stride_tricks.sliding_window_view(data, span)[cut].ravel()
    first, second, third, fourth = (flat[step : len(flat) - _HEAD_BYTES_MAX + step] for step in range(4))
    even = first & 1 == 0
    # Sizes are positive, so their lowest bit is clear; attributes are 0, and so is the timestamp delta in most logs.
    one = even & (first < 0x80) & (first >= _SIZE_BYTE_MIN) & (second == 0)
    two = even & (first >= 0x80) & (second < 0x80) & (second > 0) & (third == 0)
    likely = np.zeros(len(flat), np.bool_)
    likely[: len(one)] = (one & (third == 0)) | (two & (fourth == 0))
    found = likely.reshape(len(cut), span)[:, :width]
    if not found.any(axis=1).all():
        likely[: len(one)] = one | two
    window, byte = np.nonzero(found)
    at: Ints = cut[window] + byte
    return at, window


def _attributes_at(data: Bytes, at: Ints) -> Ints:
    """Return the position behind a size of one or two bytes."""
    found: Ints = at + 1 + (bytes_at(data, at) >> 7)
    return found


def _hop_in_step(data: Bytes, segments: _Segments) -> tuple[Ints, Ints, Ints]:
    """Hop every segment to its end or beyond: (all starts in order, records of each segment, where each ended)."""
    position = segments.start.copy()
    end = segments.end
    active = np.arange(len(position))
    steps: list[tuple[Ints, Ints]] = []
    hopped = np.zeros(len(position), np.int64)
    finished = np.empty(len(position), np.int64)
    while len(active) >= _SEGMENTS_IN_STEP_MIN:
        steps.append((active, position))
        position = _next(data, position)
        alive = position < end
        if not alive.all():
            gone = active[~alive]
            finished[gone] = position[~alive]
            hopped[gone] = len(steps)
            active, position, end = active[alive], position[alive], end[alive]
    rest: list[tuple[int, Ints]] = []
    for segment, at in zip(active.tolist(), position.tolist(), strict=True):
        found, finished[segment] = _hop_alone(data, at, int(segments.end[segment]), int(segments.limit[segment]))
        rest.append((segment, found))
        hopped[segment] = len(steps) + len(found)
    first = np.cumsum(hopped) - hopped
    starts = np.empty(int(hopped.sum()), np.int64)
    for step, (which, positions) in enumerate(steps):
        starts[first[which] + step] = positions
    for segment, found in rest:
        begin = int(first[segment]) + len(steps)
        starts[begin : begin + len(found)] = found
    return starts, hopped, finished


def _next(data: Bytes, at: Ints) -> Ints:
    """Return where the record at each position ends; _NOWHERE if the size is impossible."""
    pair = bytes_at(data, at + 1).astype(np.uint16)
    pair <<= 8
    pair |= bytes_at(data, at)
    step = _STEPS.take(pair)
    if step.min(initial=1):
        return at + step
    sound = np.ones(len(at), np.bool_)
    size, body = varints(data, at, sound)
    # A size that is too small could hop backwards, and for ever.
    sound &= (size >= RECORD_BYTES_MIN - 1) & (size <= len(data))
    return np.where(sound, body + size, _NOWHERE)


def _hop_alone(data: Bytes, position: int, stop: int, limit: int) -> tuple[Ints, int]:
    """Hop records until one ends at or behind `stop`: (their starts, where the last one ends).

    The end is _NOWHERE for a record that would end behind `limit`.
    """
    body = data.data
    found = []
    while position < stop:
        found.append(position)
        size = shift = 0
        while True:
            if position >= limit or shift >= 7 * UVARLONG_BYTES_MAX:
                return np.array(found, np.int64), _NOWHERE
            byte = body[position]
            position += 1
            size |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        # An odd number is a negative size.
        if size & 1 or not RECORD_BYTES_MIN - 1 <= size >> 1 <= limit - position:
            return np.array(found, np.int64), _NOWHERE
        position += size >> 1
    return np.array(found, np.int64), position


def _joined(
    data: Bytes, segments: _Segments, mine: Ints, starts: Ints, hopped: Ints, finished: Ints
) -> tuple[Ints, bool]:
    """Join the segments of one batch, hopping alone those that were cut at a wrong guess: (starts, do they fill it)."""
    parts: list[Ints] = []
    position = int(segments.start[mine[0]])
    behind = np.cumsum(hopped)
    for index, segment in enumerate(mine.tolist()):
        if position == segments.start[segment]:
            parts.append(starts[int(behind[index] - hopped[index]) : int(behind[index])])
            position = int(finished[index])
        elif position < segments.end[segment]:
            stop, limit = int(segments.end[segment]), int(segments.limit[segment])
            part, position = _hop_alone(data, position, stop, limit)
            parts.append(part)
    return np.concatenate(parts), position == segments.end[mine[-1]]
