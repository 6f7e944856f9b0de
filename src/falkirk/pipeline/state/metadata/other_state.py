"""The state of everything but topics and configs, replayed by the image's own code: these records are few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, Provenance
from falkirk.metadata.levels.lowering import PartitionLowering, feature_records, replay
from falkirk.metadata.losses.condition import Always, Condition, RowContext
from falkirk.metadata.losses.loss_catalogue import CATALOGUE
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.metadata.records.record_key import object_key
from falkirk.protocol.messages import ClearElrRecord, RemoveTopicRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.records.record_key import ObjectKey
    from falkirk.pipeline.state.metadata.inconsistencies import Inconsistencies
    from falkirk.pipeline.state.metadata.metadata_rows import OtherRecord

WRITERS: Final = {rule.kind: rule.writers for rule in CATALOGUE}
"""Kind of loss -> the records that write the object in question."""
_NO_CONTEXT: Final = RowContext()


class Lowering(NamedTuple):
    """A record that lowers metadata.version, and what partitions lose by it (KIP-1155)."""

    order: int
    partitions: PartitionLowering


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherState:
    """The image of brokers, controllers, features, ACLs and so on, and the records behind it.

    `records` has the earlier ones too, but none that were refused; where metadata.version was lowered, also records
    that set the features which went with it. `by_key` has the same records by object. `lowerings`, in order, are those
    that count.
    """

    image: MetadataImage
    records: Sequence[OtherRecord]
    by_key: Mapping[ObjectKey, Sequence[OtherRecord]]
    lowerings: Sequence[Lowering]

    def writer(self, key: ObjectKey, writers: Mapping[str, Condition] | str) -> OtherRecord | None:
        """Return the last record that wrote an object: of several types under conditions, or any of one type."""
        wanted = {writers: Always()} if isinstance(writers, str) else writers
        for other in reversed(self.by_key.get(key, ())):
            condition = wanted.get(type(other.message).__name__)
            if condition is not None and condition.holds(other.message, _NO_CONTEXT):
                return other
        return None


def other_state(others: Sequence[OtherRecord], problems: Inconsistencies) -> OtherState:
    """Replay records; one that contradicts earlier ones is reported, and changes nothing.

    RemoveTopicRecords and ClearElrRecords are kept without being replayed: they are about topics.
    """
    delta = MetadataDelta(EMPTY)
    sound: list[OtherRecord] = []
    lowerings: list[Lowering] = []
    for other in others:
        implied: list[OtherRecord] = []
        if not other.is_earlier and not isinstance(other.message, RemoveTopicRecord | ClearElrRecord):
            try:
                # Each of these raises before it changes anything.
                report = replay(delta, other.message)
            except InconsistentRecordError as error:
                problems.add(other, error)
                continue
            if report is not None:
                features = delta.apply(Provenance()).features
                lowerings.append(Lowering(other.order, PartitionLowering.to(features)))
                implied = [other._replace(message=record) for record in feature_records(report)]
        sound += [other, *implied]
    by_key: dict[ObjectKey, list[OtherRecord]] = {}
    for other in sound:
        key = object_key(other.message)
        if key is not None:
            by_key.setdefault(key, []).append(other)
    return OtherState(image=delta.apply(Provenance()), records=sound, by_key=by_key, lowerings=lowerings)
