"""Applies committed batches of the log to the image."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.metadata.records.batch import MetadataBatch
from falkirk.metadata.records.errors import RecordError
from falkirk.node.errors import FatalError, UnfitError
from falkirk.node.metadata_log.release_gate import UnsupportedLevelError
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.slices import exhaust

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.publishing.level_change import LevelObserver
    from falkirk.metadata.publishing.loader import Publisher
    from falkirk.node.metadata_log.release_gate import ReleaseGate
    from falkirk.node.sliced_work import SlicedWork, SlicedWorks, Slices
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.storage.metadata_log import MetadataLog

BOOTSTRAP_SNAPSHOT = OffsetAndEpoch(0, 0)
"""The snapshot that formatting writes: its records enter the log when the first controller is active."""

RECORDS_MAX = 1_000
"""As many records of the log, or little more, are published together: what is published is applied in one step."""


class MetadataApplier:
    """The image, and the offset up to which the log was applied. `source` names the log in errors.

    What is large is applied as sliced work. Until its last slice image and `applied_offset` stay as they are, and what
    is committed meanwhile waits, in order.
    """

    def __init__(
        self,
        log: MetadataLog,
        gate: ReleaseGate,
        publishers: Sequence[Publisher],
        works: SlicedWorks,
        *,
        observer: LevelObserver,
        source: str,
    ) -> None:
        self._log = log
        self._gate = gate
        self._works = works
        self._source = source
        self._loader = MetadataLoader(publishers, observer=observer)
        # Bytes of the log that were applied since `bytes_applied` was set to 0.
        self.bytes_applied = 0
        # What is to be loaded: a fetched snapshot first, then the log up to this offset.
        self._fetched: OffsetAndEpoch | None = None
        self._committed_offset = 0
        self._work: SlicedWork | None = None

    @property
    def image(self) -> MetadataImage:
        """The last published image; it has nothing of an open transaction."""
        return self._loader.image

    @property
    def applied_offset(self) -> int:
        """The end offset of what was applied."""
        return self._loader.loaded.end_offset

    @property
    def is_busy(self) -> bool:
        """True while something large is being applied."""
        return self._work is not None and not self._work.is_finished

    @property
    def open_transaction_offset(self) -> int | None:
        """Where the open metadata transaction began; None if there is none."""
        transaction = self._loader.open_transaction
        return None if transaction is None else transaction.offset

    def image_before_slices(self, end_offset: int) -> Generator[None, None, MetadataImage | None]:
        """Return the image at an offset that may not be committed; None within a transaction.

        Nothing is published. Raises RecordError.
        """
        loader = self._loader.fork()
        while loader.loaded.end_offset < end_offset:
            batches = _some(self._log.batches(loader.loaded.end_offset, end_offset))
            gated = self._gated(map(partial(MetadataBatch.of, source=self._source), batches))
            yield from loader.load_log_slices(gated)
            yield
        return loader.image if loader.open_transaction is None else None

    def load_latest_snapshot(self) -> None:
        """Load the newest snapshot at once, if there is one. Raises RecordError and CorruptFileError."""
        latest = self._log.latest_snapshot
        if latest is not None and latest != BOOTSTRAP_SNAPSHOT:
            exhaust(self._load_slices(latest))

    def load_snapshot(self, snapshot: OffsetAndEpoch) -> None:
        """Begin to replace the image by that of a fetched snapshot, in place of what is under way.

        This or a later step raises as `apply_up_to` does, and CorruptFileError.
        """
        if self._work is not None:
            self._work.cancel()
            self._works.start("free abandoned image", self._loader.free_abandoned_slices())
        self._fetched = snapshot
        # Not in this step, which has read all of the file to check it.
        self._work = self._works.start("metadata loading", self._slices())

    def apply_up_to(self, high_watermark: int) -> None:
        """Apply what is committed, or begin to.

        This or a later step raises FatalError for records that the image does not accept, UnfitError for those that the
        release does not.
        """
        self._committed_offset = max(self._committed_offset, high_watermark)
        self._advance()

    def _advance(self) -> None:
        if not self.is_busy:
            self._work = self._works.begin("metadata loading", self._slices())

    def _slices(self) -> Slices:
        before = -1
        try:
            while self._fetched is not None or before < self.applied_offset < self._committed_offset:
                if before >= 0:
                    yield
                before = self.applied_offset
                if self._fetched is not None:
                    yield from self._load_slices(self._fetched)
                    self._fetched = None
                else:
                    yield from self._apply_slices(self._committed_offset)
        except UnsupportedLevelError as error:
            raise UnfitError(f"This node must not go on: {error}") from error
        except RecordError as record_error:
            what = "replaying metadata log record" if self._fetched is None else "loading snapshot"
            raise FatalError(f"Error {what}: {record_error}") from record_error

    def _load_slices(self, snapshot: OffsetAndEpoch) -> Slices:
        contents = self._log.load_snapshot(snapshot)
        source = f"{self._source} ({snapshot.offset:020d}-{snapshot.epoch:010d}.checkpoint)"
        provenance = Provenance(snapshot.offset, snapshot.epoch, contents.last_contained_log_timestamp)
        yield from self._loader.load_snapshot_slices(self._gated(_parts(contents.data_batches, source)), provenance)
        self._gate.check_levels(self.image.features.levels())
        self.bytes_applied = 0
        # After what publishers do with the difference, of which the image before is a part.
        self._works.begin_last("free replaced image", self._loader.free_slices())

    def _apply_slices(self, end_offset: int) -> Slices:
        features = self.image.features
        batches = _some(self._log.batches(self.applied_offset, end_offset))
        yield from self._loader.load_log_slices(self._checked(batches, self._source))
        if self.image.features is not features:
            self._gate.check_levels(self.image.features.levels())

    def _checked(self, batches: Iterable[RecordBatch], source: str) -> Iterator[MetadataBatch]:
        """Yield batches that the release reads."""
        for batch in batches:
            self.bytes_applied += batch.size
            yield from self._gated((MetadataBatch.of(batch, source),))

    def _gated(self, batches: Iterable[MetadataBatch]) -> Iterator[MetadataBatch]:
        for batch in batches:
            self._gate.check((batch,))
            yield batch


def _parts(batches: Iterable[RecordBatch], source: str) -> Iterator[MetadataBatch]:
    """Yield the batches of a snapshot in parts of RECORDS_MAX records."""
    for batch in batches:
        yield from MetadataBatch.parts(batch, source, RECORDS_MAX)


def _some(batches: Iterable[RecordBatch]) -> Iterator[RecordBatch]:
    """Yield batches until they have RECORDS_MAX records."""
    records = 0
    for batch in batches:
        yield batch
        records += batch.end_offset - batch.base_offset
        if records >= RECORDS_MAX:
            return
