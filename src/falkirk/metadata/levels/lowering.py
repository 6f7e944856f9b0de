"""Lowers an image to another metadata.version, when a node replays the record that says so (KIP-1155).

The result equals the image written at the lower level and read back. It depends on the image and the level alone, so
every node that replays the record arrives at the same image, and no record says what became of each object:
docs/decisions/0008-lowering-at-replay.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.metadata.image.broker_registration import BrokerRegistration
from falkirk.metadata.image.features import NO_ZK_MIGRATION
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.partition import MIGRATING, Partition
from falkirk.metadata.levels.elr_conversion import without_elr
from falkirk.metadata.levels.writer import LEVEL_MIN, LossReport, WriterOptions, assess_slices
from falkirk.protocol.messages import (
    ClearElrRecord,
    FeatureLevelRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UnregisterControllerRecord,
    ZkMigrationStateRecord,
)
from falkirk.slices import VISITS_PER_SLICE, SliceBudget, exhaust
from falkirk.versions.errors import UnknownMetadataVersionError
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.metadata.image.features import FeaturesImage
    from falkirk.metadata.image.metadata_image import MetadataImage, Provenance
    from falkirk.metadata.image.topic import Topic
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices

SLICED_RECORDS: Final = (FeatureLevelRecord, ClearElrRecord)
"""Records that can change every partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowering:
    """The image at the lower level, the delta that leads to it, and what was lost.

    The delta holds only what differs; objects that do not change are the same in both images.
    """

    image: "MetadataImage"
    delta: MetadataDelta
    report: LossReport


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLowering:
    """What a lowering removes from every partition, for callers that keep partitions elsewhere than in an image."""

    drops_elr: bool
    drops_directories: bool

    @classmethod
    def to(cls, features: FeaturesImage) -> PartitionLowering:
        """Return the lowering that leads to these features."""
        level = features.metadata_version
        assert level is not None, "a lowering sets metadata.version"
        return cls(
            drops_elr=not (features.is_elr_enabled and level.elr_supported),
            drops_directories=not level.directory_assignment_supported,
        )

    def lowered(self, partition: Partition) -> Partition:
        """Return a partition as it is afterwards; the same object if nothing of it changes."""
        if self.drops_elr:
            partition = without_elr(partition, bumps_epoch=True)
        return _without_directories(partition) if self.drops_directories else partition

    def changes(self, topic: Topic, budget: SliceBudget) -> Slices[dict[int, Partition]]:
        """Return the partitions of a topic that change, as they are afterwards."""
        changed = {}
        items = topic.items()
        while part := list(islice(items, VISITS_PER_SLICE)):
            for partition_id, partition in part:
                lowered = self.lowered(partition)
                if lowered is not partition:
                    changed[partition_id] = lowered
            if budget.spend(len(part)):
                yield
        return changed


def lower(image: MetadataImage, to: MetadataVersion, provenance: Provenance) -> Lowering:
    """Lower an image. Raises UnwritableLevelError below 3.3-IV0.

    Takes one pass of the loss rules over the image, plus time in proportion to what changes.
    """
    delta = MetadataDelta(image)
    report = exhaust(lower_within_slices(delta, to))
    return Lowering(image=delta.apply(provenance), delta=delta, report=report)


def lowering_options(to: MetadataVersion) -> WriterOptions:
    """Return how a lowering writes: `assess` with these options returns what `lower` will lose.

    No release is known at replay, so only features that depend on a higher level are dropped; the controller has to
    lower the others first. Epochs rise where eligible leader replicas become in-sync ones, so that live replicas
    notice.
    """
    return WriterOptions(metadata_version=to, bootstrap_levels_bind=False, bumps_partition_epochs=True)


def replay(delta: MetadataDelta, record: WireMessage) -> LossReport | None:
    """Replay a record; one that lowers metadata.version also changes everything that the lower level cannot hold.

    Returns what was lost by that, None for any other record. Raises InconsistentRecordError as `MetadataDelta.replay`
    does.
    """
    to = lowering_target(delta, record)
    if to is None:
        delta.replay(record)
        return None
    return exhaust(lower_within_slices(delta, to))


def replay_slices(delta: MetadataDelta, record: WireMessage) -> Slices[LossReport | None]:
    """Do what `replay` does in slices of bounded size."""
    if isinstance(record, ClearElrRecord) and not record.topic_name:
        yield from delta.clear_elr_slices(record)
        return None
    to = lowering_target(delta, record)
    if to is None:
        delta.replay(record)
        return None
    return (yield from lower_within_slices(delta, to))


def lower_within_slices(delta: MetadataDelta, to: MetadataVersion) -> Slices[LossReport]:
    """Lower what a delta leads to, as its next change; other records may follow. Raises as `lower` does."""
    image = yield from delta.apply_slices(delta.image.provenance)
    own = image.features.metadata_version
    assert own is not None, "an image without metadata.version cannot be lowered"
    assert to < own, f"{to} is not below {own}"
    report = yield from assess_slices(image, lowering_options(to))
    lower_others(delta, image, to, report)
    assert delta.features is not None, "its level has just been set"
    yield from _lower_partitions(image, PartitionLowering.to(delta.features.apply()), delta, report)
    delta.clear_unknown_tags()
    return report


def lower_others(delta: MetadataDelta, image: MetadataImage, to: MetadataVersion, report: LossReport) -> None:
    """Lower everything but topics; `image` is what the delta leads to, `report` what is lost of it."""
    delta.replay(FeatureLevelRecord(METADATA_VERSION, to.level))
    for record in feature_records(report):
        delta.replay(record)
    for record in _other_records(image, to):
        delta.replay(record)


def feature_records(report: LossReport) -> Iterator[WireMessage]:
    """Yield the levels of other features that a lowering sets, as records that are in no log."""
    for loss in report.dropped_features:
        kept = loss.make_written
        yield FeatureLevelRecord(loss.key.identity[0], 0) if kept is None else kept()


def lowering_target(delta: MetadataDelta, record: WireMessage) -> MetadataVersion | None:
    """Return the level to which a record lowers metadata.version, after the changes so far; None if it does not."""
    if not isinstance(record, FeatureLevelRecord) or record.name != METADATA_VERSION:
        return None
    features = delta.image.features if delta.features is None else delta.features
    own = features.metadata_version
    try:
        to = MetadataVersion.of_level(record.feature_level)
    except UnknownMetadataVersionError:
        return None  # for the delta to refuse
    # Below LEVEL_MIN the record does not exist, so such a log is for the delta to take or refuse as it stands.
    return to if own is not None and LEVEL_MIN <= to < own else None


def _other_records(image: MetadataImage, to: MetadataVersion) -> Iterator[WireMessage]:
    """Yield the records that lower the small areas. Configs, quotas, ACLs and producer ids exist at all levels."""
    if image.features.zk_migration_state != NO_ZK_MIGRATION and not to.migration_supported:
        yield ZkMigrationStateRecord(NO_ZK_MIGRATION)
    for _, broker in sorted(image.cluster.brokers.items()):
        record, _ = broker.to_record(to)
        if BrokerRegistration.from_record(record) != broker:
            yield record
    if not to.controller_registration_supported:
        for controller_id in sorted(image.cluster.controllers):
            yield UnregisterControllerRecord(controller_id)
    if not to.scram_supported:
        for user in sorted(image.scram.credentials):
            yield RemoveUserScramCredentialRecord(user.name, user.mechanism)
    if not to.delegation_token_supported:
        for token_id in sorted(image.delegation_tokens.tokens):
            yield RemoveDelegationTokenRecord(token_id)


def _lower_partitions(
    image: MetadataImage, lowering: PartitionLowering, delta: MetadataDelta, report: LossReport
) -> Slices[None]:
    budget = SliceBudget()
    for topic in image.topics if lowering.drops_directories else _topics_with_losses(image, report):
        changed = yield from lowering.changes(topic, budget)
        if changed:
            delta.set_partitions(topic.with_partitions(changed), changed)


def _topics_with_losses(image: MetadataImage, report: LossReport) -> Iterator[Topic]:
    """Yield the topics that can have eligible leader replicas: each partition that has some has lost them."""
    last_id = None
    for loss in report.losses:
        if isinstance(loss.row, Partition) and loss.key.identity[0] != last_id:
            last_id = loss.key.identity[0]
            topic = image.topics.topic_by_id(last_id)
            assert topic is not None, "the losses are those of this image"
            yield topic


def _without_directories(partition: Partition) -> Partition:
    nowhere = (MIGRATING,) * len(partition.replicas)
    return partition if partition.directories == nowhere else msgspec.structs.replace(partition, directories=nowhere)
