"""Loads batches of the metadata log into images.

The loader is a step function: it receives committed batches in order and passes (delta, image) to its publishers, in
the order in which they were given. It holds back the records of a metadata transaction (KIP-868) until its end, and
lowers the image at a record that lowers metadata.version (KIP-1155).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, MetadataImage, Provenance
from falkirk.metadata.image.snapshot_builder import SnapshotBuilder
from falkirk.metadata.levels.lowering import replay
from falkirk.metadata.records.errors import InconsistentRecordError, RecordError
from falkirk.metadata.records.record_reader import read_record
from falkirk.protocol.messages import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.metadata.records.batch import MetadataBatch
    from falkirk.protocol.schema import WireMessage


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
    records: list[tuple[WireMessage, int, str | None]]


class MetadataLoader:
    """Keeps the image at the end of what was loaded. It must not be used after an error."""

    def __init__(self, publishers: Sequence[Publisher] = (), image: MetadataImage = EMPTY) -> None:
        self.image = image
        # Of all that was loaded, an open transaction included.
        self.loaded = image.provenance
        # Set while a transaction is open; if the log ends there, it never happened.
        self.open_transaction: OpenTransaction | None = None
        self._publishers = tuple(publishers)

    def load_snapshot(self, batches: Iterable[MetadataBatch], provenance: Provenance) -> MetadataImage:
        """Replace the image by a snapshot's and publish what differs. Raises RecordError with offset and source.

        `provenance` comes from the snapshot's name and header: offsets inside start at 0. An open transaction is
        discarded, because no snapshot ends inside one.
        """
        builder = SnapshotBuilder()
        for batch in batches:
            builder.add(batch)
        image = builder.build(provenance)
        self.open_transaction = None
        self.loaded = provenance
        if self._publishers:
            self._publish(MetadataDelta.between(self.image, image), image)
        self.image = image
        return image

    def load_log(self, batches: Iterable[MetadataBatch]) -> MetadataImage:
        """Load batches that follow what was loaded and publish once, whatever their number.

        A batch that lowers metadata.version is the last one of a published image: so there is an image at its very end
        for the snapshot that replaces the log, and publishers see every level. Raises RecordError with offset and
        source: for a record that cannot be read, contradicts the image, or ends a transaction that has not begun.
        """
        delta = MetadataDelta(self.image)
        for batch in batches:
            is_lowered = False
            for offset, value in enumerate(batch.values, batch.base_offset):
                try:
                    is_lowered |= self._replay(delta, read_record(value), offset, batch)
                except RecordError as error:
                    error.locate(offset, batch.source)
                    raise
            self.loaded = Provenance(batch.end_offset, batch.epoch, batch.timestamp)
            if is_lowered:
                self._finish(delta)
                delta = MetadataDelta(self.image)
        self._finish(delta)
        return self.image

    def _replay(self, delta: MetadataDelta, record: WireMessage, offset: int, batch: MetadataBatch) -> bool:
        """Replay one record; True if it lowers metadata.version."""
        if isinstance(record, BeginTransactionRecord):
            self._begin(record, offset, batch)
        elif isinstance(record, EndTransactionRecord):
            return self._replay_transaction(delta, self._closed_transaction(record))
        elif isinstance(record, AbortTransactionRecord):
            self._closed_transaction(record)
        elif self.open_transaction is not None:
            self.open_transaction.records.append((record, offset, batch.source))
        else:
            return replay(delta, record) is not None
        return False

    @staticmethod
    def _replay_transaction(delta: MetadataDelta, transaction: OpenTransaction) -> bool:
        is_lowered = False
        for record, offset, source in transaction.records:
            try:
                is_lowered |= replay(delta, record) is not None
            except RecordError as error:
                error.locate(offset, source)
                raise
        return is_lowered

    def _finish(self, delta: MetadataDelta) -> None:
        """Set the next image, unless nothing was loaded or all of it is held back."""
        provenance = self.loaded if self.open_transaction is None else self.open_transaction.before
        if provenance != self.image.provenance:
            image = delta.apply(provenance)
            self._publish(delta, image)
            self.image = image

    def _begin(self, record: BeginTransactionRecord, offset: int, batch: MetadataBatch) -> None:
        if self.open_transaction is not None:
            reason = f"the transaction of offset {self.open_transaction.offset} is still open"
            raise InconsistentRecordError("BeginTransactionRecord", reason)
        # A transaction may begin inside a batch.
        before = self.loaded if offset == batch.base_offset else Provenance(offset, batch.epoch, batch.timestamp)
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
