"""Eligible leader replicas (KIP-966) where a level has no place for them.

Kafka's writer drops them, or throws. A cluster that was stopped broker by broker has partitions whose ISR is empty and
whose last replicas are only known as eligible ones: without conversion they would be without a leader for good.
"""

from __future__ import annotations

import msgspec

from falkirk.metadata.image.partition import NO_LEADER, RECOVERING, Partition


def without_elr(partition: Partition, *, bumps_epoch: bool = False) -> Partition:
    """Give the partition as older releases can lead it; unchanged if it has no eligible leader replicas.

    An ISR stays. An empty one becomes the eligible replicas, which have every committed message, or else the last
    known leader, which may not and so has to recover. Epochs stay too, unless live replicas have to notice:
    `bumps_epoch` raises the partition epoch.
    """
    elr, last_known_elr = partition.eligible_leader_replicas, partition.last_known_elr
    if not elr and not last_known_elr:
        return partition
    isr, leader, state = partition.isr, partition.leader, partition.leader_recovery_state
    if not isr:
        leader = NO_LEADER
        if elr:
            isr = elr
        else:
            isr, state = last_known_elr[:1], RECOVERING
    return msgspec.structs.replace(
        partition,
        isr=isr,
        leader=leader,
        leader_recovery_state=state,
        partition_epoch=partition.partition_epoch + bumps_epoch,
        eligible_leader_replicas=(),
        last_known_elr=(),
    )
