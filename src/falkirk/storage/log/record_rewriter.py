"""Reads produced records one by one, and encodes them anew: as another codec, or as a batch of magic 2 (LogValidator).

All of it is in slices, because a batch may have millions of records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.protocol.batch_builder import assemble_batch
from falkirk.protocol.compression import COMPRESSED_AT_ONCE, Compression, compressed_pieces
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.record import encode_record
from falkirk.protocol.record_batch import (
    HEADER,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    RecordBatch,
)
from falkirk.slices import VISITS_PER_SLICE
from falkirk.storage.log.append import AppendRefusedError
from falkirk.storage.log.log_config import PRODUCER_COMPRESSION
from falkirk.storage.log.old_messages import decode_old_messages
from falkirk.storage.log.record_checks import FAULTS_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.record import Record
    from falkirk.protocol.record_scan import RecordScan
    from falkirk.slices import SliceBudget, Slices
    from falkirk.storage.log.log_config import LogConfig
    from falkirk.storage.log.record_checks import RecordChecks, RecordFault

_INT64_MIN: Final = -(1 << 63)
_INT64_MAX: Final = (1 << 63) - 1
_CODECS: Final = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}
_RECORDS_AT_ONCE: Final = 500
# What decoding or encoding a record counts as.
_RECORD_VISITS: Final = 2


class PlainRecords(NamedTuple):
    """The uncompressed records of a batch; each part of them is (start, end, number of records, visits)."""

    data: "bytes | bytearray"
    parts: "Sequence[tuple[int, int, int, int]]"


def target_codec(config: LogConfig, source: Compression) -> Compression:
    """Return the codec in which records of another one are written."""
    if config.compression_type == PRODUCER_COMPRESSION:
        return source
    return _CODECS[config.compression_type]


def latest_timestamp(batch: RecordBatch, scan: RecordScan) -> int:
    """Return the latest timestamp of the records, as consumers of the produced batch would see it."""
    return batch.max_timestamp if batch.is_log_append_time else batch.base_timestamp + scan.timestamp_delta_max


def check_each(batch: RecordBatch, plain: PlainRecords, checks: RecordChecks, budget: SliceBudget) -> Slices[None]:
    """Check records one by one. Raise AppendRefusedError with the faulty ones: from 1,000 on the rest is not read."""
    faults: list[RecordFault] = []
    index = 0
    for start, end, count, visits in plain.parts:
        for record in checks.decode(batch, bytes(plain.data[start:end]), count):
            fault = checks.fault(record, index, is_log_append_time=batch.is_log_append_time)
            if fault is not None:
                faults.append(fault)
            index += 1
        if len(faults) >= FAULTS_MAX:
            break
        if budget.spend(_RECORD_VISITS * visits):
            yield
    checks.refuse(faults)


def recompressed(
    batch: RecordBatch,
    plain: PlainRecords,
    scan: RecordScan,
    checks: RecordChecks,
    *,
    target: Compression,
    budget: SliceBudget,
) -> Slices[RecordBatch]:
    """Encode the records with another codec; the new batch has no place in a log yet."""
    base_timestamp, body = batch.base_timestamp, plain.data
    if batch.is_log_append_time or scan.first_timestamp_delta:
        # Kafka's deltas count from the first record's timestamp.
        base_timestamp, body = yield from _with_deltas_from_first(batch, plain, checks, budget)
    elif plain.parts[0][0]:
        body = plain.data[plain.parts[0][0] :]
    return (
        yield from _assembled(
            body,
            checks,
            target=target,
            attributes=batch.attributes & TRANSACTIONAL_BIT,
            base_timestamp=base_timestamp,
            latest=latest_timestamp(batch, scan),
            producer=(batch.producer_id, batch.producer_epoch, batch.base_sequence),
            record_count=batch.record_count,
            budget=budget,
        )
    )


def from_old_messages(
    view: memoryview, checks: RecordChecks, *, bytes_max: int, budget: SliceBudget
) -> Slices[RecordBatch]:
    """Make one batch of messages of magic 0 or 1; it has no place in a log yet."""
    source, records = yield from decode_old_messages(view, checks, bytes_max=bytes_max)
    base_timestamp = latest = records[0].timestamp
    body = bytearray()
    for first in range(0, len(records), _RECORDS_AT_ONCE):
        some = records[first : first + _RECORDS_AT_ONCE]
        latest = max(latest, *[record.timestamp for record in some])
        body += _encode(some, checks, base_offset=0, base_timestamp=base_timestamp)
        if budget.spend(_RECORD_VISITS * len(some)):
            yield
    return (
        yield from _assembled(
            body,
            checks,
            target=target_codec(checks.config, source),
            attributes=0,
            base_timestamp=base_timestamp,
            latest=latest,
            producer=(NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE),
            record_count=len(records),
            budget=budget,
        )
    )


def _with_deltas_from_first(
    batch: RecordBatch, plain: PlainRecords, checks: RecordChecks, budget: SliceBudget
) -> Slices[tuple[int, bytearray]]:
    body = bytearray()
    base_timestamp = None
    for start, end, count, visits in plain.parts:
        records = checks.decode(batch, bytes(plain.data[start:end]), count)
        if base_timestamp is None:
            base_timestamp = records[0].timestamp
        body += _encode(records, checks, base_offset=batch.base_offset, base_timestamp=base_timestamp)
        if budget.spend(2 * _RECORD_VISITS * visits):
            yield
    assert base_timestamp is not None, "no batch without records gets here"
    return base_timestamp, body


def _encode(records: Sequence[Record], checks: RecordChecks, *, base_offset: int, base_timestamp: int) -> bytes:
    deltas = [record.timestamp - base_timestamp for record in records]
    # Nobody could read the batch again. Differs from Kafka, which wraps around.
    if min(deltas) < _INT64_MIN or max(deltas) > _INT64_MAX:
        reason = f"Timestamps of the records are more than 64 bits apart in topic partition {checks.topic}"
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason)
    return b"".join(
        [encode_record(record, base_offset=base_offset, base_timestamp=base_timestamp) for record in records]
    )


def _assembled(
    plain: bytes | bytearray,
    checks: RecordChecks,
    *,
    target: Compression,
    attributes: int,
    base_timestamp: int,
    latest: int,
    producer: tuple[int, int, int],
    record_count: int,
    budget: SliceBudget,
) -> Slices[RecordBatch]:
    body = plain
    if target is not Compression.NONE:
        packed = bytearray()
        for piece in compressed_pieces(target, plain):
            packed += piece
            if budget.spend(min(len(plain), COMPRESSED_AT_ONCE) * VISITS_PER_SLICE // COMPRESSED_AT_ONCE):
                yield
        body = packed
    size = HEADER_BYTES + len(body)
    if size > checks.config.max_message_bytes:
        reason = (
            f"Message batch size is {size} bytes in append to partition {checks.topic} which exceeds the maximum "
            f"configured size of {checks.config.max_message_bytes}."
        )
        raise AppendRefusedError(ErrorCode.MESSAGE_TOO_LARGE, reason)
    producer_id, producer_epoch, base_sequence = producer
    data = assemble_batch(
        body,
        base_offset=0,
        last_offset_delta=record_count - 1,
        leader_epoch=0,
        attributes=attributes | target | LOG_APPEND_TIME_BIT * checks.is_log_append_time,
        base_timestamp=base_timestamp,
        max_timestamp=checks.now_ms if checks.is_log_append_time else max(NO_TIMESTAMP, latest),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=record_count,
    )
    return RecordBatch(memoryview(data), 0, *HEADER.unpack_from(data))
