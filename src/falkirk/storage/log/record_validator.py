"""Checks and numbers produced records before they are written (Kafka's LogValidator).

A batch that needs no change keeps its bytes but for offset and leader epoch, which its CRC does not cover. Other
timestamps cost a new header and CRC; another codec, or messages of magic 0 and 1, a new batch.

Differs from Kafka: what Kafka refuses with UNKNOWN_SERVER_ERROR (records that do not decompress, a codec that does not
exist) is INVALID_RECORD here. Three things that it accepts are refused with that as well: offset deltas other than 0,
1, 2, ..., fields of a size below -1 and, in compressed batches, records whose size does not fit their fields.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from crc32c import crc32c

from falkirk.protocol.batch_builder import assemble_batch
from falkirk.protocol.compression import Compression, UncompressedTooLargeError, compress
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.message_set import MESSAGE_BYTES_MIN
from falkirk.protocol.record import Record, encode_record
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
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    RecordBatch,
)
from falkirk.protocol.record_scan import RecordScan, scan_records
from falkirk.storage.log.append import AppendOrigin, AppendRefusedError
from falkirk.storage.log.log_config import PRODUCER_COMPRESSION, LogConfig
from falkirk.storage.log.old_messages import decode_old_messages
from falkirk.storage.log.record_checks import RecordChecks
from falkirk.structs import FrozenLeaf

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_CODECS: Final = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}

# A batch's size says little about its decompressed size, all of which is in memory for a moment. A producer's batches
# rarely exceed a few MiB; repetitive text compresses to a hundredth.
_UNCOMPRESSED_RATIO_MAX: Final = 128
_UNCOMPRESSED_BYTES_MIN: Final = 16 * 1024 * 1024
_UNCOMPRESSED_BYTES_MAX: Final = 256 * 1024 * 1024


class ValidatedRecords(FrozenLeaf):
    """What to write: `data` contains `batches` one after the other, numbered from the first offset on.

    `log_append_time_ms` is -1 unless the topic uses that time.
    """

    data: bytes | bytearray | memoryview
    batches: "Sequence[RecordBatch]"
    log_append_time_ms: int = -1


def validate_produced(
    records: bytes | memoryview,
    *,
    topic: str,
    config: LogConfig,
    first_offset: int,
    leader_epoch: int,
    now_ms: int,
    origin: AppendOrigin,
) -> ValidatedRecords:
    """Check what is to be appended, and set offsets from `first_offset` on and the leader's epoch.

    One batch of magic 2, or any number of messages of magic 0 or 1, which become one batch. An incomplete one at the
    end is dropped. `topic` is for error messages: a topic or partition.

    Raises AppendRefusedError: CORRUPT_MESSAGE (CRC, sizes, magic), MESSAGE_TOO_LARGE (max.message.bytes, or records
    that would decompress to too much), RECORD_LIST_TOO_LARGE (segment.bytes), INVALID_TIMESTAMP and INVALID_RECORD (all
    else), both with `record_errors` where single records are at fault. Source: UnifiedLog.analyzeAndValidateRecords and
    append, LogValidator.
    """
    view = memoryview(records)
    checks = RecordChecks(topic=topic, config=config, now_ms=now_ms)
    if origin is _OWN and config.compression_type == PRODUCER_COMPRESSION and not checks.is_log_append_time:
        return _numbered(records, topic=topic, config=config, first_offset=first_offset, leader_epoch=leader_epoch)
    end = _first_batch_end(view, topic)
    if view[MAGIC_AT] != MAGIC:
        batch = _from_old_messages(view, checks, first_offset=first_offset, leader_epoch=leader_epoch)
    else:
        produced = _read_header(view, end)
        is_clients = origin is _CLIENT
        _check_whole(produced, topic=topic, config=config, is_clients=is_clients)
        if end < len(view):
            _refuse_second_batch(view[end:], topic)
        _check_header(produced, topic=topic, is_clients=is_clients)
        batch = _validated(produced, checks, first_offset=first_offset, leader_epoch=leader_epoch)
    _check_fits_segment(batch, topic=topic, config=config)
    return ValidatedRecords(
        data=batch.buffer,
        batches=(batch,),
        log_append_time_ms=now_ms if checks.is_log_append_time else NO_TIMESTAMP,
    )


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
    source = target = _COMPRESSIONS[batch.attributes & COMPRESSION_MASK]
    if checks.config.compression_type != PRODUCER_COMPRESSION:
        target = _CODECS[checks.config.compression_type]
    # A coordinator's own records stay as they are (as in Kafka: unless they are compressed).
    if batch.is_control and source is Compression.NONE:
        target = source
    # The copy is needed anyway, and indexing it is twice as fast as a view.
    data = bytearray(batch.buffer)
    try:
        plain: bytes | bytearray
        if source is _UNCOMPRESSED:
            plain, start = data, HEADER_BYTES
        else:
            plain, start = batch.uncompressed(bytes_max=_uncompressed_bytes_max(batch.size)), 0
        scan = scan_records(plain, start, batch.record_count)
    except UncompressedTooLargeError as error:
        raise AppendRefusedError(ErrorCode.MESSAGE_TOO_LARGE, error.reason) from error
    except RemoteProtocolError as protocol_error:
        reason = f"Found invalid record structure in topic partition {checks.topic}: {protocol_error.reason}"
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason) from protocol_error
    if not scan.is_consecutive:
        reason = f"Offset deltas of the records are not consecutive in topic partition {checks.topic}"
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason)
    earliest = batch.base_timestamp + scan.timestamp_delta_min
    if not _INT64_MIN <= earliest <= batch.base_timestamp + scan.timestamp_delta_max <= _INT64_MAX:
        reason = f"Timestamps of the records have more than 64 bits in topic partition {checks.topic}"
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason)
    checks.check_batch(batch, scan, plain, start)
    if source is target:
        return _patched(batch, data, scan, checks, first_offset=first_offset, leader_epoch=leader_epoch)
    return _recompressed(
        batch, bytes(plain[start:]), scan, checks, target=target, first_offset=first_offset, leader_epoch=leader_epoch
    )


def _target_codec(config: LogConfig, source: Compression) -> Compression:
    if config.compression_type == PRODUCER_COMPRESSION:
        return source
    return _CODECS[config.compression_type]


def _uncompressed_bytes_max(size: int) -> int:
    """Return the limit for the decompressed size: the cost of a request follows its size.

    Differs from Kafka, which decompresses without a limit as a stream. A producer that gets MESSAGE_TOO_LARGE splits
    its batch, so even an honest one gets through.
    """
    return min(max(size * _UNCOMPRESSED_RATIO_MAX, _UNCOMPRESSED_BYTES_MIN), _UNCOMPRESSED_BYTES_MAX)


def _patched(
    batch: RecordBatch,
    data: bytearray,
    scan: RecordScan,
    checks: RecordChecks,
    *,
    first_offset: int,
    leader_epoch: int,
) -> RecordBatch:
    """Return the batch with another offset, leader epoch and, if the topic requires it, timestamps."""
    _OFFSET.pack_into(data, 0, first_offset)
    _LENGTH.pack_into(data, LENGTH_END, leader_epoch)
    if checks.is_log_append_time:
        max_timestamp, type_bit = checks.now_ms, LOG_APPEND_TIME_BIT
    else:
        max_timestamp, type_bit = max(NO_TIMESTAMP, _latest(batch, scan)), 0
    if batch.max_timestamp != max_timestamp or batch.attributes & LOG_APPEND_TIME_BIT != type_bit:
        attributes = batch.attributes & _KNOWN_ATTRIBUTES & ~LOG_APPEND_TIME_BIT | type_bit
        data[ATTRIBUTES_AT : ATTRIBUTES_AT + 2] = attributes.to_bytes(2, "big")
        data[_MAX_TIMESTAMP_AT : _MAX_TIMESTAMP_AT + 8] = max_timestamp.to_bytes(8, "big", signed=True)
        with memoryview(data) as view:
            data[CRC_AT:ATTRIBUTES_AT] = crc32c(view[ATTRIBUTES_AT:]).to_bytes(4, "big")
    return _read_back(data)


def _latest(batch: RecordBatch, scan: RecordScan) -> int:
    """Return the latest timestamp of the records, as consumers of the produced batch would see it."""
    return batch.max_timestamp if batch.is_log_append_time else batch.base_timestamp + scan.timestamp_delta_max


def _recompressed(
    batch: RecordBatch,
    plain: bytes,
    scan: RecordScan,
    checks: RecordChecks,
    *,
    target: Compression,
    first_offset: int,
    leader_epoch: int,
) -> RecordBatch:
    """Encode the records with another codec."""
    if batch.is_log_append_time or scan.first_timestamp_delta:
        # Kafka's deltas count from the first record's timestamp.
        records = checks.decode(batch, plain)
        base_timestamp = records[0].timestamp
        body = _encode(records, checks, base_offset=batch.base_offset, base_timestamp=base_timestamp)
    else:
        base_timestamp, body = batch.base_timestamp, plain
    return _assembled(
        body,
        checks,
        target=target,
        first_offset=first_offset,
        leader_epoch=leader_epoch,
        attributes=batch.attributes & TRANSACTIONAL_BIT,
        base_timestamp=base_timestamp,
        max_timestamp=checks.now_ms if checks.is_log_append_time else max(NO_TIMESTAMP, _latest(batch, scan)),
        producer=(batch.producer_id, batch.producer_epoch, batch.base_sequence),
        record_count=batch.record_count,
    )


def _from_old_messages(view: memoryview, checks: RecordChecks, *, first_offset: int, leader_epoch: int) -> RecordBatch:
    config = checks.config
    source, records = decode_old_messages(view, checks, bytes_max=_uncompressed_bytes_max(len(view)))
    base_timestamp = records[0].timestamp
    max_timestamp = max(NO_TIMESTAMP, *(record.timestamp for record in records))
    return _assembled(
        _encode(records, checks, base_offset=0, base_timestamp=base_timestamp),
        checks,
        target=_target_codec(config, source),
        first_offset=first_offset,
        leader_epoch=leader_epoch,
        attributes=0,
        base_timestamp=base_timestamp,
        max_timestamp=checks.now_ms if checks.is_log_append_time else max_timestamp,
        producer=(NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE),
        record_count=len(records),
    )


def _encode(records: Sequence[Record], checks: RecordChecks, *, base_offset: int, base_timestamp: int) -> bytes:
    deltas = [record.timestamp - base_timestamp for record in records]
    # Nobody could read the batch again. Differs from Kafka, which wraps around.
    if min(deltas) < _INT64_MIN or max(deltas) > _INT64_MAX:
        reason = f"Timestamps of the records are more than 64 bits apart in topic partition {checks.topic}"
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason)
    return b"".join(encode_record(record, base_offset=base_offset, base_timestamp=base_timestamp) for record in records)


def _assembled(
    body: bytes,
    checks: RecordChecks,
    *,
    target: Compression,
    first_offset: int,
    leader_epoch: int,
    attributes: int,
    base_timestamp: int,
    max_timestamp: int,
    producer: tuple[int, int, int],
    record_count: int,
) -> RecordBatch:
    producer_id, producer_epoch, base_sequence = producer
    data = assemble_batch(
        compress(target, body),
        base_offset=first_offset,
        last_offset_delta=record_count - 1,
        leader_epoch=leader_epoch,
        attributes=attributes | target | LOG_APPEND_TIME_BIT * checks.is_log_append_time,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=record_count,
    )
    if len(data) > checks.config.max_message_bytes:
        reason = (
            f"Message batch size is {len(data)} bytes in append to partition {checks.topic} which exceeds the maximum "
            f"configured size of {checks.config.max_message_bytes}."
        )
        raise AppendRefusedError(ErrorCode.MESSAGE_TOO_LARGE, reason)
    return _read_back(data)


def _read_back(data: bytes | bytearray) -> RecordBatch:
    return RecordBatch(memoryview(data), 0, *HEADER.unpack_from(data))
