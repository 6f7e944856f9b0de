"""The state that the active controller decides on: the metadata at the end of its log, committed or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import MetadataImage, Provenance
from falkirk.metadata.levels.lowering import replay_slices
from falkirk.protocol.messages import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord
from falkirk.slices import DECISION_VISITS, SliceBudget, exhaust
from falkirk.versions.metadata_version import LEVEL_WITHOUT_RECORD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.controller.state.broker_partitions import BrokerPartitions
    from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
    from falkirk.metadata.controller.state.existing_acls import ExistingAcls
    from falkirk.metadata.controller.state.prepared_lowering import PreparedLowering
    from falkirk.metadata.controller.state.topic_names import CollidingNames
    from falkirk.metadata.records.batch import VersionedRecord
    from falkirk.slices import Slices
    from falkirk.versions.metadata_version import MetadataVersion


_TRANSACTION_MARKERS: Final = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)


@dataclass(frozen=True, slots=True)
class Replayed:
    """What records make of the state with the image `before`; it holds for that state alone."""

    before: MetadataImage
    image: MetadataImage
    indexes: "ControllerIndexes"


class ControllerState:
    """The image at the log's end and indexes of it. Managers read it; only `replay` and `apply` change it.

    A controller that loses its leadership throws it away: what it had appended may never be committed.
    """

    def __init__(self, image: MetadataImage, indexes: ControllerIndexes) -> None:
        self.image = image
        self.indexes = indexes

    @property
    def partitions(self) -> BrokerPartitions:
        """The index of partitions by broker."""
        return self.indexes.partitions

    @property
    def colliding_names(self) -> CollidingNames:
        """The index of topic names that are alike in metrics."""
        return self.indexes.colliding_names

    @property
    def existing_acls(self) -> ExistingAcls:
        """The index of ACLs without their ids."""
        return self.indexes.existing_acls

    @property
    def next_offset(self) -> int:
        """Offset of the next record: a broker's epoch is that of its registration."""
        return self.image.provenance.end_offset

    @property
    def metadata_version(self) -> MetadataVersion:
        """Level that records are written at; the lowest before any level was set."""
        return self.image.features.metadata_version or LEVEL_WITHOUT_RECORD

    def replay(
        self,
        records: Sequence[VersionedRecord],
        *,
        end_offset: int,
        epoch: int,
        now_ms: int,
        prepared: PreparedLowering | None = None,
    ) -> None:
        """Apply records that were just appended; a record that lowers metadata.version lowers the image.

        The cost is that of the change; `prepared` has most of it done already. The state is not cleared and reloaded as
        in KIP-1155: image and indexes become equal to those of a controller that loads the snapshot at the lower level.
        """
        replayed = exhaust(self.replay_slices(records, prepared=prepared))
        self.apply(replayed, end_offset=end_offset, epoch=epoch, now_ms=now_ms)

    def replay_slices(
        self, records: Sequence[VersionedRecord], *, prepared: PreparedLowering | None = None
    ) -> Slices[Replayed]:
        """Replay records in slices of bounded size; the state stays as it is until `apply`."""
        delta, budget = MetadataDelta(self.image), SliceBudget()
        if prepared is not None and prepared.topics is not self.image.topics:
            prepared = None
        for record, _version in records:
            # Who appends a transaction also ends it; on the other replicas the loader holds it back until then. What is
            # aborted is what an earlier leader left open, which is not in the image.
            if isinstance(record, _TRANSACTION_MARKERS):
                continue
            if prepared is None:
                yield from replay_slices(delta, record)
                if budget.spend(DECISION_VISITS):
                    yield
            else:
                prepared.replay(delta, record)
        before = delta.image
        image = yield from delta.apply_slices(before.provenance)
        if prepared is None:
            indexes = yield from self.indexes.changed_in_slices((delta,))
        else:
            assert delta.topics is None, "all that happens to topics is prepared"
            image = msgspec.structs.replace(image, topics=prepared.after)
            indexes = self.indexes._replace(partitions=prepared.partitions)
        return Replayed(before, image, indexes)

    def apply(self, replayed: Replayed, *, end_offset: int, epoch: int, now_ms: int) -> None:
        """Make what was replayed the state; the records must have been appended at its end."""
        assert replayed.before is self.image, "the state has changed meanwhile"
        self.indexes = replayed.indexes
        self.image = msgspec.structs.replace(replayed.image, provenance=Provenance(end_offset, epoch, now_ms))
