"""What is fetched of a running cluster, in memory: batches are handed on as they come, and not kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.records.batch import MetadataBatch
from falkirk.mirror.committed_batches import committed_batches
from falkirk.mirror.errors import MirrorError
from falkirk.storage.snapshot_file import SnapshotId, SnapshotName, format_snapshot_name, read_snapshot
from falkirk.watch.core.metadata_ledger import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from falkirk.protocol.record_batch import RecordBatch

_SOURCE = "__cluster_metadata-0"


class MetadataTail:
    """The metadata log since it was last drained: a snapshot, if one has replaced the log, and batches behind it."""

    def __init__(self, directory: Path, end_offset: int = 0, last_epoch: int = 0) -> None:
        self.directory = directory
        self.end_offset = end_offset
        self.last_epoch = last_epoch
        self._snapshot: Snapshot | None = None
        self._batches: list[RecordBatch] = []

    def append(self, records: bytes | memoryview, high_watermark: int) -> bool:
        """Add the whole batches that are committed and new. Raises RemoteProtocolError."""
        new = committed_batches(records, self.end_offset, high_watermark)
        if not new:
            return False
        self._batches += new
        self.end_offset, self.last_epoch = new[-1].end_offset, new[-1].leader_epoch
        return True

    def begin_snapshot(self, snapshot: SnapshotId) -> Path:
        """Return the file that a snapshot is fetched into."""
        return self.directory / format_snapshot_name(SnapshotName(id=snapshot))

    def install_snapshot(self, snapshot: SnapshotId) -> None:
        """Read a fetched snapshot, which replaces what was fetched before. Raises CorruptFileError, MirrorError."""
        file = self.begin_snapshot(snapshot)
        data = file.read_bytes()
        file.unlink()
        read = read_snapshot(data, file=file.name)
        if not read.is_complete:
            raise MirrorError(f"{file.name}: the snapshot has no footer")
        batches = tuple(MetadataBatch.of(batch, file.name) for batch in read.data_batches)
        provenance = Provenance(snapshot.end_offset, snapshot.epoch, read.last_contained_log_timestamp)
        self._snapshot, self._batches = Snapshot(batches, provenance), []
        self.end_offset, self.last_epoch = snapshot.end_offset, snapshot.epoch

    def drain(self) -> tuple[Snapshot | None, list[MetadataBatch]]:
        """Return what has come since the last call. Raises RemoteProtocolError."""
        snapshot, batches = self._snapshot, self._batches
        self._snapshot, self._batches = None, []
        return snapshot, [MetadataBatch.of(batch, _SOURCE) for batch in batches]


class PartitionTail:
    """A partition of a coordinators' topic; `hand_on` gets its batches, `forget` is called where it begins again."""

    def __init__(self, hand_on: Callable[[Sequence[RecordBatch]], None], forget: Callable[[], None]) -> None:
        self.end_offset = 0
        self._hand_on = hand_on
        self._forget = forget
        self._topic_id: bytes | None = None

    def append(self, records: bytes | memoryview, high_watermark: int) -> bool:
        """Hand on the whole batches that are committed and new. Raises RemoteProtocolError."""
        new = committed_batches(records, self.end_offset, high_watermark)
        if not new:
            return False
        self.end_offset = new[-1].end_offset
        self._hand_on(new)
        return True

    def skip_to(self, offset: int) -> None:
        """Continue behind a gap."""
        self.end_offset = offset

    def begin_again(self) -> None:
        """Forget everything: the leader's log is another one."""
        self.end_offset = 0
        self._forget()

    def set_topic_id(self, topic_id: bytes) -> None:
        """Begin again if the topic is another one of the same name."""
        if self._topic_id not in (None, topic_id):
            self.begin_again()
        self._topic_id = topic_id
