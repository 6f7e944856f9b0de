"""What a node is at this moment, in numbers, for whoever watches it; made when it is asked for, never by the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.node.group_measurements import GroupMeasurements, measure_groups

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.node.api_uses import ApiUse
    from falkirk.node.client_connections import ClientConnections, ConnectionCounters
    from falkirk.node.node_state import NodeState
    from falkirk.node.replication.replica_manager import ReplicaManager
    from falkirk.versions.supported_range import SupportedRange


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCounts:
    """A broker's partitions; all but `hosted` and `offline` count those that it leads."""

    hosted: int
    offline: int
    led: int
    under_replicated: int
    under_min_isr: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """Offsets are of the metadata log, -1 where none is known; so are ids and levels.

    `connections`: by listener, name and version of the client's software. `brokers`: how many are active and fenced, of
    the active controller alone. `broker_state`: Kafka's number. `partitions`, `groups`: of a broker that has opened its
    logs.
    """

    leader_id: int
    leader_epoch: int
    is_active_controller: bool
    high_watermark: int
    log_end_offset: int
    last_applied_offset: int
    metadata_version: int
    finalized_features: Mapping[str, int]
    supported_features: Mapping[str, SupportedRange]
    connections: Mapping[tuple[str, str, str], int]
    connection_counters: ConnectionCounters
    api_uses: Sequence[ApiUse]
    brokers: tuple[int, int] | None
    broker_state: int | None
    partitions: PartitionCounts | None
    groups: GroupMeasurements | None


def measure(state: NodeState, clients: ClientConnections, *, broker_state: int | None) -> Measurements:
    """Look at a node. Costs what it has of connections, of partitions on its own disks, of groups, and of brokers."""
    raft, image = state.raft, state.image
    leader_id, version = raft.leader.leader_id, image.features.metadata_version
    replicas, groups = state.replicas, state.groups
    is_opened = replicas is not None and replicas.is_started
    return Measurements(
        leader_id=-1 if leader_id is None else leader_id,
        leader_epoch=raft.epoch,
        is_active_controller=state.serving is not None,
        high_watermark=-1 if raft.high_watermark is None else raft.high_watermark,
        log_end_offset=raft.end_offset,
        last_applied_offset=state.applied_offset - 1,
        metadata_version=-1 if version is None else version.level,
        finalized_features=image.features.levels(kraft_version=raft.kraft_version),
        supported_features=state.supported_features,
        connections=clients.by_software(),
        connection_counters=clients.counters,
        api_uses=tuple(clients.api_uses),
        brokers=None if state.serving is None else _brokers(state),
        broker_state=broker_state,
        partitions=_partitions(replicas) if replicas is not None and is_opened else None,
        groups=measure_groups(groups) if groups is not None and is_opened else None,
    )


def _brokers(state: NodeState) -> tuple[int, int]:
    fenced = [broker.fenced for broker in state.image.cluster.brokers.values()]
    return fenced.count(False), fenced.count(True)


def _partitions(replicas: ReplicaManager) -> PartitionCounts:
    hosted = list(replicas.partitions)
    led = [partition for partition in hosted if partition.leader_log is not None]
    in_sync = [(partition, len(partition.isr.committed)) for partition in led]
    return PartitionCounts(
        hosted=len(hosted),
        offline=len(replicas.partitions.offline),
        led=len(led),
        under_replicated=sum(count < len(partition.remote_replicas) + 1 for partition, count in in_sync),
        under_min_isr=sum(count < partition.min_insync_replicas for partition, count in in_sync),
    )
