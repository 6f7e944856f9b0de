"""Records of magic 2, as they stand inside a batch once it is uncompressed.

record  := size varint, attributes int8, timestamp delta varlong, offset delta varint, key, value, headers
key     := size varint (-1 is null), bytes; value likewise
headers := count varint, then per header: key size varint, UTF-8 key, value as above

Deltas count from the batch's base offset and base timestamp. All varints are zigzag.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from falkirk.protocol.errors import LocalProtocolError, RemoteProtocolError
from falkirk.protocol.varint import decode_varlong, encode_varlong
from falkirk.structs import FrozenLeaf

RECORD_BYTES_MIN = 7
"""Size, attributes, both deltas, null key, null value and no headers: one byte each."""
_INT32_MAX = 0x7FFFFFFF
_TWO_BYTES = 0x3FFF
_NULL = encode_varlong(-1)

# What a zigzag varint of one byte stands for; None: there are more bytes.
_SHORT = tuple((byte >> 1) ^ -(byte & 1) if byte < 0x80 else None for byte in range(0x100))
_HEADS_MAX = 1 << 17
_HEADS: list[bytes] = []


class Record(FrozenLeaf):
    """One record with its own offset and timestamp (ms). Headers keep their order and may repeat a key.

    A header's key that is not UTF-8 carries its odd bytes as surrogate escapes, so that it is written back unchanged.
    """

    offset: int
    timestamp: int
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    attributes: int = 0


def decode_records(
    data: bytes,
    *,
    count: int,
    base_offset: int,
    base_timestamp: int,
    log_append_time: int | None = None,
) -> list[Record]:
    """Decode exactly `count` records that fill `data`; `log_append_time` replaces every timestamp if given.

    Raises RemoteProtocolError (offsets count from the start of `data`) if sizes, counts or varints do not fit.
    """
    if count < 0 or count * RECORD_BYTES_MIN > len(data):
        raise RemoteProtocolError(f"{count} records can not stand in {len(data)} bytes", offset=0)
    records: list[Record] = []
    at = 0
    try:
        for _ in range(count):
            plain = _plain_record(data, at, base_offset, base_timestamp if log_append_time is None else log_append_time)
            record, at = plain or _decode_record(data, at, base_offset, base_timestamp, log_append_time)
            records.append(record)
    except IndexError as error:
        raise RemoteProtocolError("records end inside a record", offset=len(data)) from error
    if at != len(data):
        raise RemoteProtocolError(f"{len(data) - at} bytes follow the last of {count} records", offset=at)
    return records


def decode_key_values(data: bytes, count: int) -> list[tuple[int, bytes, bytes]] | None:
    """Return (offset delta, key, value) of records as coordinators write them; None if a record has another form.

    The form: a key, a value, no headers, varints of at most two bytes, that of the timestamp (which is ignored)
    of one. `decode_records` reads any valid record and reports what is wrong with others; it is slower.
    """
    found: list[tuple[int, bytes, bytes]] = []
    at = 0
    try:
        # One pass, for all of a partition comes through here when it is loaded: a call for each number costs as much
        # as all that is done here.
        for _ in range(count):
            size = data[at]
            at += 1
            if size >= 0x80:
                size, at = size & 0x7F | data[at] << 7, at + 1
            end = at + (size >> 1)
            delta = data[at + 2]
            if size & 1 or data[at + 1] >= 0x80 or size > _TWO_BYTES:
                return None
            at += 3
            if delta >= 0x80:
                delta, at = delta & 0x7F | data[at] << 7, at + 1
            key_size = data[at]
            at += 1
            if key_size >= 0x80:
                key_size, at = key_size & 0x7F | data[at] << 7, at + 1
            value_at = at + (key_size >> 1)
            value_size = data[value_at]
            value_start = value_at + 1
            if value_size >= 0x80:
                value_size, value_start = value_size & 0x7F | data[value_start] << 7, value_start + 1
            value_end = value_start + (value_size >> 1)
            # All of these are even unless they are negative, and below this bound unless they have more bytes.
            numbers = delta | key_size | value_size
            if numbers & 1 or numbers > _TWO_BYTES or data[value_end] or value_end + 1 != end:
                return None
            found.append((delta >> 1, data[at:value_at], data[value_start:value_end]))
            at = end
    except IndexError:
        return None
    return found if at == len(data) else None


def split_records(data: bytes, count: int) -> list[tuple[int, int]]:
    """Return (start, end) of each of `count` records without decoding them; checks that they fill `data`."""
    spans: list[tuple[int, int]] = []
    at = 0
    try:
        for _ in range(count):
            end = _body(data, at)[1]
            spans.append((at, end))
            at = end
    except IndexError as error:
        raise RemoteProtocolError("records end inside a record", offset=len(data)) from error
    if at != len(data):
        raise RemoteProtocolError(f"{len(data) - at} bytes follow the last of {count} records", offset=at)
    return spans


def decode_values(data: bytes, count: int) -> list[bytes] | None:
    """Return the values of records as KRaft writes them; None if a record has another form.

    The form: timestamp delta 0, offset deltas without gaps, null keys, values, no headers. This
    is four times as fast as `decode_records`. Raises RemoteProtocolError as that does.
    """
    values: list[bytes] = []
    for run in decode_value_runs(data, count, count):
        if run is None:
            return None
        values = run
    return values


def decode_value_runs(data: bytes, count: int, run_length: int) -> Iterator[list[bytes] | None]:
    """Yield what `decode_values` returns in runs of some records; None ends them if a record has another form.

    Raises RemoteProtocolError as that does, but not before it is reached.
    """
    if count < 0 or count * RECORD_BYTES_MIN > len(data):
        raise RemoteProtocolError(f"{count} records can not stand in {len(data)} bytes", offset=0)
    at, heads = 0, iter(kraft_record_heads(count))
    # Sizes as the last record has them: most records of a snapshot are as long as the one before.
    head_bytes, value_bytes, sizes = -1, 0, (b"", b"")
    for _ in range(0, count, max(run_length, 1)):
        values: list[bytes] = []
        try:
            for head in islice(heads, run_length):
                if len(head) == head_bytes and data.startswith(prefix := head.join(sizes), at):
                    at += len(prefix)
                    end = at + value_bytes + 1
                else:
                    size, start = _varlong(data, at)
                    end = start + size
                    size_bytes = data[at:start]
                    head_bytes = len(head)
                    value_bytes, at = _varlong(data, start + head_bytes)
                    if not data.startswith(head, start) or at + value_bytes + 1 != end or value_bytes < 0:
                        yield None
                        return
                    sizes = size_bytes, data[start + head_bytes : at]
                if data[end - 1]:
                    yield None
                    return
                values.append(data[at : end - 1])
                at = end
        except IndexError as error:
            raise RemoteProtocolError("records end inside a record", offset=len(data)) from error
        yield values
    if at != len(data):
        raise RemoteProtocolError(f"{len(data) - at} bytes follow the last of {count} records", offset=at)


def kraft_record_heads(count: int) -> Iterable[bytes]:
    """Return the bytes between size and value of KRaft records with offset deltas 0, 1, ...

    They are attributes 0, timestamp delta 0, offset delta, null key. Cached for the next batch: one of 8 MiB has some
    70,000 records.
    """
    _HEADS.extend(map(_kraft_head, range(len(_HEADS), min(count, _HEADS_MAX))))
    if count <= _HEADS_MAX:
        return islice(_HEADS, count)
    return chain(_HEADS, map(_kraft_head, range(_HEADS_MAX, count)))


def encode_record(record: Record, *, base_offset: int, base_timestamp: int) -> bytes:
    """Write a record relative to its batch. Raises LocalProtocolError if its offset does not fit the batch."""
    offset_delta = record.offset - base_offset
    if not 0 <= offset_delta <= _INT32_MAX:
        raise LocalProtocolError(f"offset {record.offset} does not fit a batch that starts at {base_offset}")
    parts = [
        bytes((record.attributes & 0xFF,)),
        encode_varlong(record.timestamp - base_timestamp),
        encode_varlong(offset_delta),
        _nullable(record.key),
        _nullable(record.value),
        encode_varlong(len(record.headers)),
    ]
    for key, value in record.headers:
        parts.append(_nullable(key.encode("utf-8", "surrogateescape")))
        parts.append(_nullable(value))
    body = b"".join(parts)
    return encode_varlong(len(body)) + body


def encode_key_value(offset_delta: int, key: bytes, value: bytes | None) -> bytes:
    """Write a record of the batch's own timestamp, without headers: as `encode_record` does, in half the time."""
    body = b"".join(
        (
            b"\x00\x00",
            encode_varlong(offset_delta),
            encode_varlong(len(key)),
            key,
            _NULL if value is None else encode_varlong(len(value)),
            value or b"",
            b"\x00",
        )
    )
    return encode_varlong(len(body)) + body


_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1


def _kraft_head(delta: int) -> bytes:
    return b"\x00\x00" + encode_varlong(delta) + _NULL


def _nullable(data: bytes | None) -> bytes:
    return _NULL if data is None else encode_varlong(len(data)) + data


def _plain_record(data: bytes, at: int, base_offset: int, timestamp: int) -> tuple[Record, int] | None:
    """Read a record as coordinators write them, in half the time; None if it is another one, or none at all.

    It has the batch's own timestamp, a key, a value, and no headers.
    """
    size, start = _SHORT[data[at]], at + 1
    if size is None:
        size, start = _varlong(data, at)
    end = start + size
    if size < RECORD_BYTES_MIN or end > len(data) or data[start + 1]:
        return None
    offset_delta, at = _SHORT[data[start + 2]], start + 3
    if offset_delta is None:
        offset_delta, at = _varlong(data, start + 2)
    key_bytes, key_start = _SHORT[data[at]], at + 1
    if key_bytes is None:
        key_bytes, key_start = _varlong(data, at)
    value_at = key_start + key_bytes
    if key_bytes < 0 or not 0 <= offset_delta <= _INT32_MAX or value_at >= end:
        return None
    value_bytes, value_start = _SHORT[data[value_at]], value_at + 1
    if value_bytes is None:
        value_bytes, value_start = _varlong(data, value_at)
    value_end = value_start + value_bytes
    if value_bytes < 0 or value_end + 1 != end or data[value_end]:
        return None
    key, value = data[key_start:value_at], data[value_start:value_end]
    return Record(base_offset + offset_delta, timestamp, key, value, (), data[start]), end


def _decode_record(
    data: bytes, at: int, base_offset: int, base_timestamp: int, log_append_time: int | None
) -> tuple[Record, int]:
    start, end = _body(data, at)
    attributes = data[start]
    timestamp_delta, at = _varlong(data, start + 1)
    offset_delta, at = _varlong(data, at)
    key, at = _bytes(data, at, end)
    value, at = _bytes(data, at, end)
    header_count, at = _varlong(data, at)
    headers: tuple[tuple[str, bytes | None], ...] = ()
    if header_count:
        headers, at = _headers(data, at, end, header_count)
    if at != end:
        raise RemoteProtocolError(f"record declares {end - start} bytes and has {at - start}", offset=start)
    timestamp = base_timestamp + timestamp_delta
    if not 0 <= offset_delta <= _INT32_MAX or not _INT64_MIN <= timestamp <= _INT64_MAX:
        reason = f"deltas of a record are out of range (offset {offset_delta}, timestamp {timestamp_delta})"
        raise RemoteProtocolError(reason, offset=start)
    if log_append_time is not None:
        timestamp = log_append_time
    return Record(base_offset + offset_delta, timestamp, key, value, headers, attributes), end


def _body(data: bytes, at: int) -> tuple[int, int]:
    size, start = _varlong(data, at)
    end = start + size
    if size < RECORD_BYTES_MIN - 1 or end > len(data):
        raise RemoteProtocolError(f"record declares {size} bytes where {len(data) - start} are left", offset=at)
    return start, end


def _varlong(data: bytes, at: int) -> tuple[int, int]:
    # Varints of real records take one or two bytes; the general reader costs four times as much.
    byte = data[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    second = data[at + 1]
    if second < 0x80:
        byte = byte & 0x7F | second << 7
        return (byte >> 1) ^ -(byte & 1), at + 2
    return decode_varlong(data, at)


def _bytes(data: bytes, at: int, record_end: int) -> tuple[bytes | None, int]:
    size, start = _varlong(data, at)
    end = start + size
    if size >= 0 and end <= record_end:
        return data[start:end], end
    if size == -1:
        return None, start
    reason = f"field of {size} bytes where the record has {record_end - start} left"
    raise RemoteProtocolError(reason, offset=at)


def _headers(data: bytes, at: int, record_end: int, count: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    if count < 0 or count * 2 > record_end - at:
        reason = f"{count} headers where the record has {record_end - at} bytes left"
        raise RemoteProtocolError(reason, offset=at)
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        if at >= record_end:
            raise RemoteProtocolError("record ends inside its headers", offset=at)
        key, after = _bytes(data, at, record_end)
        if key is None:
            raise RemoteProtocolError("key of a header is null", offset=at)
        if after >= record_end:
            raise RemoteProtocolError("record ends inside its headers", offset=after)
        value, at = _bytes(data, after, record_end)
        headers.append((key.decode("utf-8", "surrogateescape"), value))
    return tuple(headers), at
