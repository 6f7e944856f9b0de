"""Takes records out of a batch as Kafka's log cleaner does, so that everything else about the batch survives."""

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
    bytes_max: int = UNCOMPRESSED_BYTES_MAX,
) -> bytes | None:
    """Give the batch with only the records that `keep` wants: its own bytes if that is all of them.

    Kept as they were: base and last offset, leader epoch, codec, producer id, epoch and sequence, timestamp type,
    transactional and control flag, delete horizon, each record's offset and timestamp (gaps in the offset deltas mark
    what is gone). As the cleaner does, the base timestamp becomes that of the first record left (unless it holds the
    delete horizon) and the max timestamp the largest of those left (unless the broker set it).

    Without records left the batch is None; with `retain_empty` it is a header alone, which the caller wants where the
    batch is the last of its producer (its sequence number must outlive it) or the last of the log (its last offset).
    Source: MemoryRecords.filterTo, for magic 2.
    """
    records = batch.records(bytes_max=bytes_max)
    kept = [index for index, record in enumerate(records) if keep(record)]
    if kept and len(kept) == len(records):
        return bytes(batch.data)
    if not kept:
        return _empty_batch(batch) if retain_empty else None
    left = [records[index] for index in kept]
    base_timestamp, max_timestamp = _timestamps(batch, left)
    if base_timestamp == batch.base_timestamp and not batch.is_log_append_time:
        # Deltas stay what they were: the records are copied as bytes. (Under log append time the stored deltas are
        # still those of the producer, and the cleaner replaces them.)
        data = batch.uncompressed(bytes_max=bytes_max)
        spans = split_records(data, batch.record_count)
        body = b"".join(data[start:end] for start, end in (spans[index] for index in kept))
    else:
        body = b"".join(
            encode_record(record, base_offset=batch.base_offset, base_timestamp=base_timestamp) for record in left
        )
    return _assemble_like(
        batch,
        compress(batch.compression, body),
        attributes=batch.attributes,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        record_count=len(left),
    )


def _timestamps(batch: RecordBatch, left: list[Record]) -> tuple[int, int]:
    if batch.is_log_append_time:
        base_timestamp = max_timestamp = batch.max_timestamp
    else:
        base_timestamp = left[0].timestamp
        max_timestamp = max(NO_TIMESTAMP, *(record.timestamp for record in left))
    if batch.delete_horizon_ms is not None:
        base_timestamp = batch.delete_horizon_ms
    return base_timestamp, max_timestamp


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
