"""Checks and numbers produced records before they are written (Kafka's LogValidator).

A batch that needs no change keeps its bytes but for offset and leader epoch, which its CRC does not cover. Other
timestamps cost a new header and CRC; another codec, or messages of magic 0 and 1, a new batch.

Differs from Kafka: what Kafka refuses with UNKNOWN_SERVER_ERROR (records that do not decompress, a codec that does not
exist) is INVALID_RECORD here. Three things that it accepts are refused with that as well: offset deltas other than 0,
1, 2, ..., fields of a size below -1 and, in compressed batches, records whose size does not fit their fields.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from crc32c import crc32c

from falkirk.protocol.compression import Compression, UncompressedTooLargeError, decompressed_pieces
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.message_set import MESSAGE_BYTES_MIN
from falkirk.protocol.record_batch import (
    ATTRIBUTES_AT,
    COMPRESSION_MASK,
    CONTROL_BIT,
    CRC_AT,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_BYTES,
    LENGTH_END,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    MAGIC_AT,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    RecordBatch,
)
from falkirk.protocol.record_scan import joined, scan_parts, scan_records
from falkirk.slices import SliceBudget, exhaust
from falkirk.storage.log.append import AppendOrigin, AppendRefusedError
from falkirk.storage.log.log_config import PRODUCER_COMPRESSION, LogConfig
from falkirk.storage.log.record_checks import RecordChecks
from falkirk.storage.log.record_rewriter import (
    PlainRecords,
    check_each,
    from_old_messages,
    latest_timestamp,
    recompressed,
    target_codec,
)
from falkirk.structs import FrozenLeaf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.record_scan import RecordScan
    from falkirk.slices import Slices, Turn

_CLIENT: Final = AppendOrigin.CLIENT
_OWN: Final = AppendOrigin.OWN
_UNCOMPRESSED: Final = Compression.NONE
_MAX_TIMESTAMP_AT: Final = 35
_LENGTH: Final = struct.Struct(">i")
_OFFSET: Final = struct.Struct(">q")
_INT64_MIN: Final = -(1 << 63)
_INT64_MAX: Final = (1 << 63) - 1
_KNOWN_ATTRIBUTES: Final = COMPRESSION_MASK | LOG_APPEND_TIME_BIT | TRANSACTIONAL_BIT | CONTROL_BIT | DELETE_HORIZON_BIT
_COMPRESSIONS: Final = tuple(Compression)
# A batch's size says little about its decompressed size, all of which is in memory for a moment. A producer's batches
# rarely exceed a few MiB; repetitive text compresses to a hundredth.
_UNCOMPRESSED_RATIO_MAX: Final = 128
_UNCOMPRESSED_BYTES_MIN: Final = 16 * 1024 * 1024
_UNCOMPRESSED_BYTES_MAX: Final = 256 * 1024 * 1024

# Compressed batches up to this size are mostly small uncompressed, too.
_SMALL_BYTES_MAX: Final = 32 * 1024
_SMALL_UNCOMPRESSED_BYTES_MAX: Final = 1024 * 1024
# What decompressing counts as: a slice has 1 MiB, or 60 pieces.
_BYTES_PER_VISIT: Final = 512
_PIECE_VISITS: Final = 32


class ValidatedRecords(FrozenLeaf):
    """What to write: `data` contains `batches` one after the other, numbered from the first offset on.

    `log_append_time_ms` is -1 unless the topic uses that time.
    """

    data: bytes | bytearray | memoryview
    batches: "Sequence[RecordBatch]"
    log_append_time_ms: int = -1


class CheckedRecords(NamedTuple):
    """Records that were checked before their append: a batch that lacks its place in the log only, or the refusal.

    `data` is a copy of the batch, which the append changes; `latest` is the latest timestamp of its records.
    """

    batch: "RecordBatch | AppendRefusedError"
    data: bytearray
    latest: int


def validate_produced(
    records: bytes | memoryview,
    *,
    topic: str,
    config: LogConfig,
    first_offset: int,
    leader_epoch: int,
    now_ms: int,
    origin: AppendOrigin,
    checked: CheckedRecords | None = None,
) -> ValidatedRecords:
    """Check what is to be appended, and set offsets from `first_offset` on and the leader's epoch.

    One batch of magic 2, or any number of messages of magic 0 or 1, which become one batch. An incomplete one at the
    end is dropped. `topic` is for error messages: a topic or partition. What `checked` is of is not read again.

    Raises AppendRefusedError: CORRUPT_MESSAGE (CRC, sizes, magic), MESSAGE_TOO_LARGE (max.message.bytes, or records
    that would decompress to too much), RECORD_LIST_TOO_LARGE (segment.bytes), INVALID_TIMESTAMP and INVALID_RECORD (all
    else), both with `record_errors` where single records are at fault. Source: UnifiedLog.analyzeAndValidateRecords and
    append, LogValidator.
    """
    view = memoryview(records)
    checks = RecordChecks(topic=topic, config=config, now_ms=now_ms)
    if origin is _OWN and config.compression_type == PRODUCER_COMPRESSION and not checks.is_log_append_time:
        return _numbered(records, topic=topic, config=config, first_offset=first_offset, leader_epoch=leader_epoch)
    if checked is not None:
        return _to_write(_placed_checked(checked, checks, first_offset=first_offset, leader_epoch=leader_epoch), checks)
    batch = _first_batch(view, checks, is_clients=origin is _CLIENT)
    if batch is None:
        batch = exhaust(_from_old_messages(view, checks, SliceBudget()))
        batch = _patched(batch, batch.max_timestamp, checks, first_offset=first_offset, leader_epoch=leader_epoch)
    else:
        batch = _validated(batch, checks, first_offset=first_offset, leader_epoch=leader_epoch)
    return _to_write(batch, checks)


def is_old_or_compressed(records: bytes | memoryview) -> bool:
    """Return whether their size says little about the work of checking them."""
    if len(records) <= ATTRIBUTES_AT + 1:
        return False
    return records[MAGIC_AT] != MAGIC or records[ATTRIBUTES_AT + 1] & COMPRESSION_MASK != 0


def check_slices(
    records: bytes | memoryview, *, topic: str, config: LogConfig, now_ms: int, turn: Turn, budget: SliceBudget
) -> Slices[CheckedRecords]:
    """Do what `validate_produced` does with a client's records, in slices, for its `checked`.

    It looks at no log; `config` and time are those at the beginning. What is much larger uncompressed waits for its
    `turn`: it takes many times the memory that its client has sent.
    """
    view = memoryview(records)
    checks = RecordChecks(topic=topic, config=config, now_ms=now_ms)
    try:
        batch = _first_batch(view, checks, is_clients=True)
        if batch is not None:
            return (yield from _checked(batch, checks, turn, budget))
        yield from turn.take(budget)
        batch = yield from _from_old_messages(view, checks, budget)
    except AppendRefusedError as refused:
        return CheckedRecords(refused, bytearray(), NO_TIMESTAMP)
    finally:
        turn.give_back(budget)
    return CheckedRecords(batch, bytearray(batch.buffer), batch.max_timestamp)


def _placed_checked(
    checked: CheckedRecords, checks: RecordChecks, *, first_offset: int, leader_epoch: int
) -> RecordBatch:
    batch, data, latest = checked
    if isinstance(batch, AppendRefusedError):
        raise batch
    return _placed(batch, data, latest, checks, first_offset=first_offset, leader_epoch=leader_epoch)


def _to_write(batch: RecordBatch, checks: RecordChecks) -> ValidatedRecords:
    _check_fits_segment(batch, topic=checks.topic, config=checks.config)
    return ValidatedRecords(
        data=batch.buffer,
        batches=(batch,),
        log_append_time_ms=checks.now_ms if checks.is_log_append_time else NO_TIMESTAMP,
    )


def _first_batch(view: memoryview, checks: RecordChecks, *, is_clients: bool) -> RecordBatch | None:
    """Return the only batch, its header checked; None: there are messages of magic 0 or 1."""
    end = _first_batch_end(view, checks.topic)
    if view[MAGIC_AT] != MAGIC:
        return None
    produced = _read_header(view, end)
    _check_whole(produced, topic=checks.topic, config=checks.config, is_clients=is_clients)
    if end < len(view):
        _refuse_second_batch(view[end:], checks.topic)
    _check_header(produced, topic=checks.topic, is_clients=is_clients)
    return produced


def _batch_end(view: memoryview) -> int | None:
    """Return the end of the first batch (or message); None if it is incomplete."""
    if len(view) < LENGTH_END:
        return None
    (size,) = _LENGTH.unpack_from(view, 8)
    if size < MESSAGE_BYTES_MIN:
        reason = f"Record size {size} is less than the minimum record overhead ({MESSAGE_BYTES_MIN})"
        raise AppendRefusedError(ErrorCode.CORRUPT_MESSAGE, reason)
    if len(view) <= MAGIC_AT:
        return None
    if view[MAGIC_AT] > MAGIC:
        magic = int.from_bytes(view[MAGIC_AT : MAGIC_AT + 1], "big", signed=True)
        raise AppendRefusedError(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")
    end: int = LENGTH_END + size
    return end if end <= len(view) else None


def _first_batch_end(view: memoryview, topic: str) -> int:
    end = _batch_end(view)
    if end is None:
        reason = f"Record batch has no batches at all in topic partition {topic}"
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason)
    return end


def _refuse_second_batch(rest: memoryview, topic: str) -> None:
    if _batch_end(rest) is not None:
        reason = f"Compressed outer record has more than one batch in topic partition {topic}"
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason)


def _read_header(view: memoryview, end: int) -> RecordBatch:
    if end < HEADER_BYTES:
        reason = f"Record is corrupt ({end} bytes are fewer than a header of {HEADER_BYTES})"
        raise AppendRefusedError(ErrorCode.CORRUPT_MESSAGE, reason)
    return RecordBatch(view[:end], 0, *HEADER.unpack_from(view))


def _check_whole(batch: RecordBatch, *, topic: str, config: LogConfig, is_clients: bool) -> None:
    if is_clients and batch.base_offset:
        reason = (
            f"The baseOffset of the record batch in the append to {topic} should be 0, but it is {batch.base_offset}"
        )
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason)
    _check_size(batch, topic=topic, config=config)
    if not batch.crc_is_valid:
        reason = f"Record is corrupt (stored crc = {batch.crc}) in topic partition {topic}."
        raise AppendRefusedError(ErrorCode.CORRUPT_MESSAGE, reason)


def _check_size(batch: RecordBatch, *, topic: str, config: LogConfig) -> None:
    if batch.size > config.max_message_bytes:
        reason = (
            f"The record batch size in the append to {topic} is {batch.size} bytes which exceeds the maximum "
            f"configured value of {config.max_message_bytes}."
        )
        raise AppendRefusedError(ErrorCode.MESSAGE_TOO_LARGE, reason)


def _check_fits_segment(batch: RecordBatch, *, topic: str, config: LogConfig) -> None:
    if batch.size > config.segment_bytes:
        reason = (
            f"Message batch size is {batch.size} bytes in append to partition {topic}, which exceeds the maximum "
            f"configured segment size of {config.segment_bytes}."
        )
        raise AppendRefusedError(ErrorCode.RECORD_LIST_TOO_LARGE, reason)


def _numbered(
    records: bytes | memoryview, *, topic: str, config: LogConfig, first_offset: int, leader_epoch: int
) -> ValidatedRecords:
    """Return a batch of our own, which only needs its place in the log."""
    data = bytearray(records)
    _OFFSET.pack_into(data, 0, first_offset)
    _LENGTH.pack_into(data, LENGTH_END, leader_epoch)
    batch = _read_back(data)
    assert batch.size == len(data), "one batch, and whole"
    _check_size(batch, topic=topic, config=config)
    _check_fits_segment(batch, topic=topic, config=config)
    return ValidatedRecords(data=batch.buffer, batches=(batch,))


def _check_header(batch: RecordBatch, *, topic: str, is_clients: bool) -> None:
    fault = _fault_of_counts(batch) or (is_clients and _fault_of_client(batch))
    if fault:
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, f"{fault} in topic partition {topic}")


def _fault_of_counts(batch: RecordBatch) -> str | None:
    if batch.attributes & COMPRESSION_MASK >= len(_COMPRESSIONS):
        return f"Unknown compression type id: {batch.attributes & COMPRESSION_MASK}"
    count, last_delta = batch.record_count, batch.last_offset_delta
    if last_delta + 1 == count and count > 0:
        return None
    offsets = f"[{batch.base_offset}, {batch.last_offset}]"
    if last_delta < 0:
        return f"Batch has an invalid offset range: {offsets}"
    if count <= 0:
        return f"Invalid reported count for record batch: {count}"
    return f"Inconsistent batch offset range {offsets} and count of records {count}"


def _fault_of_client(batch: RecordBatch) -> str | None:
    if batch.is_control:
        return "Clients are not allowed to write control records"
    if batch.producer_id > NO_PRODUCER_ID and batch.base_sequence < 0:
        return f"Invalid sequence number {batch.base_sequence} in record batch with producerId {batch.producer_id}"
    return None


def _validated(batch: RecordBatch, checks: RecordChecks, *, first_offset: int, leader_epoch: int) -> RecordBatch:
    source, target = _codecs(batch, checks)
    # The copy is needed anyway, and indexing it is twice as fast as a view.
    data = bytearray(batch.buffer)
    try:
        plain: bytes | bytearray
        if source is _UNCOMPRESSED:
            plain, start = data, HEADER_BYTES
        else:
            plain, start = batch.uncompressed(bytes_max=_uncompressed_bytes_max(batch.size)), 0
        scan = scan_records(plain, start, batch.record_count)
    except RemoteProtocolError as error:
        raise _refusal(error, checks.topic) from error
    _check_scan(batch, scan, checks)
    latest = latest_timestamp(batch, scan)
    if source is target and not checks.may_have_errors(batch, scan):
        return _placed(batch, data, latest, checks, first_offset=first_offset, leader_epoch=leader_epoch)
    parts = ((start, len(plain), batch.record_count, batch.record_count),)
    rewritten = exhaust(_rewritten(batch, PlainRecords(plain, parts), scan, checks, SliceBudget()))
    return _patched(rewritten, latest, checks, first_offset=first_offset, leader_epoch=leader_epoch)


def _checked(batch: RecordBatch, checks: RecordChecks, turn: Turn, budget: SliceBudget) -> Slices[CheckedRecords]:
    """Do what `_validated` does, in slices; the batch has no place in the log yet."""
    data = bytearray(batch.buffer)
    plain: bytes | bytearray
    try:
        if batch.attributes & COMPRESSION_MASK:
            plain, start = (yield from _uncompressed(batch, turn, budget)), 0
        else:
            plain, start = data, HEADER_BYTES
        scan, parts, at = None, [], start
        for part in scan_parts(plain, start, batch.record_count):
            scan = part.scan if scan is None else joined(scan, part.scan)
            visits = part.record_count + part.header_count
            parts.append((at, part.end, part.record_count, visits))
            at = part.end
            if budget.spend(visits):
                yield
    except RemoteProtocolError as error:
        raise _refusal(error, checks.topic) from error
    assert scan is not None, "a batch without records is refused by its header"
    _check_scan(batch, scan, checks)
    rewritten = yield from _rewritten(batch, PlainRecords(plain, parts), scan, checks, budget)
    if rewritten is not batch:
        data = bytearray(rewritten.buffer)
    return CheckedRecords(rewritten, data, latest_timestamp(batch, scan))


def _rewritten(
    batch: RecordBatch, plain: PlainRecords, scan: RecordScan, checks: RecordChecks, budget: SliceBudget
) -> Slices[RecordBatch]:
    """Check each record if all of them do not say enough, and encode them anew for another codec."""
    if checks.may_have_errors(batch, scan):
        yield from check_each(batch, plain, checks, budget)
    source, target = _codecs(batch, checks)
    if source is target:
        return batch
    return (yield from recompressed(batch, plain, scan, checks, target=target, budget=budget))


def _from_old_messages(view: memoryview, checks: RecordChecks, budget: SliceBudget) -> Slices[RecordBatch]:
    return from_old_messages(view, checks, bytes_max=_uncompressed_bytes_max(len(view)), budget=budget)


def _codecs(batch: RecordBatch, checks: RecordChecks) -> tuple[Compression, Compression]:
    """Return the codec of a batch, and the one in which it is written."""
    source = _COMPRESSIONS[batch.attributes & COMPRESSION_MASK]
    # A coordinator's own records stay as they are (as in Kafka: unless they are compressed).
    if batch.is_control and source is Compression.NONE:
        return source, source
    return source, target_codec(checks.config, source)


def _uncompressed(batch: RecordBatch, turn: Turn, budget: SliceBudget) -> Slices[bytes | bytearray]:
    """Return the uncompressed records of a compressed batch."""
    bytes_max = _uncompressed_bytes_max(batch.size)
    if batch.size <= _SMALL_BYTES_MAX:
        try:
            small = batch.uncompressed(bytes_max=_SMALL_UNCOMPRESSED_BYTES_MAX)
        except UncompressedTooLargeError:
            pass
        else:
            if budget.spend(len(small) // _BYTES_PER_VISIT):
                yield
            return small
    yield from turn.take(budget)
    plain = bytearray()
    for piece in decompressed_pieces(batch.compression, batch.buffer[HEADER_BYTES : batch.size], bytes_max=bytes_max):
        if not plain and isinstance(piece, bytearray):
            plain = piece
        else:
            plain += piece
        if budget.spend(_PIECE_VISITS + len(piece) // _BYTES_PER_VISIT):
            yield
    return plain


def _refusal(error: RemoteProtocolError, topic: str) -> AppendRefusedError:
    if isinstance(error, UncompressedTooLargeError):
        return AppendRefusedError(ErrorCode.MESSAGE_TOO_LARGE, error.reason)
    reason = f"Found invalid record structure in topic partition {topic}: {error.reason}"
    return AppendRefusedError(ErrorCode.INVALID_RECORD, reason)


def _check_scan(batch: RecordBatch, scan: RecordScan, checks: RecordChecks) -> None:
    if not scan.is_consecutive:
        reason = f"Offset deltas of the records are not consecutive in topic partition {checks.topic}"
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason)
    earliest = batch.base_timestamp + scan.timestamp_delta_min
    if not _INT64_MIN <= earliest <= batch.base_timestamp + scan.timestamp_delta_max <= _INT64_MAX:
        reason = f"Timestamps of the records have more than 64 bits in topic partition {checks.topic}"
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason)


def _uncompressed_bytes_max(size: int) -> int:
    """Return the limit for the decompressed size: the cost of a request follows its size.

    Differs from Kafka, which decompresses without a limit as a stream. A producer that gets MESSAGE_TOO_LARGE splits
    its batch, so even an honest one gets through.
    """
    return min(max(size * _UNCOMPRESSED_RATIO_MAX, _UNCOMPRESSED_BYTES_MIN), _UNCOMPRESSED_BYTES_MAX)


def _patched(
    batch: RecordBatch, latest: int, checks: RecordChecks, *, first_offset: int, leader_epoch: int
) -> RecordBatch:
    """Return a copy of a batch at a place in the log."""
    data = bytearray(batch.buffer)
    return _placed(batch, data, latest, checks, first_offset=first_offset, leader_epoch=leader_epoch)


def _placed(
    batch: RecordBatch, data: bytearray, latest: int, checks: RecordChecks, *, first_offset: int, leader_epoch: int
) -> RecordBatch:
    """Return the batch with another offset, leader epoch and, if the topic requires it, timestamps.

    `data` is a copy of it, and is changed; `latest` is the latest timestamp of its records.
    """
    _OFFSET.pack_into(data, 0, first_offset)
    _LENGTH.pack_into(data, LENGTH_END, leader_epoch)
    if checks.is_log_append_time:
        max_timestamp, type_bit = checks.now_ms, LOG_APPEND_TIME_BIT
    else:
        max_timestamp, type_bit = max(NO_TIMESTAMP, latest), 0
    if batch.max_timestamp != max_timestamp or batch.attributes & LOG_APPEND_TIME_BIT != type_bit:
        attributes = batch.attributes & _KNOWN_ATTRIBUTES & ~LOG_APPEND_TIME_BIT | type_bit
        data[ATTRIBUTES_AT : ATTRIBUTES_AT + 2] = attributes.to_bytes(2, "big")
        data[_MAX_TIMESTAMP_AT : _MAX_TIMESTAMP_AT + 8] = max_timestamp.to_bytes(8, "big", signed=True)
        with memoryview(data) as view:
            data[CRC_AT:ATTRIBUTES_AT] = crc32c(view[ATTRIBUTES_AT:]).to_bytes(4, "big")
    return _read_back(data)


def _read_back(data: bytes | bytearray) -> RecordBatch:
    return RecordBatch(memoryview(data), 0, *HEADER.unpack_from(data))
