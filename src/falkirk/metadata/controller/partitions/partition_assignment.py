"""Replicas that somebody named by hand, and the partitions that come of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.image.partition import Partition
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.slices import DECISION_VISITS, SliceBudget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.controller.partitions.replication_decision import ReplicationDecision
    from falkirk.metadata.image.cluster import ClusterImage
    from falkirk.slices import Slices


def reason_unassignable(
    replicas: Sequence[int], cluster: ClusterImage, replication_factor: int | None = None
) -> str | None:
    """Return why a partition cannot have these replicas, in Kafka's words; None if it can.

    `replication_factor`: of the topic's other partitions, None if it does not matter.
    """
    if not replicas:
        return "The manual partition assignment includes an empty replica list."
    previous = None
    for broker_id in sorted(replicas):
        if broker_id not in cluster.brokers:
            return f"The manual partition assignment includes broker {broker_id}, but no such broker is registered."
        if broker_id == previous:
            return f"The manual partition assignment includes the broker {broker_id} more than once."
        previous = broker_id
    if replication_factor is not None and len(replicas) != replication_factor:
        return (
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not "
            f"consistent with previous partitions, which have {replication_factor} replica(s)."
        )
    return None


def placed_partitions(placed: Sequence[tuple[int, ...]], decision: ReplicationDecision) -> Slices[Sequence[Partition]]:
    """Return the partitions of placed replicas; an unfenced broker is among those of each, so no ISR is empty."""
    partitions, budget = [], SliceBudget()
    for replicas in placed:
        partitions.append(new_partition(replicas, decision.active(replicas), decision))
        if budget.spend(DECISION_VISITS):
            yield
    return partitions


def partition_records(
    topic_id: bytes, first_id: int, partitions: Sequence[Partition], decision: ReplicationDecision
) -> Slices[Sequence[VersionedRecord]]:
    """Return the records of new partitions with rising numbers."""
    records, budget = [], SliceBudget()
    for partition_id, partition in enumerate(partitions, first_id):
        record, version = partition.to_record(
            topic_id, partition_id, decision.metadata_version, elr_enabled=decision.elr_enabled
        )
        records.append(VersionedRecord(record, version))
        if budget.spend(DECISION_VISITS):
            yield
    return records


def new_partition(replicas: tuple[int, ...], isr: tuple[int, ...], decision: ReplicationDecision) -> Partition:
    """Return a partition as it begins: the first replica in sync leads."""
    return Partition(
        replicas=replicas,
        directories=tuple(decision.default_directory(replica) for replica in replicas),
        isr=isr,
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
    )
