"""A node's state in numbers, for metrics; computed on demand, in slices: what is counted may be a million."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.node.broker.group_coordinator.group_measurements import GroupMeasurements, measure_groups
from falkirk.node.broker.transaction_coordinator.transaction_measurements import (
    TransactionMeasurements,
    measure_transactions,
)
from falkirk.slices import SliceBudget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.metadata.image.cluster import ClusterImage
    from falkirk.node.broker.broker_role import BrokerRole
    from falkirk.node.broker.replication.replica_manager import ReplicaManager
    from falkirk.node.connections.api_uses import ApiUse
    from falkirk.node.connections.client_connections import ClientConnections
    from falkirk.node.connections.connection_counters import ConnectionCounters
    from falkirk.node.step import CommittedMetadata
    from falkirk.raft.replica import RaftReplica
    from falkirk.slices import Slices
    from falkirk.versions.supported_range import SupportedRange


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCounts:
    """A broker's partitions; `led` and the two below it count those that it leads.

    `cut_bytes`, `cut_records`: what the start cut off their logs, and the valid records in it; `strays`: logs that it
    set aside. `throttled_rates`: bytes per second of throttled replication as a leader, as a follower, and of moves to
    other log directories.
    """

    hosted: int
    offline: int
    led: int
    under_replicated: int
    under_min_isr: int
    cut_bytes: int
    cut_records: int
    strays: int
    throttled_rates: tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """Offsets are of the metadata log. Offsets, ids and levels are -1 where none is known.

    `connections`: by listener, and name and version of the client's software. `brokers`: active and fenced ones, on the
    active controller only. `broker_state`: Kafka's number. `partitions`, `groups`, `transactions`: of a broker that
    has opened its logs.
    """

    leader_id: int
    leader_epoch: int
    is_active_controller: bool
    high_watermark: int
    log_end_offset: int
    last_applied_offset: int
    metadata_version: int
    finalized_features: "Mapping[str, int]"
    supported_features: "Mapping[str, SupportedRange]"
    connections: "Mapping[tuple[str, str, str], int]"
    connection_counters: "ConnectionCounters"
    api_uses: "Sequence[ApiUse]"
    brokers: tuple[int, int] | None
    broker_state: int | None
    partitions: PartitionCounts | None
    groups: GroupMeasurements | None
    transactions: TransactionMeasurements | None


def measure_slices(
    raft: RaftReplica,
    metadata: CommittedMetadata,
    clients: ClientConnections,
    broker: BrokerRole | None,
    *,
    supported_features: Mapping[str, SupportedRange],
    is_active_controller: bool,
) -> Slices[Measurements]:
    """Measure a node. The cost grows with its connections, registered brokers, groups and local partitions."""
    opened = broker if broker is not None and broker.replicas.is_started else None
    partitions = None if opened is None else (yield from _partitions(opened.replicas))
    groups = None if opened is None else (yield from measure_groups(opened.groups))
    transactions = None if opened is None else (yield from measure_transactions(opened.transactions))
    image = metadata.image
    leader_id, version = raft.leader.leader_id, image.features.metadata_version
    return Measurements(
        leader_id=-1 if leader_id is None else leader_id,
        leader_epoch=raft.epoch,
        is_active_controller=is_active_controller,
        high_watermark=-1 if raft.high_watermark is None else raft.high_watermark,
        log_end_offset=raft.end_offset,
        last_applied_offset=metadata.applied_offset - 1,
        metadata_version=-1 if version is None else version.level,
        finalized_features=image.features.levels(kraft_version=raft.kraft_version),
        supported_features=supported_features,
        connections=clients.by_software(),
        connection_counters=clients.counters,
        api_uses=tuple(clients.api_uses),
        brokers=_brokers(image.cluster) if is_active_controller else None,
        broker_state=None if broker is None else broker.state.value,
        partitions=partitions,
        groups=groups,
        transactions=transactions,
    )


def _brokers(cluster: ClusterImage) -> tuple[int, int]:
    fenced = [broker.fenced for broker in cluster.brokers.values()]
    return fenced.count(False), fenced.count(True)


def _partitions(replicas: ReplicaManager) -> Slices[PartitionCounts]:
    hosted, budget = list(replicas.partitions), SliceBudget()
    led = under_replicated = under_min_isr = 0
    for partition in hosted:
        if partition.leader_log is not None:
            in_sync = len(partition.isr.committed)
            led += 1
            under_replicated += in_sync < len(partition.remote_replicas) + 1
            under_min_isr += in_sync < partition.min_insync_replicas
        if budget.spend(1):
            yield
    return PartitionCounts(
        hosted=len(hosted),
        offline=len(replicas.partitions.offline),
        led=led,
        under_replicated=under_replicated,
        under_min_isr=under_min_isr,
        cut_bytes=sum(cut.size_bytes for cut in replicas.logs.cuts),
        cut_records=sum(cut.records for cut in replicas.logs.cuts),
        strays=len(replicas.logs.strays),
        throttled_rates=(
            replicas.quotas.leader.byte_rate,
            replicas.quotas.follower.byte_rate,
            replicas.quotas.alter_log_dirs.byte_rate,
        ),
    )
