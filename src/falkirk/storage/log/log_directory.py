"""One log directory of a broker: its logs and its checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.storage.checkpoint_text import checkpoint_header, checkpoint_lines
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
    from collections.abc import Callable, Generator, Iterable, Mapping
    from typing import TypeAlias

    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.storage.disk import Disk
    from falkirk.storage.log.unified_log import UnifiedLog

    Slices: TypeAlias = Generator[None, None, None]

LOGS_AT_ONCE: Final = 2048
"""How many logs of a checkpoint are gone through in one step: some milliseconds."""


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
        self._written: dict[str, Mapping[tuple[str, int], int]] = {}
        # What `write_slices` has found so far; replaced by an empty one if that has become wrong.
        self._collected: dict[str, dict[tuple[str, int], int]] = {}

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

    def write_of_logs(self, name: str) -> None:
        """Replace one of the three files that are made from the logs: recovery points, log starts, high watermarks."""
        for _ in self.write_slices(name):
            pass

    def write_slices(self, name: str) -> Slices:
        """Do the same over several steps, some logs in each."""
        offset_of = _OFFSETS[name]
        self._collected[name] = {}
        while (offsets := self._collected.get(name)) is not None:
            chunks, logs = [], list(self.logs)
            for at in range(0, len(logs), LOGS_AT_ONCE):
                some = (log for log in logs[at : at + LOGS_AT_ONCE] if log in self.logs)
                found: dict[tuple[str, int], int | None] = {log.topic_partition: offset_of(log) for log in some}
                known = {partition: offset for partition, offset in found.items() if offset is not None}
                offsets.update(known)
                chunks.append(checkpoint_lines((*partition, offset) for partition, offset in known.items()))
                if len(logs) > LOGS_AT_ONCE:
                    yield
            if self._collected.get(name) is offsets:
                del self._collected[name]
                self._write(name, offsets, [checkpoint_header(len(offsets)), *chunks])

    def read_cleaner_offsets(self) -> None:
        """Read the cleaner's checkpoint, without logs that no longer exist."""
        partitions = {log.topic_partition for log in self.logs}
        offsets = self.read_checkpoint(CLEANER_FILE_NAME)
        self.cleaner_offsets = {key: offset for key, offset in offsets.items() if key in partitions}

    def write_cleaner_offsets(self) -> None:
        """Write the cleaner's checkpoint."""
        entries = tuple(
            PartitionOffset(topic=topic, partition=partition, offset=offset)
            for (topic, partition), offset in self.cleaner_offsets.items()
        )
        data = format_offset_checkpoint(OffsetCheckpoint(entries=entries))
        self._write(CLEANER_FILE_NAME, dict(self.cleaner_offsets), [data])

    def write_all(self) -> None:
        """Write all checkpoints."""
        self._write_known_cleaner_offsets()
        for name in _OFFSETS:
            self.write_of_logs(name)

    def forget_former(self, partition: TopicPartition) -> None:
        """Write all checkpoints if one of them names a partition, whose log is about to be created.

        After a crash the checkpoint of an earlier log of that name would truncate the new one.
        """
        for name, offsets in self._collected.items():
            if partition in offsets:
                self._collected[name] = {}
        if any(partition in offsets for offsets in self._written.values()):
            self.write_all()

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
            if self._collected.get(name, {}).get(partition, 0) > offset:
                self._collected[name] = {}
            if self._written.get(name, {}).get(partition, 0) > offset:
                self.write_of_logs(name)

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
        self._write_known_cleaner_offsets()

    def _write_known_cleaner_offsets(self) -> None:
        # Without any compaction there is no file.
        if self.cleaner_offsets or CLEANER_FILE_NAME in self._written:
            self.write_cleaner_offsets()

    def _write(self, name: str, offsets: Mapping[tuple[str, int], int], chunks: Iterable[bytes]) -> None:
        if self._written.get(name) != offsets:
            self._disk.write(f"{self.path}/{name}", chunks)
            self._written[name] = offsets


def _log_start(log: UnifiedLog) -> int | None:
    return log.log_start_offset if log.log_start_offset > log.segments[0].base_offset else None


_OFFSETS: Final[Mapping[str, Callable[[UnifiedLog], int | None]]] = {
    RECOVERY_POINT_FILE_NAME: lambda log: log.recovery_point,
    LOG_START_FILE_NAME: _log_start,
    REPLICATION_FILE_NAME: lambda log: log.high_watermark,
}
