"""Opens the log in a directory, at once or over several steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.storage import partition_metadata
from falkirk.storage.log.leader_epoch_file import LeaderEpochFile
from falkirk.storage.log.log_loader import LogLoader
from falkirk.storage.log.unified_log import UnifiedLog

if TYPE_CHECKING:
    from collections.abc import Generator

    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.storage.disk import Disk
    from falkirk.storage.log.log_config import LogConfig

PRODUCER_ID_EXPIRATION_MS: Final = 24 * 3600 * 1000
"""Default of producer.id.expiration.ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOpening:
    """The log in `directory`, which is created if it does not exist. `topic_id` zero: that of the directory.

    After an unclean shutdown all segments from `recovery_point` on are scanned, and truncated at the first damage;
    after a clean one little is read. The high watermark is the log's start until it is updated. Opening raises
    CorruptFileError if one of the small text files cannot be read, InconsistentTopicIdError if the log is another
    topic's.
    """

    disk: "Disk"
    directory: str
    config: "LogConfig"
    topic_partition: "TopicPartition"
    topic_id: bytes
    recovery_point: int
    log_start_offset: int
    had_clean_shutdown: bool
    now_ms: int
    producer_id_expiration_ms: int = PRODUCER_ID_EXPIRATION_MS

    def run(self) -> UnifiedLog:
        """Return the open log."""
        slices = self.slices()
        while True:
            try:
                next(slices)
            except StopIteration as end:
                log: UnifiedLog = end.value
                return log

    def slices(self) -> Generator[None, None, UnifiedLog]:
        """Return the open log, after a slice for every SCANNED_AT_ONCE bytes that are scanned."""
        self.disk.make_directory(self.directory)
        file = f"{self.directory}/{partition_metadata.FILE_NAME}"
        topic_id = partition_metadata.check_topic_id(self.disk, file, self.topic_partition, self.topic_id)
        epochs = LeaderEpochFile(self.disk, self.directory)
        loaded = yield from LogLoader(
            disk=self.disk,
            directory=self.directory,
            config=self.config,
            recovery_point=self.recovery_point,
            log_start_offset=self.log_start_offset,
            had_clean_shutdown=self.had_clean_shutdown,
            now_ms=self.now_ms,
            expiration_ms=self.producer_id_expiration_ms,
            epochs=epochs.cache,
        ).slices()
        epochs.save()
        return UnifiedLog(
            self.disk,
            self.directory,
            config=self.config,
            topic_partition=self.topic_partition,
            topic_id=topic_id,
            loaded=loaded,
            epochs=epochs,
            producer_id_expiration_ms=self.producer_id_expiration_ms,
            now_ms=self.now_ms,
        )
