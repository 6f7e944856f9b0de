"""The log of one partition as a broker keeps it (Kafka's UnifiedLog)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.storage.log.append import AppendOrigin, LogAppendInfo
    from falkirk.storage.log.log_config import LogConfig
    from falkirk.storage.log.read import FetchedData, FetchIsolation, TimestampOffset


class UnifiedLog:
    """Segments, indexes, producer state and leader epochs of one directory; files and names are Kafka's.

    An OSError of the disk comes through as it is: the log is not to be used any more then, its log directory is
    offline.
    """

    topic_partition: TopicPartition
    topic_id: bytes
    directory: str
    """Its path; it changes when the log is renamed."""
    config: LogConfig
    """May be set anew at any time."""
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    recovery_point: int
    size: int

    @property
    def latest_epoch(self) -> int | None:
        """The leader epoch of the last batch."""
        raise NotImplementedError

    @property
    def last_stable_offset(self) -> int:
        """The first offset of an open transaction below the high watermark, else that."""
        raise NotImplementedError

    def append_as_leader(
        self, records: bytes | memoryview, leader_epoch: int, now_ms: int, *, origin: AppendOrigin
    ) -> LogAppendInfo:
        """Check, number and append what was produced: one batch of magic 2 from clients, as Kafka asks for.

        Raises AppendRefusedError with Kafka's error code; nothing was written then.
        """
        raise NotImplementedError

    def append_as_follower(self, records: bytes | memoryview) -> LogAppendInfo | None:
        """Append what the leader sent: whole batches at the log's end; a cut-off one at the end is dropped.

        None if there was none. Raises CorruptRecordsError for batches that do not follow on one another or whose CRC
        does not fit (as Kafka's follower does: the partition is tried again later).
        """
        raise NotImplementedError

    def read(
        self, offset: int, bytes_max: int, isolation: FetchIsolation, *, is_one_batch_needed: bool = False
    ) -> FetchedData:
        """Read from `offset` on; with `is_one_batch_needed` the first batch whatever its size.

        Raises OffsetOutOfRangeError below the log's start or beyond its end; beyond what `isolation` shows the answer
        is empty.
        """
        raise NotImplementedError

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """Give the first record with at least this timestamp."""
        raise NotImplementedError

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """Give the record with the largest timestamp (the first of them)."""
        raise NotImplementedError

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch | None:
        """Give the largest epoch not above `epoch`, and where it ends here (KIP-279)."""
        raise NotImplementedError

    def assign_epoch_start_offset(self, epoch: int, start_offset: int) -> None:
        """Note where a leader's epoch begins, before it has written anything."""
        raise NotImplementedError

    def update_high_watermark(self, offset: int) -> bool:
        """Move the high watermark, kept between the log's start and end; give whether it changed."""
        raise NotImplementedError

    def increment_log_start_offset(self, offset: int) -> bool:
        """Hide what is before `offset` (DeleteRecords, a leader's log start); ValueError beyond the high watermark."""
        raise NotImplementedError

    def truncate_to(self, offset: int) -> bool:
        """Cut off `offset` and all behind it; give whether anything went. Indexes, epochs, producers follow."""
        raise NotImplementedError

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Throw all away and begin anew at `offset`."""
        raise NotImplementedError

    def roll_if_due(self, now_ms: int) -> None:
        """Begin a new segment if the active one is old enough, though nothing is appended."""
        raise NotImplementedError

    def delete_old_segments(self, now_ms: int) -> int:
        """Remove what retention and the log's start no longer keep; give how many segments went.

        Files are renamed to `.deleted` and removed by the log manager later.
        """
        raise NotImplementedError

    def flush(self, *, up_to: int | None = None) -> None:
        """Sync what is before `up_to` (all by default) and move the recovery point."""
        raise NotImplementedError

    def active_producers(self) -> list[object]:
        """Give the state of the producers (DescribeProducers)."""
        raise NotImplementedError

    def rename(self, directory_name: str) -> None:
        """Move the directory to another name in the same log directory."""
        raise NotImplementedError

    def close(self) -> None:
        """Flush, trim the indexes, write a producer snapshot; for an orderly stop."""
        raise NotImplementedError
