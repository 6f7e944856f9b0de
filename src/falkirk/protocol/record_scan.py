"""Scans the records of a batch, without objects, for what a broker checks when it appends them."""

from collections.abc import Iterator
from typing import Final

from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record import RECORD_BYTES_MIN
from falkirk.protocol.record_run import records_alike
from falkirk.protocol.varint import decode_varint, decode_varlong
from falkirk.structs import FrozenLeaf

_RUN_GUESS: Final = 64
_RUN_MIN: Final = 16
_FAILED_RUNS_MAX: Final = 4
RECORDS_AT_ONCE: Final = 1_000
"""How many records a part of `scan_parts` has at most: some 2 ms."""
_HEADERS_AT_ONCE: Final = 4_000
_RECORD_HEADERS_MAX: Final = 10_000
"""Headers of a record, which are read in one piece: some 5 ms."""


class RecordScan(FrozenLeaf):
    """What the records of a batch have in common. Timestamps are relative to the batch's base timestamp, in ms."""

    first_timestamp_delta: int
    timestamp_delta_min: int
    timestamp_delta_max: int
    has_null_key: bool
    is_consecutive: bool
    """Offset deltas are 0, 1, 2, ..."""


class ScannedPart(FrozenLeaf):
    """Some records that follow on one another: the place behind the last one, their number, and their headers."""

    end: int
    record_count: int
    header_count: int
    scan: RecordScan


def scan_records(data: bytes | bytearray, start: int, count: int) -> RecordScan:
    """Walk over `count` (> 0) records that reach from `start` to the end of `data`.

    Every size is checked against what it counts, headers included. Raises RemoteProtocolError (offsets count from the
    start of `data`) if a record does not fit.
    """
    _check_count(data, start, count)
    try:
        part = _scan(data, start, 0, count, len(data))
    except IndexError as error:
        raise RemoteProtocolError("records end inside a record", offset=len(data)) from error
    _check_end(data, part.end, count)
    return part.scan


def scan_parts(data: bytes | bytearray, start: int, count: int) -> Iterator[ScannedPart]:
    """Do what `scan_records` does in parts, each a bounded amount of work; `joined` makes one scan of theirs.

    Raises as `scan_records` does, but not before it comes to the place.
    """
    _check_count(data, start, count)
    at, index = start, 0
    while index < count:
        try:
            part = _scan(data, at, index, min(index + RECORDS_AT_ONCE, count), _HEADERS_AT_ONCE)
        except IndexError as error:
            raise RemoteProtocolError("records end inside a record", offset=len(data)) from error
        at = part.end
        index += part.record_count
        if index == count:
            _check_end(data, at, count)
        yield part


def joined(scan: RecordScan, behind: RecordScan) -> RecordScan:
    """Return the scan of all records from those of two parts, one behind the other."""
    return RecordScan(
        scan.first_timestamp_delta,
        min(scan.timestamp_delta_min, behind.timestamp_delta_min),
        max(scan.timestamp_delta_max, behind.timestamp_delta_max),
        scan.has_null_key or behind.has_null_key,
        scan.is_consecutive and behind.is_consecutive,
    )


def _check_count(data: bytes | bytearray, start: int, count: int) -> None:
    if count * RECORD_BYTES_MIN > len(data) - start:
        raise RemoteProtocolError(f"{count} records can not stand in {len(data) - start} bytes", offset=start)


def _check_end(data: bytes | bytearray, at: int, count: int) -> None:
    if at != len(data):
        raise RemoteProtocolError(f"{len(data) - at} bytes follow the last of {count} records", offset=at)


def _scan(data: bytes | bytearray, at: int, first_index: int, count: int, headers_max: int) -> ScannedPart:  # noqa: C901, PLR0912, PLR0915 - one pass
    """Scan the records from that of `first_index`, at `at`, to the one before `count`; fewer beyond `headers_max`."""
    # All of a produce request's records come through here: varints of one and two bytes are read in place, which
    # takes half the time of a call for each, and those like the one before are read together.
    end = len(data)
    first = earliest = latest = None
    has_null_key = False
    is_consecutive = True
    header_count = 0
    index, wanted, tries = first_index - 1, _RUN_GUESS, _FAILED_RUNS_MAX
    while (index := index + 1) < count:
        start = at
        size = data[at]
        if size < 0x80:
            at += 1
        elif (byte := data[at + 1]) < 0x80:
            size = size & 0x7F | byte << 7
            at += 2
        else:
            size, at = _unsigned(data, at)
        body_end = at + (size >> 1)
        if size & 1 or body_end > end:
            raise RemoteProtocolError(f"record declares {_signed(size)} bytes where {end - at} are left", offset=at)
        at += 1
        value = data[at]
        if value < 0x80:
            at += 1
            delta = (value >> 1) ^ -(value & 1)
        elif (byte := data[at + 1]) < 0x80:
            value = value & 0x7F | byte << 7
            at += 2
            delta = (value >> 1) ^ -(value & 1)
        else:
            delta, at = decode_varlong(data, at)
        if latest is None or earliest is None:
            first = earliest = latest = delta
        elif delta > latest:
            latest = delta
        elif delta < earliest:
            earliest = delta
        value = data[at]
        if value < 0x80:
            at += 1
        elif (byte := data[at + 1]) < 0x80:
            value = value & 0x7F | byte << 7
            at += 2
        else:
            value, at = _unsigned(data, at)
        if value != index << 1:
            is_consecutive = False
        value = data[at]
        if value < 0x80:
            at += 1
        elif (byte := data[at + 1]) < 0x80:
            value = value & 0x7F | byte << 7
            at += 2
        else:
            value, at = _unsigned(data, at)
        if value & 1:
            _refuse_unless_null(value, at)
            has_null_key = True
        else:
            at += value >> 1
        value = data[at]
        if value < 0x80:
            at += 1
        elif (byte := data[at + 1]) < 0x80:
            value = value & 0x7F | byte << 7
            at += 2
        else:
            value, at = _unsigned(data, at)
        if value & 1:
            _refuse_unless_null(value, at)
        else:
            at += value >> 1
        if data[at]:
            number, at = _skip_headers(data, at, body_end)
            header_count += number
            if header_count > headers_max:
                # This is the last one.
                count = index + 1
        else:
            at += 1
        if at != body_end:
            reason = f"record ends at byte {body_end} and its fields at {at}"
            raise RemoteProtocolError(reason, offset=body_end)
        if tries and index + _RUN_MIN < count and data[at] == data[start]:
            size = at - start
            alike, low, high = records_alike(data, start, size, index=index, count=min(wanted, count - index - 1))
            if alike:
                earliest, latest = min(earliest, low), max(latest, high)
                index += alike
                at += size * alike
            # What is compared in vain stays less than what is not.
            if alike == wanted:
                wanted *= 2
            else:
                wanted = _RUN_GUESS
                tries -= alike < _RUN_MIN
    assert first is not None
    assert earliest is not None
    assert latest is not None
    scan = RecordScan(first, earliest, latest, has_null_key, is_consecutive)
    return ScannedPart(at, count - first_index, header_count, scan)


def _refuse_unless_null(size: int, at: int) -> None:
    if size != 1:
        raise RemoteProtocolError(f"field of {_signed(size)} bytes", offset=at)


def _skip_headers(data: bytes | bytearray, at: int, body_end: int) -> tuple[int, int]:
    """Return how many headers there are, and the place behind them."""
    count, at = decode_varint(data, at)
    if not 0 <= count <= body_end - at:
        raise RemoteProtocolError(f"record declares {count} headers in {body_end - at} bytes", offset=at)
    if count > _RECORD_HEADERS_MAX:
        raise RemoteProtocolError(f"record has {count} headers, {_RECORD_HEADERS_MAX} are allowed", offset=at)
    for _ in range(count):
        # Even, and of one byte: a size that is not negative.
        if (size := data[at]) & 0x81:
            size, at = decode_varint(data, at)
            if size < 0:
                raise RemoteProtocolError("key of a header is null", offset=at)
            at += size
        else:
            at += 1 + (size >> 1)
        if (size := data[at]) == 1:
            at += 1
        elif size & 0x81:
            size, at = decode_varint(data, at)
            if size < -1:
                raise RemoteProtocolError(f"value of a header has {size} bytes", offset=at)
            at += max(size, 0)
        else:
            at += 1 + (size >> 1)
        if at > body_end:
            raise RemoteProtocolError("record ends inside its headers", offset=body_end)
    return count, at


def _unsigned(data: bytes | bytearray, at: int) -> tuple[int, int]:
    value, at = decode_varint(data, at)
    return value << 1 if value >= 0 else (-value << 1) - 1, at


def _signed(value: int) -> int:
    return (value >> 1) ^ -(value & 1)
