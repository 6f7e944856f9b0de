"""SnapshotEqualsLog: a snapshot read back from a node's disk equals the image at its end offset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.image.snapshot_builder import read_image_slices
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.metadata.records.batch import MetadataBatch
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.simulation.checkers.checker import Checker
from falkirk.simulation.views.level_watch import LevelWatch
from falkirk.slices import exhaust

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.simulation.views.replica_view import ReplicaView

_BOOTSTRAP = OffsetAndEpoch(0, 0)


class SnapshotEqualsLog(Checker):
    """Replays committed batches one by one, and reads each new snapshot back once.

    A snapshot that a node wrote before it crashed waits until another node shows the committed batches up to its end.
    If no leader has the batches before a snapshot any more, the image that it loaded from that is trusted.
    `levels` receives everything that is replayed.
    """

    def __init__(self, levels: LevelWatch | None = None) -> None:
        self._levels = LevelWatch() if levels is None else levels
        self._loader = MetadataLoader((self._levels,))
        self._images: dict[int, MetadataImage] = {}
        # Batches before it were never seen in a log.
        self._trusted_offset = 0
        self._seen: dict[int, OffsetAndEpoch | None] = {}
        self._waiting: list[tuple[int, OffsetAndEpoch, MetadataImage]] = []

    def started(self, replica: ReplicaView) -> None:
        """Read the node's latest snapshot again after its next step."""
        self._seen.pop(replica.node_id, None)

    def after_step(self, replica: ReplicaView) -> None:
        """Replay newly committed batches, and read a new snapshot."""
        log, high_watermark = replica.log, replica.raft.high_watermark
        end = self._loader.loaded.end_offset
        if high_watermark is not None and high_watermark > end:
            # A voter may have a snapshot before the leader knows that it is committed.
            is_loaded = replica.raft.is_leader and replica.image.provenance.end_offset >= log.start_offset
            if log.start_offset > end and is_loaded:
                end = self._trust(replica.image)
            if log.start_offset <= end:
                for batch in log.batches(end, high_watermark):
                    self._load(batch)
        latest = log.latest_snapshot
        if latest != self._seen.get(replica.node_id) and latest is not None and latest != _BOOTSTRAP:
            self._seen[replica.node_id] = latest
            self._waiting.append((replica.node_id, latest, _read(replica, latest)))
        if self._waiting:
            self._compare()

    def at_end(self, replicas: Mapping[int, ReplicaView]) -> None:  # noqa: ARG002  as Checker
        """Check that no snapshot still waits for its committed batches."""
        if self._waiting:
            node_id, snapshot, _ = self._waiting[0]
            raise self.violated(f"snapshot {snapshot} of node {node_id} ends where nothing is committed")

    def _trust(self, image: MetadataImage) -> int:
        self._loader = MetadataLoader((self._levels,), image)
        self._levels.jumped(image)
        self._trusted_offset = image.provenance.end_offset
        self._images[self._trusted_offset] = image
        return self._trusted_offset

    def _load(self, batch: RecordBatch) -> None:
        self._loader.load_log([MetadataBatch.of(batch, "log")])
        self._images[batch.end_offset] = self._loader.image

    def _compare(self) -> None:
        end = self._loader.loaded.end_offset
        for node_id, snapshot, image in self._waiting:
            if snapshot.offset > end:
                continue
            expected = self._images.get(snapshot.offset)
            if expected is None and snapshot.offset < self._trusted_offset:
                continue
            if expected is None:
                raise self.violated(f"snapshot {snapshot} of node {node_id} ends inside a batch")
            if not image.has_same_content(expected):
                raise self.violated(f"snapshot {snapshot} of node {node_id} is not the image at its end")
        self._waiting = [each for each in self._waiting if each[1].offset > end]


def _read(replica: ReplicaView, snapshot: OffsetAndEpoch) -> MetadataImage:
    batches = [MetadataBatch.of(batch, "snapshot") for batch in replica.log.load_snapshot(snapshot).data_batches]
    return exhaust(read_image_slices(batches, Provenance(snapshot.offset, snapshot.epoch, 0)))
