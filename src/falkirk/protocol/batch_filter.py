"""Removes records from a batch as Kafka's log cleaner does; everything else about the batch stays."""

from collections.abc import Callable

from falkirk.protocol.batch_builder import assemble_batch
from falkirk.protocol.compression import UNCOMPRESSED_BYTES_MAX, compress
from falkirk.protocol.record import Record, encode_record, split_records
from falkirk.protocol.record_batch import (
    COMPRESSION_MASK,
    DELETE_HORIZON_BIT,
    NO_TIMESTAMP,
    RecordBatch,
)


def filter_batch(
    batch: RecordBatch,
    keep: Callable[[Record], bool],
    *,
    retain_empty: bool = False,
    delete_horizon_ms: int | None = None,
    bytes_max: int = UNCOMPRESSED_BYTES_MAX,
) -> bytes | None:
    """Return the batch with only the records that `keep` accepts: its own bytes if it accepts all.

    Kept as they were: base and last offset, leader epoch, codec, producer id, epoch and sequence, timestamp type,
    transactional and control flag, delete horizon, each record's offset and timestamp (gaps in the offset deltas mark
    what is gone). As the cleaner does, the base timestamp becomes that of the first record left (unless it holds the
    delete horizon) and the max timestamp the largest of those left (unless the broker set it).

    `delete_horizon_ms` is written into a batch that has none yet, if a tombstone is left in it or it is a control
    batch: when that time has come they may go (KIP-534).

    Without records left the batch is None; with `retain_empty` it is a header alone, which the caller wants where the
    batch is the last of its producer (its sequence number must outlive it) or the last of the log (its last offset).
    Source: MemoryRecords.filterTo, for magic 2.
    """
    records = batch.records(bytes_max=bytes_max)
    left = [record for record in records if keep(record)]
    if not left:
        return _empty_batch(batch) if retain_empty else None
    horizon_ms = batch.delete_horizon_ms
    if horizon_ms is None and (batch.is_control or any(record.value is None for record in left)):
        horizon_ms = delete_horizon_ms
    is_horizon_new = horizon_ms != batch.delete_horizon_ms
    if len(left) == len(records) and not is_horizon_new:
        return bytes(batch.data)
    base_timestamp, max_timestamp = _timestamps(batch, left)
    if horizon_ms is not None:
        base_timestamp = horizon_ms
    if base_timestamp == batch.base_timestamp and not batch.is_log_append_time:
        # Deltas stay what they were: the records are copied as bytes. (Under log append time the stored deltas are
        # still those of the producer, and the cleaner replaces them.)
        data = batch.uncompressed(bytes_max=bytes_max)
        spans = split_records(data, batch.record_count)
        kept = {record.offset for record in left}
        body = b"".join(
            data[start:end] for record, (start, end) in zip(records, spans, strict=True) if record.offset in kept
        )
    else:
        body = b"".join(
            encode_record(record, base_offset=batch.base_offset, base_timestamp=base_timestamp) for record in left
        )
    return _assemble_like(
        batch,
        compress(batch.compression, body),
        attributes=batch.attributes | (DELETE_HORIZON_BIT if horizon_ms is not None else 0),
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        record_count=len(left),
    )


def _timestamps(batch: RecordBatch, left: list[Record]) -> tuple[int, int]:
    if batch.is_log_append_time:
        return batch.max_timestamp, batch.max_timestamp
    return left[0].timestamp, max(NO_TIMESTAMP, *(record.timestamp for record in left))


def _empty_batch(batch: RecordBatch) -> bytes:
    # Kafka's empty header: no codec, no delete horizon, no base timestamp, the max timestamp as it was.
    return _assemble_like(
        batch,
        b"",
        attributes=batch.attributes & ~(COMPRESSION_MASK | DELETE_HORIZON_BIT),
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=batch.max_timestamp,
        record_count=0,
    )


def _assemble_like(
    batch: RecordBatch,
    body: bytes,
    *,
    attributes: int,
    base_timestamp: int,
    max_timestamp: int,
    record_count: int,
) -> bytes:
    return assemble_batch(
        body,
        base_offset=batch.base_offset,
        last_offset_delta=batch.last_offset_delta,
        leader_epoch=batch.leader_epoch,
        attributes=attributes,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        record_count=record_count,
    )
