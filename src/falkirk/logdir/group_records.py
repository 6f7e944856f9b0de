"""What stands in the coordinator topics, and what the coordinators of a release would make of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from falkirk.coordinator.loader_rules import configured_coordinator, default_coordinator, unknown_protocols
from falkirk.coordinator.log_entry import log_entries
from falkirk.coordinator.prediction.group_losses import group_conversion, group_detail, group_losses
from falkirk.coordinator.prediction.groups import readable_groups
from falkirk.coordinator.prediction.transactions import unfinished_transactions
from falkirk.coordinator.record_type import GroupType
from falkirk.logdir.placement import partitions_of
from falkirk.storage.errors import errors_name
from falkirk.storage.partition_directory import GROUPS_TOPIC, TRANSACTIONS_TOPIC
from falkirk.storage.partition_log import read_segments
from falkirk.versions.features import TRANSACTION_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from falkirk.coordinator.loader_rules import CoordinatorKind
    from falkirk.coordinator.log_entry import LogEntry
    from falkirk.coordinator.prediction.groups import GroupReadability, GroupsReadability
    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.locate import LogDir, NodeDirs
    from falkirk.storage.disk import Disk
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One replica of a coordinator partition; its entries are read anew each time they are asked for."""

    disk: Disk
    node: NodeDirs
    log_dir: LogDir
    name: str
    partition: int

    @property
    def path(self) -> Path:
        """Give its directory."""
        return self.log_dir.path / self.name

    def __iter__(self) -> Iterator[LogEntry]:
        """Give its entries in log order. Raises CorruptFileError."""
        for reader in read_segments(self.disk, str(self.path)):
            with errors_name(reader.file):
                yield from log_entries(reader)

    def end_offset(self) -> int:
        """Give the first offset behind its last batch."""
        end = 0
        for reader in read_segments(self.disk, str(self.path), check_crc=False):
            for batch in reader:
                end = batch.end_offset
        return end


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """Groups of the cluster, and what a release's coordinators make of them.

    `losses` are as JSON has them: records that go because their partition would not load with them, share groups that
    the release does not know, offsets that it would not serve. `conversions` are sentences on tombstones that go so
    that offsets are served. `removed`: log directory -> name of a partition's directory -> offsets of the records that
    go, losses and tombstones.
    """

    groups: tuple[GroupReadability, ...]
    losses: list[dict[str, Any]]  # Any: JSON values
    conversions: tuple[str, ...]
    removed: dict[Path, dict[str, frozenset[int]]]
    warnings: tuple[str, ...]

    def removed_offsets(self, log_dir: Path) -> dict[str, frozenset[int]]:
        """Give the records that go, by the partition's directory in this log directory."""
        return self.removed.get(log_dir, {})

    def counts(self) -> dict[str, int]:
        """Count groups by the type that Kafka's tools give them: offsets without a membership are a classic group."""
        found = Counter(_listed_type(group) for group in self.groups)
        return {kind.value: found[kind] for kind in GroupType if kind is not GroupType.SIMPLE}

    def as_json(self) -> list[dict[str, Any]]:  # Any: JSON values
        """Give the groups as the commands print them."""
        return [_group_json(group) for group in self.groups]


def read_groups(disk: Disk, cluster: Cluster, release: Release) -> GroupPlan:
    """Read all coordinator partitions of all nodes and ask what the release would make of them.

    The longest replica of a partition tells of its groups; each replica is asked which records it has to give up.
    Raises CorruptFileError.
    """
    groups: list[GroupReadability] = []
    losses: list[dict[str, Any]] = []  # Any: JSON values
    conversions: list[str] = []
    removed: dict[Path, dict[str, frozenset[int]]] = {}
    for replicas in group_replicas(disk, cluster).values():
        longest = _longest(replicas)
        for replica in replicas:
            answer = _judged(replica, release)
            goes = _goes(answer)
            if goes:
                removed.setdefault(replica.log_dir.path, {})[replica.name] = goes
            if replica is longest:
                groups += answer.groups
                losses += group_losses(answer, name=replica.name, source=str(replica.path))
                found = (group_conversion(group, release, name=replica.name) for group in answer.groups)
                conversions += [sentence for sentence in found if sentence is not None]
    return GroupPlan(
        groups=tuple(sorted(groups, key=lambda group: group.group_id)),
        losses=losses,
        conversions=tuple(conversions),
        removed=removed,
        warnings=(*_coordinator_warnings(cluster, release), *_transaction_warnings(disk, cluster, release)),
    )


def judged_partitions(
    disk: Disk, cluster: Cluster, release: Release, *, is_tolerant: bool = False
) -> Iterator[GroupsReadability]:
    """Say of each coordinator partition what the release would make of it, by its longest replica.

    `is_tolerant`: by a broker of ours that reads as KIP-915 asks. Raises CorruptFileError.
    """
    for replicas in group_replicas(disk, cluster).values():
        yield _judged(_longest(replicas), release, is_tolerant=is_tolerant)


def group_replicas(disk: Disk, cluster: Cluster) -> dict[int, list[Replica]]:
    """Give the replicas of each partition of `__consumer_offsets` that are here."""
    return _by_partition(disk, cluster, GROUPS_TOPIC)


def coordinator_of(release: Release, node: NodeDirs) -> CoordinatorKind | None:
    """Say which coordinator the node will run, as far as its server.properties are here; None: the release's own."""
    if node.server_properties is None:
        return None
    return configured_coordinator(release, node.server_properties.as_dict())


def _longest(replicas: list[Replica]) -> Replica:
    return max(replicas, key=Replica.end_offset) if len(replicas) > 1 else replicas[0]


def _judged(replica: Replica, release: Release, *, is_tolerant: bool = False) -> GroupsReadability:
    kind = coordinator_of(release, replica.node)
    return readable_groups(release, {replica.partition: replica}, kind, is_tolerant=is_tolerant)


def _by_partition(disk: Disk, cluster: Cluster, topic: str) -> dict[int, list[Replica]]:
    found: dict[int, list[Replica]] = {}
    for node in cluster.nodes:
        for log_dir in node.log_dirs:
            for name, of_topic, partition in partitions_of(disk, log_dir):
                if of_topic == topic:
                    replica = Replica(disk=disk, node=node, log_dir=log_dir, name=name, partition=partition)
                    found.setdefault(partition, []).append(replica)
    return dict(sorted(found.items()))


def _goes(answer: GroupsReadability) -> frozenset[int]:
    """Give the offsets of what has to go: what fails, and tombstones that would hide a group's offsets."""
    hiding = {group.hidden_by for group in answer.groups if group.hidden_by is not None}
    return frozenset({record.offset for record in answer.failing} | hiding)


def _listed_type(group: GroupReadability) -> GroupType:
    return GroupType.CLASSIC if group.type is GroupType.SIMPLE else group.type


def _group_json(group: GroupReadability) -> dict[str, Any]:  # Any: JSON values
    return {
        "group": group.group_id,
        "type": group.type.value,
        "partition": group.partition,
        "members": group.members,
        "committed_offsets": group.committed_offsets,
        "pending_offsets": group.pending_offsets,
        "verdict": group.verdict.value,
        "lost": {loss.kind.value: loss.count for loss in group.losses},
        "detail": group_detail(group),
    }


def _coordinator_warnings(cluster: Cluster, release: Release) -> Iterator[str]:
    """Say of brokers, as far as their server.properties are here, what keeps them from starting or from agreeing."""
    brokers = [node for node in cluster.nodes if node.node_id in cluster.image.cluster.brokers]
    for node in brokers:
        properties = {} if node.server_properties is None else node.server_properties.as_dict()
        unknown = unknown_protocols(release, properties)
        if unknown:
            yield (
                f"node {node.node_id}: its group.coordinator.rebalance.protocols names {', '.join(unknown)}, "
                f"and Kafka {release.word} does not start with that"
            )
    kinds = {node.node_id: coordinator_of(release, node) or default_coordinator(release) for node in brokers}
    if len(set(kinds.values())) > 1:
        named = ", ".join(f"node {node_id} the {kind}" for node_id, kind in kinds.items())
        yield (
            f"the nodes run different group coordinators in Kafka {release.word} ({named}), and each replica is judged "
            "by its own node's: let all server.properties say the same"
        )


def _transaction_warnings(disk: Disk, cluster: Cluster, release: Release) -> Iterator[str]:
    """Name transactions that are open, where the release does not run them as they were begun."""
    level = cluster.image.features.finalized.get(TRANSACTION_VERSION, 0)
    supported = release.supported_features().get(TRANSACTION_VERSION)
    if level == 0 or (supported is not None and level in supported):
        return
    for replicas in _by_partition(disk, cluster, TRANSACTIONS_TOPIC).values():
        longest = _longest(replicas)
        for transaction in unfinished_transactions(longest):
            yield (
                f"transaction of {transaction.transactional_id} is {transaction.state.name.lower().replace('_', ' ')} "
                f"({longest.name}, offset {transaction.offset}); finish it before transaction.version is lowered"
            )
