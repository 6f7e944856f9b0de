"""Looks up records by timestamp (KIP-79, KIP-734)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.storage.log.read import TimestampOffset

if TYPE_CHECKING:
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.storage.log.log_segments import LogSegments


def offset_for_timestamp(segments: LogSegments, timestamp: int, start_offset: int) -> TimestampOffset | None:
    """Return the first record at `start_offset` or later with at least this timestamp.

    Differs from Kafka: a segment whose only such records are before `start_offset` is skipped, and does not end the
    search.
    """
    for segment in segments:
        if segment.largest[0] < timestamp or not segment.size:
            continue
        first = max(segment.index.offset_before_timestamp(timestamp), start_offset)
        for _, batch in segment.batches(segment.index.position_before(first), segment.size):
            if batch.max_timestamp >= timestamp and batch.last_offset >= start_offset:
                found = _first_record(batch, timestamp, start_offset)
                if found is not None:
                    return found
    return None


def offset_of_max_timestamp(segments: LogSegments) -> TimestampOffset | None:
    """Return the first record with the largest timestamp; None if none has one."""
    segment = max(segments, key=lambda segment: segment.largest[0])
    largest, last_offset = segment.largest
    if largest < 0:
        return None
    for _, batch in segment.batches(segment.index.position_before(last_offset), segment.size):
        if batch.max_timestamp == largest:
            return _first_record(batch, largest, 0)
    return None


def segment_starts(segments: LogSegments, start_offset: int, end_offset: int, now_ms: int) -> list[TimestampOffset]:
    """Return the start of each segment with its largest timestamp (empty: when it was made), and the end with now.

    The end is left out where the last segment is empty and begins there. Source: UnifiedLog.legacyFetchOffsetsBefore.
    Differs from Kafka, which uses the times when files were last modified.
    """
    found = [
        TimestampOffset(
            timestamp=segment.largest[0] if segment.size else segment.created_ms,
            offset=max(segment.base_offset, start_offset),
        )
        for segment in segments
    ]
    if segments.active.size:
        found.append(TimestampOffset(timestamp=now_ms, offset=end_offset))
    return found


def _first_record(batch: RecordBatch, timestamp: int, start_offset: int) -> TimestampOffset | None:
    for record in batch.records():
        if record.timestamp >= timestamp and record.offset >= start_offset:
            epoch = batch.leader_epoch if batch.leader_epoch >= 0 else None
            return TimestampOffset(timestamp=record.timestamp, offset=record.offset, leader_epoch=epoch)
    return None
