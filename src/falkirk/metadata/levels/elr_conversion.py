"""Eligible leader replicas (KIP-966) at a level that cannot hold them.

Kafka's writer drops them, or throws. A cluster that was stopped broker by broker has partitions whose ISR is empty and
whose last replicas are listed as eligible only: without conversion they would stay leaderless.
"""

from __future__ import annotations

import msgspec

from falkirk.metadata.image.partition import NO_LEADER, RECOVERING, Partition


def without_elr(partition: Partition, *, bumps_epoch: bool = False) -> Partition:
    """Return the partition without eligible leader replicas; the same object if it has none.

    A non-empty ISR stays. An empty one becomes the eligible replicas, which have every committed message, or else the
    last known leader, which may not and so has to recover. `bumps_epoch` raises the partition epoch, so that live
    replicas notice; otherwise epochs stay.
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
