"""Takes what is committed from the log into the image."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from falkirk.metadata.errors import RecordError
from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.node.errors import FatalError, UnfitError
from falkirk.node.release_gate import UnsupportedLevelError
from falkirk.node.startup import metadata_batch
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.batch import MetadataBatch
    from falkirk.metadata.image.cluster import ClusterImage
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.publishing.loader import Publisher
    from falkirk.node.release_gate import ReleaseGate
    from falkirk.storage.metadata_log import MetadataLog

BOOTSTRAP_SNAPSHOT = OffsetAndEpoch(0, 0)
"""What formatting leaves in the log's place: its records enter the log when the first controller is active."""


class MetadataApplier:
    """The image at the end of what was applied. `source` names the log in errors."""

    def __init__(self, log: MetadataLog, gate: ReleaseGate, publishers: Sequence[Publisher], *, source: str) -> None:
        self._log = log
        self._gate = gate
        self._source = source
        self._loader = MetadataLoader(publishers)
        # Bytes of the log that were applied since `bytes_applied` was set to 0.
        self.bytes_applied = 0
        # Who is registered ahead of the image, and what that was read from.
        self._ahead: tuple[tuple[int, int, int], ClusterImage] | None = None

    @property
    def image(self) -> MetadataImage:
        """The last image; nothing of an open transaction is in it."""
        return self._loader.image

    @property
    def applied_offset(self) -> int:
        """The end of what was applied."""
        return self._loader.loaded.end_offset

    @property
    def open_transaction_offset(self) -> int | None:
        """Where a metadata transaction began that has not ended."""
        transaction = self._loader.open_transaction
        return None if transaction is None else transaction.offset

    def load_latest_snapshot(self) -> None:
        """Begin with the newest snapshot, if there is one. Raises RecordError and CorruptFileError."""
        latest = self._log.latest_snapshot
        if latest is not None and latest != BOOTSTRAP_SNAPSHOT:
            self.load_snapshot(latest)

    def load_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """Replace the image by a snapshot's. Raises RecordError and CorruptFileError."""
        contents = self._log.load_snapshot(snapshot)
        source = f"{self._source} ({snapshot.offset:020d}-{snapshot.epoch:010d}.checkpoint)"
        batches = [metadata_batch(source, batch) for batch in contents.data_batches]
        self._gate.check(batches)
        provenance = Provenance(snapshot.offset, snapshot.epoch, contents.last_contained_log_timestamp)
        self._loader.load_snapshot(batches, provenance)
        self._gate.check_levels(self.image.features.levels())
        self.bytes_applied = 0

    def apply_up_to(self, high_watermark: int) -> None:
        """Apply what is committed. Raises FatalError for what the release or the image cannot take in."""
        if high_watermark <= self.applied_offset:
            return
        batches, size = self._read(self.applied_offset, high_watermark)
        self.bytes_applied += size
        features = self.image.features
        try:
            self._gate.check(batches)
            self._loader.load_log(batches)
            if self.image.features is not features:
                self._gate.check_levels(self.image.features.levels())
        except UnsupportedLevelError as error:
            raise UnfitError(f"This node must not go on: {error}") from error
        except RecordError as error:
            raise FatalError(f"Error replaying metadata log record: {error}") from error

    @property
    def cluster_with_lowering(self) -> ClusterImage:
        """Give who is registered, as the whole log says it while metadata.version is lowered beyond the image.

        A leader that has just started may have nothing but its log, and nothing of that is committed again before it
        has shown it to those who may see it all.
        """
        lowerings, applied = self._log.lowerings, self.applied_offset
        if not lowerings or applied > lowerings[0].base_offset:
            return self.image.cluster
        read_from = (applied, self._log.end_offset, self._log.last_epoch)
        if self._ahead is None or self._ahead[0] != read_from:
            loader = MetadataLoader(image=self.image)
            # What cannot be taken in is told when it is committed.
            with suppress(RecordError):
                loader.load_log(self._read(applied, self._log.end_offset)[0])
            self._ahead = read_from, loader.image.cluster
        return self._ahead[1]

    def _read(self, start: int, end: int) -> tuple[list[MetadataBatch], int]:
        """Give the batches of the log, and how many bytes they are."""
        batches, size = [], 0
        for batch in self._log.batches(start, end):
            size += batch.size
            batches.append(metadata_batch(self._source, batch))
        return batches, size
