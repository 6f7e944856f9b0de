"""Loads batches of the metadata log into images.

The loader is a step function: it receives committed batches in order and passes (delta, image) to its publishers, in
the order in which they were given. It holds back the records of a metadata transaction (KIP-868) until its end, and
lowers the image at a record that lowers metadata.version (KIP-1155).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import msgspec

from falkirk.metadata.image.features import FeaturesDelta
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage, Provenance
from falkirk.metadata.image.snapshot_builder import FREED_PER_VISIT, SnapshotBuilder
from falkirk.metadata.levels.lowering import SLICED_RECORDS, replay_slices
from falkirk.metadata.publishing.level_change import LevelChange
from falkirk.metadata.records.errors import InconsistentRecordError, RecordError
from falkirk.metadata.records.record_reader import read_record
from falkirk.protocol.messages import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)
from falkirk.protocol.metadata_record import encode_frame
from falkirk.slices import DECISION_VISITS, SliceBudget, exhaust

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.metadata.image.topic import Topic
    from falkirk.metadata.image.topics import TopicDelta
    from falkirk.metadata.levels.writer import LossReport
    from falkirk.metadata.publishing.level_change import LevelObserver
    from falkirk.metadata.records.batch import MetadataBatch
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices


_Marker: TypeAlias = BeginTransactionRecord | EndTransactionRecord | AbortTransactionRecord
_MARKERS: Final = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)
# How a FeatureLevelRecord begins, and a BeginTransactionRecord: the version of frames and the type.
_LEVEL_HEAD, _BEGIN_HEAD = (encode_frame(record_type, 0)[:2] for record_type in (12, 23))


class Publisher(Protocol):
    """Receives every new image. `delta.image` is the image before."""

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Apply a new image."""


class OpenTransaction(msgspec.Struct, kw_only=True):
    """A metadata transaction that has begun and not ended: none of its records is in the image."""

    name: str | None
    offset: int
    source: str | None
    # Provenance of an image with everything before the transaction.
    before: Provenance
    # (record, offset, source) of what is held back.
    records: "list[tuple[WireMessage, int, str | None]]"


class MetadataLoader:
    """Keeps the image at the end of what was loaded. It must not be used after an error."""

    def __init__(
        self,
        publishers: Sequence[Publisher] = (),
        image: MetadataImage = EMPTY,
        *,
        observer: LevelObserver | None = None,
    ) -> None:
        self.image = image
        self._observer = observer
        # Of all that was loaded, an open transaction included.
        self.loaded = image.provenance
        # Set while a transaction is open; if the log ends there, it never happened.
        self.open_transaction: OpenTransaction | None = None
        self._publishers = tuple(publishers)
        # Topics of the images that snapshots have replaced, and changes that led to the next ones.
        self._replaced: list[Topic | TopicDelta] = []
        # Of snapshots whose loading ended halfway: builders, and topics of images that were not compared yet.
        self._abandoned: list[SnapshotBuilder] = []
        self._abandoned_topics: list[Topic | TopicDelta] = []

    def fork(self) -> MetadataLoader:
        """Return a loader that goes on from here by itself, and tells nobody."""
        forked = MetadataLoader(image=self.image)
        forked.loaded = self.loaded
        transaction = self.open_transaction
        if transaction is not None:
            forked.open_transaction = msgspec.structs.replace(transaction, records=list(transaction.records))
        return forked

    def load_snapshot(self, batches: Iterable[MetadataBatch], provenance: Provenance) -> MetadataImage:
        """Replace the image by a snapshot's and publish what differs. Raises RecordError with offset and source.

        `provenance` comes from the snapshot's name and header: offsets inside start at 0. An open transaction is
        discarded, because no snapshot ends inside one.
        """
        image = exhaust(self.load_snapshot_slices(batches, provenance))
        self._replaced.clear()
        return image

    def load_snapshot_slices(self, batches: Iterable[MetadataBatch], provenance: Provenance) -> Slices[MetadataImage]:
        """Do what `load_snapshot` does in slices of bounded size; all is as it was until the last one.

        What is replaced is held until `free_slices`, what a loading that ends halfway has read until
        `free_abandoned_slices`.
        """
        builder, image = SnapshotBuilder(), EMPTY
        try:
            image = yield from builder.read_slices(batches, provenance)
            delta = None
            if self._publishers:
                delta = yield from MetadataDelta.between_slices(self.image, image)
                # The same levels may be those of a later epoch: in between they may have been others.
                if delta.features is None:
                    delta.features = FeaturesDelta(self.image.features)
        except BaseException:
            self._abandoned.append(builder)
            self._abandoned_topics += image.topics.by_name.values()
            raise
        self.open_transaction = None
        self.loaded = provenance
        if delta is not None:
            self._publish(delta, image)
            self._replaced += () if delta.topics is None else delta.topics.changed.values()
        self._replaced += self.image.topics.by_name.values()
        self.image = image
        return image

    def free_slices(self) -> Slices[None]:
        """Free what snapshots have replaced, in slices of bounded size, once no publisher holds it any more."""
        yield from _free_slices(self._replaced)

    def free_abandoned_slices(self) -> Slices[None]:
        """Free what loadings that ended halfway have read, in slices of bounded size."""
        yield from _free_slices(self._abandoned_topics)
        while self._abandoned:
            yield from self._abandoned.pop().free_slices()

    def load_log(self, batches: Iterable[MetadataBatch]) -> MetadataImage:
        """Load batches that follow what was loaded and publish once, whatever their number.

        A batch that lowers metadata.version is the last one of a published image: so there is an image at its very end
        for the snapshot that replaces the log, and publishers see every level. Raises RecordError with offset and
        source: for a record that cannot be read, contradicts the image, or ends a transaction that has not begun.
        """
        return exhaust(self.load_log_slices(batches))

    def load_log_slices(self, batches: Iterable[MetadataBatch]) -> Slices[MetadataImage]:
        """Do what `load_log` does in slices of bounded size; `loaded` and the image change together."""
        delta, loaded, budget = MetadataDelta(self.image), self.loaded, SliceBudget()
        for batch in batches:
            is_lowered = False
            if self._observer is not None and self.open_transaction is None and (levels := _levels(batch)):
                yield from self._observe(delta, levels, batch.base_offset, batch.epoch)
            for offset, value in enumerate(batch.values, batch.base_offset):
                try:
                    record = read_record(value)
                    if isinstance(record, _MARKERS):
                        is_lowered |= yield from self._mark(delta, record, offset, batch, loaded)
                    elif self.open_transaction is not None:
                        self.open_transaction.records.append((record, offset, batch.source))
                    elif isinstance(record, SLICED_RECORDS):
                        report = yield from replay_slices(delta, record)
                        is_lowered |= yield from self._lowered(report)
                    else:
                        delta.replay(record)
                except RecordError as error:
                    error.locate(offset, batch.source)
                    raise
                if budget.spend(DECISION_VISITS):
                    yield
            loaded = Provenance(batch.end_offset, batch.epoch, batch.timestamp)
            if is_lowered:
                yield from self._finish(delta, loaded)
                delta = MetadataDelta(self.image)
        yield from self._finish(delta, loaded)
        return self.image

    def _mark(
        self, delta: MetadataDelta, marker: _Marker, offset: int, batch: MetadataBatch, loaded: Provenance
    ) -> Slices[bool]:
        """Begin or end a transaction; the result says whether its records lower metadata.version."""
        if isinstance(marker, BeginTransactionRecord):
            self._begin(marker, offset, batch, loaded)
            return False
        transaction = self._closed_transaction(marker)
        is_lowered, budget = False, SliceBudget()
        if isinstance(marker, EndTransactionRecord):
            found = (record for record, _, _ in transaction.records)
            levels = {one.name: one.feature_level for one in found if isinstance(one, FeatureLevelRecord)}
            yield from self._observe(delta, levels, transaction.offset, batch.epoch)
            for record, record_offset, source in transaction.records:
                try:
                    report = yield from replay_slices(delta, record)
                    is_lowered |= yield from self._lowered(report)
                except RecordError as error:
                    error.locate(record_offset, source)
                    raise
                if budget.spend(DECISION_VISITS):
                    yield
        return is_lowered

    def _observe(self, delta: MetadataDelta, levels: Mapping[str, int], offset: int, epoch: int) -> Slices[None]:
        """Pass a change of levels that is replayed next to the observer; the first levels of a log are none."""
        if self._observer is None or not levels:
            return
        image = yield from delta.apply_slices(delta.image.provenance)
        if image.features.metadata_version is not None:
            change = LevelChange(image=image, levels=levels, offset=offset, epoch=epoch)
            yield from self._observer.before_change(change)

    def _lowered(self, report: LossReport | None) -> Slices[bool]:
        """Return whether metadata.version was lowered."""
        if report is not None and self._observer is not None:
            yield from self._observer.lowered(report)
        return report is not None

    def _finish(self, delta: MetadataDelta, loaded: Provenance) -> Slices[None]:
        """Set the next image, unless nothing was loaded or all of it is held back."""
        provenance = loaded if self.open_transaction is None else self.open_transaction.before
        if provenance == self.image.provenance:
            self.loaded = loaded
            return
        image = yield from delta.apply_slices(provenance)
        self.loaded = loaded
        self._publish(delta, image)
        self.image = image

    def _begin(self, record: BeginTransactionRecord, offset: int, batch: MetadataBatch, loaded: Provenance) -> None:
        if self.open_transaction is not None:
            reason = f"the transaction of offset {self.open_transaction.offset} is still open"
            raise InconsistentRecordError("BeginTransactionRecord", reason)
        # A transaction may begin inside a batch.
        before = loaded if offset == batch.base_offset else Provenance(offset, batch.epoch, batch.timestamp)
        self.open_transaction = OpenTransaction(
            name=record.name, offset=offset, source=batch.source, before=before, records=[]
        )

    def _closed_transaction(self, record: EndTransactionRecord | AbortTransactionRecord) -> OpenTransaction:
        transaction = self.open_transaction
        if transaction is None:
            raise InconsistentRecordError(type(record).__name__, "no transaction has begun")
        self.open_transaction = None
        return transaction

    def _publish(self, delta: MetadataDelta, image: MetadataImage) -> None:
        for publisher in self._publishers:
            publisher.on_metadata(delta, image)


def _free_slices(topics: list[Topic | TopicDelta]) -> Slices[None]:
    budget = SliceBudget()
    while topics:
        topic = topics.pop()
        visits = topic.partition_count // FREED_PER_VISIT
        del topic
        if budget.spend(visits):
            yield


def _levels(batch: MetadataBatch) -> dict[str, int]:
    """Return the feature levels that a batch sets before a transaction begins in it; no other record is read."""
    levels = {}
    for value in batch.values:
        if value[:2] == _BEGIN_HEAD:
            break
        if value[:2] == _LEVEL_HEAD:
            try:
                record = read_record(value)
            except RecordError:
                # The replay raises it, with its place.
                break
            assert isinstance(record, FeatureLevelRecord), "a record of this type"
            levels[record.name] = record.feature_level
    return levels
