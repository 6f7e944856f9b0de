"""One log directory of a broker: its logs and its checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.storage.errors import CorruptFileError
from falkirk.storage.offset_checkpoints import (
    CLEANER_FILE_NAME,
    LOG_START_FILE_NAME,
    RECOVERY_POINT_FILE_NAME,
    REPLICATION_FILE_NAME,
    OffsetCheckpoint,
    PartitionOffset,
    format_offset_checkpoint,
    parse_offset_checkpoint,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from falkirk.storage.disk import Disk
    from falkirk.storage.log.unified_log import UnifiedLog


class LogDirectory:
    """An online directory. `logs` are all online logs in it, future ones too.

    A checkpoint is written only if it changed. `must_write` is set when a log was removed: until then the checkpoints
    name it, and a new log of the same name must not inherit its offsets.
    """

    def __init__(self, disk: Disk, path: str, directory_id: bytes) -> None:
        self.path = path
        self.directory_id = directory_id
        self.logs: dict[UnifiedLog, None] = {}
        self.must_write = False
        self.rolled: dict[UnifiedLog, None] = {}
        """Logs with segments that are to be flushed, for they have become full."""
        self.cleaner_offsets: dict[tuple[str, int], int] = {}
        """Up to where logs are compacted."""
        self._disk = disk
        self._written: dict[str, Mapping[tuple[str, int], int]] = {}

    def add(self, log: UnifiedLog) -> None:
        """Add a log."""
        self.logs[log] = None
        log.on_truncated = self.log_was_truncated
        log.when_rolled = self.log_was_rolled

    def read_checkpoint(self, name: str) -> Mapping[tuple[str, int], int]:
        """Return the offsets of one of the four files by topic and partition; none if it is damaged, as in Kafka."""
        path = f"{self.path}/{name}"
        if not self._disk.exists(path):
            return {}
        try:
            offsets = parse_offset_checkpoint(self._disk.read(path), file=path).as_dict()
        except CorruptFileError:
            return {}
        self._written[name] = offsets
        return offsets

    def write_checkpoint(self, name: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """Replace one of the four files."""
        if self._written.get(name) == offsets:
            return
        entries = tuple(
            PartitionOffset(topic=topic, partition=partition, offset=offset)
            for (topic, partition), offset in offsets.items()
        )
        data = format_offset_checkpoint(OffsetCheckpoint(entries=entries))
        self._disk.write(f"{self.path}/{name}", [data])
        self._written[name] = offsets

    def write_of_logs(self, name: str) -> None:
        """Replace one of the three files that are made from the logs: recovery points, log starts, high watermarks."""
        offset_of = _OFFSETS[name]
        self.write_checkpoint(
            name, {log.topic_partition: offset for log in self.logs if (offset := offset_of(log)) is not None}
        )

    def read_cleaner_offsets(self) -> None:
        """Read the cleaner's checkpoint, without logs that no longer exist."""
        partitions = {log.topic_partition for log in self.logs}
        offsets = self.read_checkpoint(CLEANER_FILE_NAME)
        self.cleaner_offsets = {key: offset for key, offset in offsets.items() if key in partitions}

    def write_cleaner_offsets(self) -> None:
        """Write the cleaner's checkpoint."""
        self.write_checkpoint(CLEANER_FILE_NAME, dict(self.cleaner_offsets))

    def write_all(self) -> None:
        """Write all checkpoints."""
        # Without any compaction there is no file.
        if self.cleaner_offsets or CLEANER_FILE_NAME in self._written:
            self.write_cleaner_offsets()
        for name in _OFFSETS:
            self.write_of_logs(name)
        self.must_write = False

    def log_was_truncated(self, log: UnifiedLog) -> None:
        """Rewrite checkpoints with offsets that a log no longer has.

        Else, after a crash of the host, what is appended there next would count as synced.
        """
        partition = log.topic_partition
        active = log.segments.active.base_offset
        if self.cleaner_offsets.get(partition, 0) > active:
            self.cleaner_offsets[partition] = active
        for name, offset in (
            (RECOVERY_POINT_FILE_NAME, log.recovery_point),
            (LOG_START_FILE_NAME, log.log_start_offset),
        ):
            if self._written.get(name, {}).get(partition, 0) > offset:
                self.write_of_logs(name)

    def log_was_rolled(self, log: UnifiedLog) -> None:
        """Queue a flush of the log: not at once, which would delay the append."""
        self.rolled[log] = None

    def pop_rolled(self) -> Iterable[UnifiedLog]:
        """Return the logs that were rolled since the last call."""
        rolled, self.rolled = self.rolled, {}
        return rolled

    def close(self) -> None:
        """Close the logs, and write all checkpoints."""
        for log in self.logs:
            log.close()
        self.write_all()


def _log_start(log: UnifiedLog) -> int | None:
    return log.log_start_offset if log.log_start_offset > log.segments[0].base_offset else None


_OFFSETS: Final[Mapping[str, Callable[[UnifiedLog], int | None]]] = {
    RECOVERY_POINT_FILE_NAME: lambda log: log.recovery_point,
    LOG_START_FILE_NAME: _log_start,
    REPLICATION_FILE_NAME: lambda log: log.high_watermark,
}
