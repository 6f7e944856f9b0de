"""One log directory of a broker: its logs and its checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.storage.errors import CorruptFileError
from falkirk.storage.log.log_checkpoint import LOGS_AT_ONCE, LogCheckpoint
from falkirk.storage.offset_checkpoints import (
    CLEANER_FILE_NAME,
    LOG_START_FILE_NAME,
    RECOVERY_POINT_FILE_NAME,
    REPLICATION_FILE_NAME,
    offset_checkpoint_slices,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping
    from typing import TypeAlias

    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.storage.disk import Disk
    from falkirk.storage.log.unified_log import UnifiedLog

    Slices: TypeAlias = Generator[None, None, None]


class LogDirectory:
    """An online directory. `logs` are all online logs in it, future ones too.

    A checkpoint is written only if it changed. One may name logs that were removed, until it is written again; a new
    log of the same name must not inherit their offsets (`forget_former`).
    """

    def __init__(self, disk: Disk, path: str, directory_id: bytes) -> None:
        self.path = path
        self.directory_id = directory_id
        self.logs: dict[UnifiedLog, None] = {}
        self.rolled: dict[UnifiedLog, None] = {}
        """Logs with segments that are to be flushed, for they have become full."""
        self.cleaner_offsets: dict[tuple[str, int], int] = {}
        """Up to where logs are compacted."""
        self._disk = disk
        self._written: dict[str, LogCheckpoint] = {}
        # What `write_slices` has found so far.
        self._collected: dict[str, LogCheckpoint] = {}

    def add(self, log: UnifiedLog) -> None:
        """Add a log."""
        self.logs[log] = None
        log.on_truncated = self.log_was_truncated
        log.when_rolled = self.log_was_rolled

    def remove(self, log: UnifiedLog) -> None:
        """Remove a log."""
        del self.logs[log]
        self.cleaner_offsets.pop(log.topic_partition, None)

    def read_checkpoint(self, name: str) -> Generator[None, None, Mapping[tuple[str, int], int]]:
        """Return the offsets of one of the four files by topic and partition; none if it is damaged, as in Kafka."""
        path = f"{self.path}/{name}"
        if not self._disk.exists(path):
            return {}
        try:
            offsets = (yield from offset_checkpoint_slices(self._disk.read(path), file=path)).as_dict()
        except CorruptFileError:
            return {}
        self._written[name] = LogCheckpoint.of(offsets)
        return offsets

    def write_slices(self, name: str) -> Slices:
        """Replace one of the three files that are made from the logs: recovery points, log starts, high watermarks.

        That is done over several steps, some logs in each.
        """
        offset_of = _OFFSETS[name]
        self._collected[name] = collected = LogCheckpoint()
        logs = list(self.logs)
        for at in range(0, len(logs), LOGS_AT_ONCE):
            some = (log for log in logs[at : at + LOGS_AT_ONCE] if log in self.logs)
            found: dict[tuple[str, int], int | None] = {log.topic_partition: offset_of(log) for log in some}
            collected.add({partition: offset for partition, offset in found.items() if offset is not None})
            if len(logs) > LOGS_AT_ONCE:
                yield
        if self._collected.get(name) is collected:
            del self._collected[name]
            self._write(name, collected)

    def read_cleaner_offsets(self) -> Slices:
        """Read the cleaner's checkpoint, without logs that no longer exist."""
        offsets = yield from self.read_checkpoint(CLEANER_FILE_NAME)
        if offsets:
            partitions = {log.topic_partition for log in self.logs}
            self.cleaner_offsets = {key: offset for key, offset in offsets.items() if key in partitions}

    def write_cleaner_offset(self, partition: TopicPartition, offset: int) -> None:
        """Write up to where a log is compacted."""
        self.cleaner_offsets[partition] = offset
        self._written.setdefault(CLEANER_FILE_NAME, LogCheckpoint()).put(partition, offset)
        self._rewrite(CLEANER_FILE_NAME)

    def forget_former(self, partition: TopicPartition, is_there: Callable[[tuple[str, int]], bool]) -> None:
        """Rewrite each checkpoint that names a partition, whose log is about to be created.

        After a crash the checkpoint of an earlier log of that name would truncate the new one. `is_there`: whether this
        directory has a log of a partition.
        """
        for collected in self._collected.values():
            collected.put(partition, None)
        for name, written in self._written.items():
            if written.forget(partition, is_there):
                self._rewrite(name)

    def log_was_truncated(self, log: UnifiedLog) -> None:
        """Rewrite checkpoints with offsets that a log no longer has.

        Else, after a crash of the host, what is appended there next would count as synced.
        """
        partition = log.topic_partition
        active = log.segments.active.base_offset
        if self.cleaner_offsets.get(partition, 0) > active:
            self.write_cleaner_offset(partition, active)
        for name, offset in (
            (RECOVERY_POINT_FILE_NAME, log.recovery_point),
            (LOG_START_FILE_NAME, log.log_start_offset),
        ):
            for checkpoints in (self._collected, self._written):
                found = checkpoints.get(name)
                if found is None or (found.offset(partition) or 0) <= offset:
                    continue
                found.put(partition, _OFFSETS[name](log))
                if checkpoints is self._written:
                    self._rewrite(name)

    def log_was_rolled(self, log: UnifiedLog) -> None:
        """Queue a flush of the log: not at once, which would delay the append."""
        self.rolled[log] = None

    def pop_rolled(self) -> Iterable[UnifiedLog]:
        """Return the logs that were rolled since the last call."""
        rolled, self.rolled = self.rolled, {}
        return rolled

    def close_slices(self) -> Slices:
        """Close the logs, one in each step, and write all checkpoints."""
        for log in list(self.logs):
            log.close()
            yield
        for name in _OFFSETS:
            yield from self.write_slices(name)
        # Without any compaction there is no file.
        if self.cleaner_offsets or CLEANER_FILE_NAME in self._written:
            self._write(CLEANER_FILE_NAME, LogCheckpoint.of(self.cleaner_offsets))

    def _write(self, name: str, checkpoint: LogCheckpoint) -> None:
        if self._written.get(name) != checkpoint:
            self._written[name] = checkpoint
            self._rewrite(name)

    def _rewrite(self, name: str) -> None:
        self._disk.write(f"{self.path}/{name}", self._written[name].chunks())


def _log_start(log: UnifiedLog) -> int | None:
    return log.log_start_offset if log.log_start_offset > log.segments[0].base_offset else None


_OFFSETS: Final[Mapping[str, Callable[[UnifiedLog], int | None]]] = {
    RECOVERY_POINT_FILE_NAME: lambda log: log.recovery_point,
    LOG_START_FILE_NAME: _log_start,
    REPLICATION_FILE_NAME: lambda log: log.high_watermark,
}
