"""All logs of a broker, in one or more log directories (Kafka's LogManager)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.storage.log.log_config import LogConfig
    from falkirk.storage.log.unified_log import UnifiedLog


class LogManager:
    """Opens, makes, moves and deletes logs; does the housekeeping piece by piece.

    A log directory that fails is taken offline, with the logs in it, and no other: `take_offline` is to be called by
    whoever gets an OSError out of a log. The directories are known by path and by id.
    """

    def get(self, partition: TopicPartition, *, is_future: bool = False) -> UnifiedLog | None:
        """Give a log that is online; `is_future`: the replica that moves to another directory (KIP-113)."""
        raise NotImplementedError

    def get_or_create(
        self,
        partition: TopicPartition,
        topic_id: bytes,
        config: LogConfig,
        *,
        directory_id: bytes | None = None,
        is_future: bool = False,
    ) -> UnifiedLog:
        """Give a log, made if it is not there: in that directory, or in the one with the fewest logs.

        Raises LogDirFailedError if the directory is offline or fails, InconsistentTopicIdError if the log belongs to a
        topic of another id.
        """
        raise NotImplementedError

    def delete(self, partition: TopicPartition, *, is_future: bool = False, is_stray: bool = False) -> None:
        """Rename a log's directory to `-delete` (or `-stray`); its files go after file.delete.delay.ms."""
        raise NotImplementedError

    def replace_current_by_future(self, partition: TopicPartition) -> None:
        """End a move between directories: the future log becomes the current one, the old one is deleted."""
        raise NotImplementedError

    def logs(self) -> Iterator[UnifiedLog]:
        """Give all online logs, future ones too."""
        raise NotImplementedError

    def directory_id_of(self, log: UnifiedLog) -> bytes:
        """Give the id of the log directory that a log is in."""
        raise NotImplementedError

    def take_offline(self, log_dir: str, error: OSError) -> None:
        """Use a log directory no longer."""
        raise NotImplementedError

    def tick(self, now_ms: int) -> None:
        """Do a bounded piece of what is due: retention, flushes, checkpoints, deletions, compaction."""
        raise NotImplementedError

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` has something to do."""
        raise NotImplementedError

    def shutdown(self) -> None:
        """Close all logs and write all checkpoints; the clean-shutdown file is the caller's."""
        raise NotImplementedError
