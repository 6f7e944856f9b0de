"""What has to leave the metadata before a feature is lowered: ordinary records that go before its FeatureLevelRecord.

Differs from Kafka: its controller lowers eligible.leader.replicas.version and looks at nothing, so partitions keep
eligible leader replicas that nobody takes notice of any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.metadata.elr_conversion import without_elr
from falkirk.metadata.image.partition import NO_LEADER, NO_LEADER_CHANGE, NO_RECOVERY_CHANGE, Partition
from falkirk.metadata.writer import LossReport, VersionedRecord, WriterOptions, assess
from falkirk.protocol.messages import ClearElrRecord, PartitionChangeRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.topic import Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrubbing:
    """The records, in order, and what each partition loses by them, as `assess` tells it."""

    records: tuple[VersionedRecord, ...]
    report: LossReport

    @property
    def has_empty_isr(self) -> bool:
        """Say whether a partition has no in-sync replica to go on with: SAFE refuses then."""
        return any(not loss.row.isr for loss in self.report.losses)


def scrub_eligible_leader_replicas(image: MetadataImage) -> Scrubbing:
    """Say what goes before eligible.leader.replicas.version 1 -> 0: afterwards no partition has eligible replicas.

    A partition without in-sync replicas gets a PartitionChangeRecord (see `without_elr`; the partition epoch rises, so
    that live replicas notice), one ClearElrRecord serves all others. The records may be more than one batch holds.
    The `min.insync.replicas` of the cluster that switching the feature on has made stays as it is: it is an ordinary
    config, and without it acknowledgements would begin to mean less.
    Takes one pass of the loss rules. Source: KIP-966.
    """
    at = image.features.metadata_version
    assert at is not None, "eligible leader replicas need a metadata.version"
    report = assess(image, WriterOptions(metadata_version=at, elr_enabled=False, bootstrap_levels_bind=False))
    losses = [loss for loss in report.losses if isinstance(loss.row, Partition)]
    version = at.partition_change_record_version
    records = []
    for loss in losses:
        if not loss.row.isr:
            topic_id, partition_id = loss.key.identity
            records.append(VersionedRecord(_change(topic_id, partition_id, loss.row), version))
    if len(records) < len(losses):
        records.append(VersionedRecord(ClearElrRecord(""), 0))
    return Scrubbing(records=tuple(records), report=LossReport(losses=losses))


def keep_leaders(image: MetadataImage, topics: Iterable[Topic]) -> Iterator[VersionedRecord]:
    """Give what goes before a ClearElrRecord for these topics, so that all that can have a leader still can.

    A partition without in-sync replicas has nobody else than those that the record takes away: they become in-sync
    ones (see `without_elr`). Differs from Kafka, where nobody leads such a partition any more without an operator.
    """
    at = image.features.metadata_version
    assert at is not None, "eligible leader replicas need a metadata.version"
    for topic in topics:
        for partition_id, partition in topic.items():
            if not partition.isr and (partition.eligible_leader_replicas or partition.last_known_elr):
                change = _change(topic.topic_id, partition_id, partition)
                yield VersionedRecord(change, at.partition_change_record_version)


def _change(topic_id: bytes, partition_id: int, before: Partition) -> PartitionChangeRecord:
    """Give the record that makes of a partition what `without_elr` does."""
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
