"""Applies committed batches of the log to the image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.metadata.records.batch import MetadataBatch
from falkirk.metadata.records.errors import RecordError
from falkirk.node.errors import FatalError, UnfitError
from falkirk.node.metadata_log.release_gate import UnsupportedLevelError
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.publishing.loader import Publisher
    from falkirk.node.metadata_log.release_gate import ReleaseGate
    from falkirk.storage.metadata_log import MetadataLog

BOOTSTRAP_SNAPSHOT = OffsetAndEpoch(0, 0)
"""The snapshot that formatting writes: its records enter the log when the first controller is active."""


class MetadataApplier:
    """The image, and the offset up to which the log was applied. `source` names the log in errors."""

    def __init__(self, log: MetadataLog, gate: ReleaseGate, publishers: Sequence[Publisher], *, source: str) -> None:
        self._log = log
        self._gate = gate
        self._source = source
        self._loader = MetadataLoader(publishers)
        # Bytes of the log that were applied since `bytes_applied` was set to 0.
        self.bytes_applied = 0

    @property
    def image(self) -> MetadataImage:
        """The last published image; it has nothing of an open transaction."""
        return self._loader.image

    @property
    def applied_offset(self) -> int:
        """The end offset of what was applied."""
        return self._loader.loaded.end_offset

    @property
    def open_transaction_offset(self) -> int | None:
        """Where the open metadata transaction began; None if there is none."""
        transaction = self._loader.open_transaction
        return None if transaction is None else transaction.offset

    def load_latest_snapshot(self) -> None:
        """Load the newest snapshot, if there is one. Raises RecordError and CorruptFileError."""
        latest = self._log.latest_snapshot
        if latest is not None and latest != BOOTSTRAP_SNAPSHOT:
            self.load_snapshot(latest)

    def load_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """Replace the image by a snapshot's. Raises RecordError and CorruptFileError."""
        contents = self._log.load_snapshot(snapshot)
        source = f"{self._source} ({snapshot.offset:020d}-{snapshot.epoch:010d}.checkpoint)"
        batches = [MetadataBatch.of(batch, source) for batch in contents.data_batches]
        self._gate.check(batches)
        provenance = Provenance(snapshot.offset, snapshot.epoch, contents.last_contained_log_timestamp)
        self._loader.load_snapshot(batches, provenance)
        self._gate.check_levels(self.image.features.levels())
        self.bytes_applied = 0

    def apply_up_to(self, high_watermark: int) -> None:
        """Apply what is committed. Raises FatalError for records that the release or the image does not accept."""
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
        except RecordError as record_error:
            raise FatalError(f"Error replaying metadata log record: {record_error}") from record_error

    def _read(self, start: int, end: int) -> tuple[list[MetadataBatch], int]:
        """Return the batches of the log, and their size in bytes."""
        batches, size = [], 0
        for batch in self._log.batches(start, end):
            size += batch.size
            batches.append(MetadataBatch.of(batch, self._source))
        return batches, size
