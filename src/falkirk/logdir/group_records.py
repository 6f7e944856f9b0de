"""Reads the coordinator topics, and judges their records for the coordinators of a release."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from falkirk.coordinator.prediction.group_losses import group_conversion, group_losses, reported_group
from falkirk.coordinator.prediction.groups import readable_groups
from falkirk.coordinator.prediction.transactions import transaction_survey
from falkirk.coordinator.records.loader_rules import configured_coordinator, default_coordinator, unknown_protocols
from falkirk.coordinator.records.log_entry import log_entries
from falkirk.coordinator.records.record_type import GroupType
from falkirk.ledger.findings import LedgerWarning, WarningKind
from falkirk.logdir.placement import partitions_of
from falkirk.storage.errors import errors_name
from falkirk.storage.partition_directory import GROUPS_TOPIC, TRANSACTIONS_TOPIC
from falkirk.storage.partition_log import read_segments
from falkirk.versions.features import TRANSACTION_VERSION

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping
    from pathlib import Path

    from falkirk.coordinator.prediction.groups import GroupReadability, GroupsReadability
    from falkirk.coordinator.prediction.transactions import TransactionSurvey
    from falkirk.coordinator.records.loader_rules import CoordinatorKind
    from falkirk.coordinator.records.log_entry import LogEntry
    from falkirk.ledger.findings import Conversion
    from falkirk.ledger.reported_group import ReportedGroup
    from falkirk.ledger.reported_loss import ReportedLoss
    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.locate import LogDir, NodeDirs
    from falkirk.storage.disk import Disk
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One replica of a coordinator partition; each iteration reads its entries again."""

    disk: Disk
    node: NodeDirs
    log_dir: LogDir
    name: str
    partition: int

    @property
    def path(self) -> Path:
        """The partition's directory."""
        return self.log_dir.path / self.name

    def __iter__(self) -> Iterator[LogEntry]:
        """Yield the entries in log order. Raises CorruptFileError."""
        for reader in read_segments(self.disk, str(self.path)):
            with errors_name(reader.file):
                yield from log_entries(reader)

    def end_offset(self) -> int:
        """Return the end offset of the last batch, exclusive."""
        end = 0
        for reader in read_segments(self.disk, str(self.path), check_crc=False):
            for batch in reader:
                end = batch.end_offset
        return end


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPartition:
    """What a release's coordinator makes of the longest replica of a partition, which stands for all of them."""

    replica: Replica
    answer: GroupsReadability


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """Groups of the cluster, and what a release's coordinators make of them.

    `removed`: log directory -> name of a partition's directory -> offsets of removed records, lost ones and tombstones.
    """

    partitions: tuple[JudgedPartition, ...] = ()
    removed: Mapping[Path, Mapping[str, frozenset[int]]] = field(default_factory=dict)
    warnings: tuple[LedgerWarning, ...] = ()

    @property
    def groups(self) -> list[GroupReadability]:
        """All groups, by id."""
        found = (group for judged in self.partitions for group in judged.answer.groups)
        return sorted(found, key=lambda group: group.group_id)

    def losses(self, deleted: Container[str] = ()) -> list[ReportedLoss]:
        """Return removed records that would fail the load of their partition, share groups, and unserved offsets.

        `deleted`: groups whose records get tombstones.
        """
        return [
            loss
            for judged in self.partitions
            for loss in group_losses(
                judged.answer, name=judged.replica.name, source=str(judged.replica.path), deleted=deleted
            )
        ]

    @property
    def conversions(self) -> list[Conversion]:
        """The tombstones that are removed so that offsets are served."""
        found = (
            group_conversion(group, judged.answer.release, name=judged.replica.name)
            for judged in self.partitions
            for group in judged.answer.groups
        )
        return [conversion for conversion in found if conversion is not None]

    def removed_offsets(self, log_dir: Path) -> Mapping[str, frozenset[int]]:
        """Return the offsets of removed records, by the partition's directory in this log directory."""
        return self.removed.get(log_dir, {})

    def counts(self) -> dict[str, int]:
        """Count groups by the type that Kafka's tools show: offsets without a membership are a classic group."""
        found = Counter(_listed_type(group) for group in self.groups)
        return {kind.value: found[kind] for kind in GroupType if kind is not GroupType.SIMPLE}

    def reported(self) -> tuple[ReportedGroup, ...]:
        """Return the groups as front ends report them, by id."""
        return tuple(reported_group(group) for group in self.groups)


def read_groups(disk: Disk, cluster: Cluster, release: Release) -> GroupPlan:
    """Read all coordinator partitions of all nodes and judge each replica for the release. Raises CorruptFileError."""
    partitions: list[JudgedPartition] = []
    removed: dict[Path, dict[str, frozenset[int]]] = {}
    for replicas in group_replicas(disk, cluster).values():
        longest = _longest(replicas)
        for replica in replicas:
            answer = _judged(replica, release)
            offsets = _offsets_to_remove(answer)
            if offsets:
                removed.setdefault(replica.log_dir.path, {})[replica.name] = offsets
            if replica is longest:
                partitions.append(JudgedPartition(replica=replica, answer=answer))
    return GroupPlan(
        partitions=tuple(partitions),
        removed=removed,
        warnings=(*_coordinator_warnings(cluster, release), *_transaction_warnings(disk, cluster, release)),
    )


def judged_partitions(
    disk: Disk, cluster: Cluster, release: Release, *, is_tolerant: bool = False
) -> Iterator[GroupsReadability]:
    """Yield what the release makes of each coordinator partition, by its longest replica.

    `is_tolerant`: for a broker of ours that reads as KIP-915 asks. Raises CorruptFileError.
    """
    for replicas in group_replicas(disk, cluster).values():
        yield _judged(_longest(replicas), release, is_tolerant=is_tolerant)


def group_replicas(disk: Disk, cluster: Cluster) -> dict[int, list[Replica]]:
    """Return the replicas of each partition of `__consumer_offsets` that are here."""
    return _by_partition(disk, cluster, GROUPS_TOPIC)


def transaction_surveys(disk: Disk, cluster: Cluster) -> Iterator[tuple[Replica, TransactionSurvey]]:
    """Yield what each partition of `__transaction_state` has, and its longest replica. Raises CorruptFileError."""
    for replicas in _by_partition(disk, cluster, TRANSACTIONS_TOPIC).values():
        longest = _longest(replicas)
        yield longest, transaction_survey(longest)


def coordinator_of(release: Release, node: NodeDirs) -> CoordinatorKind | None:
    """Return the coordinator that the node's server.properties choose; None: the release's default."""
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


def _offsets_to_remove(answer: GroupsReadability) -> frozenset[int]:
    """Return the offsets of records to remove: those that fail, and tombstones that would hide a group's offsets."""
    hiding = {group.hidden_by for group in answer.groups if group.hidden_by is not None}
    return frozenset({record.offset for record in answer.failing} | hiding)


def _listed_type(group: GroupReadability) -> GroupType:
    return GroupType.CLASSIC if group.type is GroupType.SIMPLE else group.type


def _coordinator_warnings(cluster: Cluster, release: Release) -> Iterator[LedgerWarning]:
    """Yield configurations with which brokers do not start, or disagree, as far as their server.properties are here."""
    brokers = [node for node in cluster.nodes if node.node_id in cluster.image.cluster.brokers]
    for node in brokers:
        properties = {} if node.server_properties is None else node.server_properties.as_dict()
        unknown = unknown_protocols(release, properties)
        if unknown:
            yield LedgerWarning(
                kind=WarningKind.UNKNOWN_REBALANCE_PROTOCOLS,
                fields={"node_id": node.node_id, "protocols": list(unknown)},
                text=f"node {node.node_id}: its group.coordinator.rebalance.protocols names {', '.join(unknown)}, "
                f"and Kafka {release.word} does not start with that",
            )
    kinds = {node.node_id: coordinator_of(release, node) or default_coordinator(release) for node in brokers}
    if len(set(kinds.values())) > 1:
        named = ", ".join(f"node {node_id} the {kind}" for node_id, kind in kinds.items())
        yield LedgerWarning(
            kind=WarningKind.DIFFERENT_COORDINATORS,
            fields={"coordinators": {str(node_id): str(kind) for node_id, kind in kinds.items()}},
            text=f"the nodes run different group coordinators in Kafka {release.word} ({named}), and each replica is "
            "judged by its own node's: let all server.properties say the same",
        )


def _transaction_warnings(disk: Disk, cluster: Cluster, release: Release) -> Iterator[LedgerWarning]:
    """Yield open transactions, if the release does not run them as they were begun."""
    level = cluster.image.features.finalized.get(TRANSACTION_VERSION, 0)
    supported = release.supported_features().get(TRANSACTION_VERSION)
    if level == 0 or (supported is not None and level in supported):
        return
    found = transaction_surveys(disk, cluster)
    for replica, transaction in ((replica, each) for replica, survey in found for each in survey.unfinished()):
        state = transaction.reported(replica.partition).state
        yield LedgerWarning(
            kind=WarningKind.OPEN_TRANSACTION,
            fields={
                "transactional_id": transaction.transactional_id,
                "state": state,
                "partition": replica.partition,
                "offset": transaction.offset,
            },
            text=f"transaction of {transaction.transactional_id} is {state} "
            f"({replica.name}, offset {transaction.offset}); finish it before transaction.version is lowered",
        )
