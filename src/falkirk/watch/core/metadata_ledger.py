"""The metadata of one cluster and what it would lose, followed batch by batch, or loaded at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.metadata.image.metadata_image import MetadataImage, Provenance
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.metadata.records.record_key import object_key
from falkirk.metadata.records.record_reader import read_record, record_type
from falkirk.protocol.messages import ClearElrRecord, NoOpRecord, RemoveTopicRecord, TopicRecord
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.watch.core.loss_index import LossIndex
from falkirk.watch.core.places import BatchPlaces, SnapshotPlaces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from falkirk.logdir.target import Target
    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.records.batch import MetadataBatch
    from falkirk.metadata.records.record_key import ObjectKey
    from falkirk.watch.core.findings import Place
    from falkirk.watch.core.places import Places

_NO_OP: Final = encode_metadata_record(NoOpRecord(), 0)
# How values of PartitionRecord and PartitionChangeRecord begin, and where partition and topic id stand in them.
_OF_PARTITIONS: Final = frozenset({b"\x01\x03", b"\x01\x05"})
_PARTITION_KEY: Final = slice(3, 23)
_ALWAYS: Final = frozenset(
    {
        "FeatureLevelRecord",
        "RegisterBrokerRecord",
        "UnregisterBrokerRecord",
        "BrokerRegistrationChangeRecord",
        "FenceBrokerRecord",
        "UnfenceBrokerRecord",
        "RegisterControllerRecord",
        "UnregisterControllerRecord",
        "ZkMigrationStateRecord",
        "BeginTransactionRecord",
        "EndTransactionRecord",
        "AbortTransactionRecord",
    }
)
"""Records that others are checked against, or without which a log cannot be followed; there are few of them."""


class Snapshot(msgspec.Struct, frozen=True):
    """A snapshot's data batches, and where it ends."""

    batches: Sequence[MetadataBatch]
    provenance: Provenance


class MetadataLedger:
    """One cluster's image and the index of what it would lose. Raises RecordError for what cannot be read."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self.index = LossIndex(targets)
        self._targets = targets
        self._loader = MetadataLoader([self])
        self._places: Places = SnapshotPlaces(Provenance())

    @property
    def image(self) -> MetadataImage:
        """The image at the end of what was read."""
        return self._loader.image

    @property
    def end_offset(self) -> int:
        """Up to where the log was read, exclusive."""
        return self._loader.loaded.end_offset

    @property
    def epoch(self) -> int:
        """The epoch of the last record; 0 before the first."""
        return max(self._loader.loaded.epoch, 0)

    def load(self, snapshot: Snapshot | None, batches: Sequence[MetadataBatch]) -> None:
        """Replace everything; takes time in proportion to the image and the batches."""
        loader = MetadataLoader()
        if snapshot is not None:
            loader.load_snapshot(snapshot.batches, snapshot.provenance)
        loader.load_log(batches)
        places = SnapshotPlaces(loader.loaded)
        self.index.load(loader.image, places)
        self._loader = MetadataLoader([self], image=loader.image)
        self._loader.loaded = loader.loaded
        self._loader.open_transaction = loader.open_transaction
        wanted = self.index.keys()
        if wanted:
            self.index.adopt_places(dict(_first_places(self._targets, snapshot, batches, wanted)))

    def append(self, batch: MetadataBatch) -> None:
        """Apply the next batch of the log; takes time in proportion to its changes."""
        self._places = BatchPlaces((batch,))
        self._loader.load_log((batch,))

    def replace(self, snapshot: Snapshot) -> None:
        """Apply a snapshot that has replaced the log behind what was read; judges only what differs."""
        self._places = SnapshotPlaces(snapshot.provenance)
        self._loader.load_snapshot(snapshot.batches, snapshot.provenance)

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Apply a change, as the loader publishes it."""
        self.index.apply(delta, image, self._places)


def _first_places(
    targets: Sequence[Target],
    snapshot: Snapshot | None,
    batches: Sequence[MetadataBatch],
    wanted: AbstractSet[ObjectKey],
) -> Iterator[tuple[tuple[int, ObjectKey], Place]]:
    """Yield since which record each of the wanted objects would lose something, by following these objects alone."""
    chosen = _Chosen(wanted)
    followed = MetadataLedger(targets)
    if snapshot is not None:
        parts = tuple(msgspec.structs.replace(batch, values=chosen.of(batch.values)) for batch in snapshot.batches)
        followed.replace(Snapshot(parts, snapshot.provenance))
    for batch in batches:
        keeps = [chosen.has(value) for value in batch.values]
        if any(keeps):
            # In the place of others, so that offsets stay.
            values = [value if keep else _NO_OP for value, keep in zip(batch.values, keeps, strict=True)]
            followed.append(msgspec.structs.replace(batch, values=values))
    yield from followed.index.places()


class _Chosen:
    """Values of records that are about some objects, or that those depend on."""

    def __init__(self, wanted: AbstractSet[ObjectKey]) -> None:
        self._wanted = wanted
        self._topic_ids = {key.identity[0] for key in wanted if key.kind in {"partition", "topic"}}
        self._partitions = {
            key.identity[1].to_bytes(4, "big", signed=True) + key.identity[0]
            for key in wanted
            if key.kind == "partition"
        }
        self._names: set[str] = set()

    def of(self, values: Iterable[bytes]) -> list[bytes]:
        """Return the chosen ones."""
        return [value for value in values if self.has(value)]

    def has(self, value: bytes) -> bool:
        """Return whether a value is chosen; most are not, which two slices show."""
        if value[:2] in _OF_PARTITIONS:
            return value[_PARTITION_KEY] in self._partitions
        if record_type(value) in _ALWAYS:
            return True
        record = read_record(value)
        match record:
            case TopicRecord(topic_id=topic_id, name=name) if topic_id in self._topic_ids:
                self._names.add(name)
                return True
            case RemoveTopicRecord(topic_id=topic_id):
                return topic_id in self._topic_ids
            case ClearElrRecord(topic_name=name):
                return not name or name in self._names
        return object_key(record) in self._wanted
