"""A partition's log in Kafka's own files, which grow by whole batches as they are fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.mirror.committed_batches import committed_batches
from falkirk.protocol.record_batch import read_batch
from falkirk.storage.batch_borders import iter_borders
from falkirk.storage.partition_log import list_partition
from falkirk.storage.partition_metadata import FILE_NAME as PARTITION_METADATA
from falkirk.storage.partition_metadata import PartitionMetadata, format_partition_metadata
from falkirk.storage.posix_disk import PosixDisk
from falkirk.storage.segment import SegmentFile, format_segment_file
from falkirk.storage.snapshot_file import SnapshotId, SnapshotName, SnapshotState, format_snapshot_name

if TYPE_CHECKING:
    from pathlib import Path

SEGMENT_BYTES_MAX: Final = 256 * 1024 * 1024
_PART_SUFFIX: Final = ".part"


async def no_pause(_fetched_bytes: int) -> None:
    """Fetch as fast as the leader answers."""


class PartitionMirror:
    """The files of one partition. `end_offset` is fetched next, `last_epoch` is the epoch of the batch before it."""

    def __init__(self, directory: Path) -> None:
        """Open or create the directory; removes what an interrupted run left unfinished. Raises OSError."""
        self.directory = directory
        self.end_offset = 0
        self.last_epoch = 0
        self._segment: Path | None = None
        directory.mkdir(parents=True, exist_ok=True)
        for unfinished in directory.glob(f"*{_PART_SUFFIX}"):
            unfinished.unlink()
        self._find_end()

    def append(self, records: bytes | memoryview, high_watermark: int) -> bool:
        """Write the whole batches that are committed and new; returns whether there were any.

        Raises RemoteProtocolError for bytes that are not batches, and OSError.
        """
        new = committed_batches(records, self.end_offset, high_watermark)
        if not new:
            return False
        self.end_offset, self.last_epoch = new[-1].end_offset, new[-1].leader_epoch
        data = b"".join(batch.buffer[batch.position : batch.end_position] for batch in new)
        self._write(new[0].base_offset, data)
        return True

    def skip_to(self, offset: int) -> None:
        """Continue behind a gap: the source has deleted the records in between."""
        assert offset > self.end_offset, "a gap is skipped forwards"
        self.end_offset = offset
        self._segment = None

    def begin_again(self) -> None:
        """Delete everything: the source's log is shorter than ours, so it is another log."""
        for base_offset in list_partition(PosixDisk(), str(self.directory)).segments:
            self._file(base_offset).unlink()
        self.end_offset = self.last_epoch = 0
        self._segment = None

    def begin_snapshot(self, snapshot: SnapshotId) -> Path:
        """Return the file that a snapshot is fetched into."""
        return self.directory / f"{format_snapshot_name(SnapshotName(id=snapshot))}{_PART_SUFFIX}"

    def install_snapshot(self, snapshot: SnapshotId) -> None:
        """Replace everything by a fetched snapshot, as a follower does."""
        part = self.begin_snapshot(snapshot)
        part.rename(part.with_name(part.name.removesuffix(_PART_SUFFIX)))
        files = list_partition(PosixDisk(), str(self.directory))
        for base_offset in files.segments:
            self._file(base_offset).unlink()
        for name in files.metadata_snapshots:
            if name.id != snapshot:
                (self.directory / format_snapshot_name(name)).unlink()
        self.end_offset, self.last_epoch = snapshot.end_offset, snapshot.epoch
        self._segment = None

    def set_topic_id(self, topic_id: bytes) -> None:
        """Set the topic id; begin again if the files belong to another topic of the same name."""
        file = self.directory / PARTITION_METADATA
        data = format_partition_metadata(PartitionMetadata(topic_id=topic_id))
        if file.exists() and file.read_bytes() == data:
            return
        self.begin_again()
        file.write_bytes(data)

    def _write(self, start: int, data: bytes) -> None:
        if self._segment is None or self._segment.stat().st_size >= SEGMENT_BYTES_MAX:
            self._segment = self._file(start)
        with self._segment.open("ab") as file:
            file.write(data)

    def _find_end(self) -> None:
        disk = PosixDisk()
        files = list_partition(disk, str(self.directory))
        complete = [name.id for name in files.metadata_snapshots if name.state is SnapshotState.COMPLETE]
        if complete:
            newest = max(complete)
            self.end_offset, self.last_epoch = newest.end_offset, newest.epoch
        for base_offset in reversed(files.segments):
            file = self._file(base_offset)
            borders = [0, *iter_borders(disk, str(file), 0, file.stat().st_size)]
            # An interrupted write: nothing behind it could be read.
            with file.open("r+b") as opened:
                opened.truncate(borders[-1])
            if len(borders) > 1:
                start, end = borders[-2:]
                last = read_batch(memoryview(disk.read(str(file), start, end - start)), 0)
                if last.end_offset > self.end_offset:
                    self.end_offset, self.last_epoch = last.end_offset, last.leader_epoch
                    self._segment = file
                return
            file.unlink()

    def _file(self, base_offset: int) -> Path:
        return self.directory / format_segment_file(SegmentFile(base_offset=base_offset, kind="log"))
