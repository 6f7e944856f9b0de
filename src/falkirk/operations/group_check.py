"""What a release could read of a cluster's groups, and what to remove before it runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from falkirk.client.groups.configs import delete_group_configs, group_configs
from falkirk.client.partition_reader import read_partition
from falkirk.client.partitions import describe_topics
from falkirk.client.refusal import Refusal
from falkirk.coordinator.prediction.groups import GroupVerdict, readable_groups
from falkirk.coordinator.records.loader_rules import configured_coordinator, default_coordinator
from falkirk.coordinator.records.log_entry import log_entries
from falkirk.coordinator.records.record_type import GroupType
from falkirk.logdir.cluster import read_cluster
from falkirk.logdir.group_records import judged_partitions
from falkirk.logdir.locate import find_nodes
from falkirk.logdir.locks import hold_locks
from falkirk.metadata.image.configs import GROUP
from falkirk.operations.errors import InvalidInputError, OperationError
from falkirk.operations.foreign_keys import (
    CONSUMER_KEYS,
    ForeignKey,
    foreign_group_configs,
    foreign_keys,
    foreign_keys_of_files,
    has_consumer_groups,
    read_properties,
)
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.storage.partition_directory import GROUPS_TOPIC
from falkirk.storage.posix_disk import PosixDisk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from falkirk.client.admin import AsyncAdmin
    from falkirk.coordinator.prediction.groups import FailingRecord, GroupReadability, GroupsReadability
    from falkirk.coordinator.records.loader_rules import CoordinatorKind
    from falkirk.versions.release import Release

# Keys that only a broker's file has.
_OF_BROKERS: Final = {"broker.id", "node.id", "process.roles"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCheck:
    """What the brokers of `release` could read of the groups, partition by partition.

    `is_tolerant`: the brokers are falkirk's, and read as KIP-915 asks. `configs`: configs of groups to remove;
    `removed`: those that were removed. `keys`: to remove from files of brokers and consumers, which loses nothing.
    """

    release: Release
    is_tolerant: bool
    partitions: tuple[GroupsReadability, ...]
    configs: tuple[ForeignKey, ...]
    keys: tuple[ForeignKey, ...]
    removed: tuple[ForeignKey, ...] = ()

    @property
    def is_lossless(self) -> bool:
        """True if every partition loads, and every group and its configs are read as they are."""
        return not self.failing and not self.lossy and not self.configs

    @property
    def failing(self) -> list[FailingRecord]:
        """The records on which the load of their partition would fail."""
        return [record for answer in self.partitions for record in answer.failing]

    @property
    def groups(self) -> list[GroupReadability]:
        """All groups, by id."""
        return sorted((group for answer in self.partitions for group in answer.groups), key=lambda each: each.group_id)

    @property
    def lossy(self) -> list[GroupReadability]:
        """The groups that are not read as they are, by id."""
        return [group for group in self.groups if group.verdict is not GroupVerdict.READABLE]

    @property
    def skipped(self) -> Counter[int]:
        """How many records the loader skips, by type."""
        found: Counter[int] = Counter()
        for answer in self.partitions:
            found.update(answer.skipped)
        return found


def check_directories(
    release: Release, directories: Sequence[Path], files: Sequence[Path], *, is_tolerant: bool
) -> GroupCheck:
    """Check the directories of a stopped cluster, and `files` of its brokers and consumers.

    Raises LogDirError, CorruptFileError, OSError.
    """
    with hold_locks(nodes := find_nodes(list(directories))):
        cluster = read_cluster(PosixDisk(), nodes)
        partitions = tuple(judged_partitions(PosixDisk(), cluster, release, is_tolerant=is_tolerant))
    configs: dict[str, dict[str, str | None]] = {}
    for resource, name, value in cluster.image.configs:
        if resource.resource_type == GROUP:
            configs.setdefault(resource.resource_name, {})[name] = value
    keys = [
        key
        for node in nodes
        if node.server_properties is not None
        for key in foreign_keys(release, f"server.properties of node {node.node_id}", node.server_properties.as_dict())
    ]
    return GroupCheck(
        release=release,
        is_tolerant=is_tolerant,
        partitions=partitions,
        configs=foreign_group_configs(release, configs),
        keys=(*keys, *foreign_keys_of_files(release, files), *_keys_of_members(release, partitions)),
    )


async def check_cluster(admin: AsyncAdmin, release: Release, files: Sequence[Path], *, is_tolerant: bool) -> GroupCheck:
    """Check a running cluster, and `files` of its brokers and consumers.

    Raises ClientError, OperationError; InvalidInputError if the files disagree on the coordinator; OSError.
    """
    kind = _coordinator(release, files)
    keys = foreign_keys_of_files(release, files)
    partitions = await _judged(admin, release, kind, is_tolerant=is_tolerant)
    return GroupCheck(
        release=release,
        is_tolerant=is_tolerant,
        partitions=partitions,
        configs=foreign_group_configs(release, await group_configs(admin)),
        keys=(*keys, *_keys_of_members(release, partitions)),
    )


async def remove_configs(admin: AsyncAdmin, check: GroupCheck) -> GroupCheck:
    """Remove the configs of groups that the release does not know. Raises ClientError, OperationError if refused."""
    names: dict[str, list[str]] = {}
    for key in check.configs:
        names.setdefault(key.where, []).append(key.name)
    outcomes = await delete_group_configs(admin, names)
    refused = [f"{group_id}: {refusal}" for group_id, refusal in outcomes.items() if refusal is not None]
    if refused:
        raise OperationError("configs of groups were not removed:\n" + "\n".join(refused))
    return replace(check, configs=(), removed=check.configs)


async def _judged(
    admin: AsyncAdmin, release: Release, kind: CoordinatorKind | None, *, is_tolerant: bool
) -> tuple[GroupsReadability, ...]:
    """Predict how the release loads each partition; one partition at a time is in memory."""
    topic = (await describe_topics(admin, [GROUPS_TOPIC]))[GROUPS_TOPIC]
    if isinstance(topic, Refusal):
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return ()
        raise OperationError(f"{GROUPS_TOPIC}: {topic}")
    found = []
    for number in sorted(topic.leaders):
        batches = await read_partition(admin, TopicPartition(GROUPS_TOPIC, number))
        entries = {number: list(log_entries(batches))}
        found.append(readable_groups(release, entries, kind, is_tolerant=is_tolerant))
    return tuple(found)


def _coordinator(release: Release, files: Sequence[Path]) -> CoordinatorKind | None:
    """Return the coordinator that the brokers will run by their files. Raises InvalidInputError if they disagree."""
    brokers = [properties for properties in map(read_properties, files) if _OF_BROKERS & properties.keys()]
    kinds = {configured_coordinator(release, properties) for properties in brokers}
    if len(kinds) > 1:
        raise InvalidInputError(
            f"with these files brokers would run different group coordinators in Kafka {release.word}: "
            "let all say the same"
        )
    return next(iter(kinds), default_coordinator(release))


def _keys_of_members(release: Release, partitions: Sequence[GroupsReadability]) -> Iterator[ForeignKey]:
    """Yield a key for each group whose consumers use a protocol that the release does not have."""
    if has_consumer_groups(release):
        return
    for group in sorted((group for answer in partitions for group in answer.groups), key=lambda each: each.group_id):
        if group.type is GroupType.CONSUMER and group.members:
            yield ForeignKey(
                where=f"consumers of group {group.group_id}",
                name=min(CONSUMER_KEYS),
                value="consumer",
                reason=f"{group.members} members; Kafka {release.word} has no groups of the new protocol",
            )
