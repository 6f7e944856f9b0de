"""Records that remove what a feature's lower level cannot have, before its FeatureLevelRecord.

Differs from Kafka: its controller lowers eligible.leader.replicas.version without changing partitions, which keep
eligible leader replicas that have no effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.metadata.image.partition import NO_LEADER, NO_LEADER_CHANGE, NO_RECOVERY_CHANGE, Partition
from falkirk.metadata.levels.elr_conversion import without_elr
from falkirk.metadata.levels.writer import LossReport, WriterOptions, assess
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.protocol.messages import ClearElrRecord, PartitionChangeRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.topic import Topic
    from falkirk.metadata.losses.loss import Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbing:
    """The records, in order, and what each partition loses by them."""

    records: tuple[VersionedRecord, ...]
    report: LossReport


def scrub_eligible_leader_replicas(image: MetadataImage) -> Scrubbing:
    """Return the records before eligible.leader.replicas.version 1 -> 0: afterwards no partition has eligible replicas.

    A partition without in-sync replicas gets a PartitionChangeRecord (see `without_elr`; the partition epoch rises, so
    that live replicas notice), one ClearElrRecord serves all others. The records may be more than one batch holds. The
    cluster's `min.insync.replicas`, which enabling the feature has set, stays: it is an ordinary config, and without it
    acks=all would begin to guarantee less. Takes one pass of the loss rules. Source: KIP-966.
    """
    report = assess(image, scrubbing_options(image))
    losses = [loss for loss in report.losses if isinstance(loss.row, Partition)]
    records = scrubbing_records(image, losses)
    if len(records) < len(losses):
        records.append(VersionedRecord(ClearElrRecord(""), 0))
    return Scrubbing(records=tuple(records), report=LossReport(losses=losses))


def scrubbing_options(image: MetadataImage) -> WriterOptions:
    """Return how an image is written without eligible leader replicas; what partitions lose by it is to be scrubbed."""
    at = image.features.metadata_version
    assert at is not None, "eligible leader replicas need a metadata.version"
    return WriterOptions(metadata_version=at, elr_enabled=False, bootstrap_levels_bind=False)


def scrubbing_records(image: MetadataImage, losses: Iterable[Loss]) -> list[VersionedRecord]:
    """Return the records for partitions without in-sync replicas; a ClearElrRecord serves the others."""
    at = image.features.metadata_version
    assert at is not None, "eligible leader replicas need a metadata.version"
    version = at.partition_change_record_version
    records = []
    for loss in losses:
        if not loss.row.isr:
            topic_id, partition_id = loss.key.identity
            records.append(VersionedRecord(_change(topic_id, partition_id, loss.row), version))
    return records


def keep_leaders(image: MetadataImage, topic: Topic) -> Iterator[VersionedRecord]:
    """Yield the records before a ClearElrRecord for a topic, so that partitions that can have a leader still can.

    In a partition without in-sync replicas the eligible ones become in-sync ones (see `without_elr`). Differs from
    Kafka, where such a partition stays leaderless until an operator acts.
    """
    at = image.features.metadata_version
    assert at is not None, "eligible leader replicas need a metadata.version"
    for partition_id, partition in topic.items():
        if not partition.isr and (partition.eligible_leader_replicas or partition.last_known_elr):
            change = _change(topic.topic_id, partition_id, partition)
            yield VersionedRecord(change, at.partition_change_record_version)


def _change(topic_id: bytes, partition_id: int, before: Partition) -> PartitionChangeRecord:
    """Return the record that changes a partition as `without_elr` does."""
    after = without_elr(before, bumps_epoch=True)
    return PartitionChangeRecord(
        partition_id=partition_id,
        topic_id=topic_id,
        isr=after.isr,
        # Naming -1 once more would raise the leader epoch.
        leader=NO_LEADER if before.leader != NO_LEADER else NO_LEADER_CHANGE,
        leader_recovery_state=(
            NO_RECOVERY_CHANGE
            if after.leader_recovery_state == before.leader_recovery_state
            else after.leader_recovery_state
        ),
        eligible_leader_replicas=() if before.eligible_leader_replicas else None,
        last_known_elr=() if before.last_known_elr else None,
    )
