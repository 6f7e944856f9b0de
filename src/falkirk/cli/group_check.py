"""`falkirk groups check`: what a release could read of a cluster's groups, and what is to be removed before it runs."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from falkirk.cli.exit_code import ExitCode
from falkirk.cli.failure import CommandFailedError, WrongUsageError
from falkirk.cli.group_keys import (
    CONSUMER_KEYS,
    ForeignKey,
    foreign_group_configs,
    foreign_keys,
    foreign_keys_of_files,
    has_consumer_groups,
    read_properties,
)
from falkirk.cli.logdir_progress import reading
from falkirk.client.event_loop import run
from falkirk.client.groups.configs import delete_group_configs, group_configs
from falkirk.client.partition_reader import read_partition
from falkirk.client.partitions import describe_topics
from falkirk.client.refusal import Refusal
from falkirk.coordinator.loader_rules import configured_coordinator, default_coordinator
from falkirk.coordinator.log_entry import log_entries
from falkirk.coordinator.prediction.group_losses import group_detail
from falkirk.coordinator.prediction.groups import GroupVerdict, readable_groups
from falkirk.coordinator.record_type import GroupType, record_type_name
from falkirk.logdir.cluster import read_cluster
from falkirk.logdir.group_records import judged_partitions
from falkirk.logdir.locate import find_nodes
from falkirk.logdir.locks import hold_locks
from falkirk.metadata.image.configs import GROUP
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.storage.partition_directory import GROUPS_TOPIC
from falkirk.storage.posix_disk import PosixDisk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from falkirk.cli.group_connection import GroupConnection
    from falkirk.client.admin import AsyncAdmin
    from falkirk.coordinator.loader_rules import CoordinatorKind
    from falkirk.coordinator.prediction.groups import FailingRecord, GroupReadability, GroupsReadability
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCheck:
    """A result for `falkirk.cli.output`. `partitions`: the answer for each; `configs`: configs of groups to remove.

    `is_tolerant`: brokers of ours that read as KIP-915 asks were asked about. `removed`: configs that were removed.
    `keys`: what is to be removed from files of brokers and consumers; nothing is lost by these.
    """

    release: Release
    is_tolerant: bool
    partitions: tuple[GroupsReadability, ...]
    configs: tuple[ForeignKey, ...]
    keys: tuple[ForeignKey, ...]
    removed: tuple[ForeignKey, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """Say whether anything would be lost."""
        is_lossless = not self.failing and not self._lossy and not self.configs
        return ExitCode.DONE if is_lossless else ExitCode.DATA_WOULD_BE_LOST

    @property
    def failing(self) -> list[FailingRecord]:
        """Give the records that would end the load of their partitions."""
        return [record for answer in self.partitions for record in answer.failing]

    @property
    def groups(self) -> list[GroupReadability]:
        """Give all groups by id."""
        return sorted((group for answer in self.partitions for group in answer.groups), key=lambda each: each.group_id)

    @property
    def _lossy(self) -> list[GroupReadability]:
        return [group for group in self.groups if group.verdict is not GroupVerdict.READABLE]

    @property
    def _skipped(self) -> Counter[int]:
        found: Counter[int] = Counter()
        for answer in self.partitions:
            found.update(answer.skipped)
        return found

    def text(self) -> Iterator[str]:
        """Give a line for each thing that is not as it was, and a last one that sums up."""
        for record in self.failing:
            of_group = "" if record.group_id is None else f" of group {record.group_id}"
            yield (
                f"{GROUPS_TOPIC}-{record.partition} would not load: offset {record.offset}, "
                f"{record_type_name(record.type)}{of_group}: {record.reason}"
            )
        for group in self._lossy:
            yield f"group {group.group_id} ({group.type}, {group.members} members): {group_detail(group)}"
        warned = "" if self.is_tolerant else ", with a warning for each"
        for type_, count in sorted(self._skipped.items()):
            yield f"{count} records of {record_type_name(type_)} are skipped{warned}"
        for key in self.removed:
            yield f"removed config of group {key}"
        for key in self.configs:
            yield f"config of group {key}"
        for key in self.keys:
            yield f"remove first: {key}"
        loading = sum(not answer.failing for answer in self.partitions)
        readable = len(self.groups) - len(self._lossy)
        who = f"falkirk as {self.release.word}, tolerant" if self.is_tolerant else f"Kafka {self.release.word}"
        yield (
            f"{who}: {loading} of {len(self.partitions)} partitions load, "
            f"{readable} of {len(self.groups)} groups are readable as they are"
        )

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Give all groups and all else by fields."""
        return {
            "release": self.release.name,
            "tolerant": self.is_tolerant,
            "readable": self.exit_code is ExitCode.DONE,
            "partitions": [
                {
                    "partition": record.partition,
                    "offset": record.offset,
                    "type": record.type,
                    "group": record.group_id,
                    "tombstone": record.is_tombstone,
                    "reason": record.reason,
                }
                for record in self.failing
            ],
            "groups": [
                {
                    "group": group.group_id,
                    "type": group.type.value,
                    "partition": group.partition,
                    "members": group.members,
                    "committed_offsets": group.committed_offsets,
                    "verdict": group.verdict.value,
                    "lost": {loss.kind.value: loss.count for loss in group.losses},
                    "detail": group_detail(group),
                }
                for group in self.groups
            ],
            "skipped": {str(type_): count for type_, count in sorted(self._skipped.items())},
            "group_configs": [key.document() for key in self.configs],
            "removed_group_configs": [key.document() for key in self.removed],
            "keys": [key.document() for key in self.keys],
        }


_OF_BROKERS: Final = {"broker.id", "node.id", "process.roles"}


def check_directories(
    release: Release, directories: Sequence[Path], files: Sequence[Path], *, is_tolerant: bool
) -> GroupCheck:
    """Look at the directories of a stopped cluster. Raises what reading them raises."""
    with hold_locks(nodes := find_nodes(list(directories))), reading():
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


def check_cluster(
    release: Release,
    connection: GroupConnection,
    files: Sequence[Path],
    *,
    is_tolerant: bool,
    delete_configs: bool,
) -> GroupCheck:
    """Look at a running cluster; with `delete_configs` remove the configs of groups that are in the way.

    Raises ClientError, CommandFailedError for a config that is not removed, OSError for a file.
    """
    return run(_check_cluster(release, connection, files, is_tolerant=is_tolerant, delete_configs=delete_configs))


async def _check_cluster(
    release: Release,
    connection: GroupConnection,
    files: Sequence[Path],
    *,
    is_tolerant: bool,
    delete_configs: bool,
) -> GroupCheck:
    kind = _coordinator(release, files)
    keys = foreign_keys_of_files(release, files)
    async with connection.admin() as admin:
        partitions = await _judged(admin, release, kind, is_tolerant=is_tolerant)
        configs = foreign_group_configs(release, await group_configs(admin))
        check = GroupCheck(
            release=release,
            is_tolerant=is_tolerant,
            partitions=partitions,
            configs=configs,
            keys=(*keys, *_keys_of_members(release, partitions)),
        )
        if not delete_configs or not configs:
            return check
        print(f"removing {len(configs)} configs of groups that Kafka {release.word} does not know", file=sys.stderr)
        names: dict[str, list[str]] = {}
        for key in configs:
            names.setdefault(key.where, []).append(key.name)
        outcomes = await delete_group_configs(admin, names)
    refused = [f"{group_id}: {refusal}" for group_id, refusal in outcomes.items() if refusal is not None]
    if refused:
        raise CommandFailedError("configs of groups were not removed:\n" + "\n".join(refused))
    return replace(check, configs=(), removed=configs)


async def _judged(
    admin: AsyncAdmin, release: Release, kind: CoordinatorKind | None, *, is_tolerant: bool
) -> tuple[GroupsReadability, ...]:
    """Ask of each partition what the release would make of it; one at a time, so that one alone is in memory."""
    topic = (await describe_topics(admin, [GROUPS_TOPIC]))[GROUPS_TOPIC]
    if isinstance(topic, Refusal):
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return ()
        raise CommandFailedError(f"{GROUPS_TOPIC}: {topic}")
    found = []
    for number in sorted(topic.leaders):
        batches = await read_partition(admin, TopicPartition(GROUPS_TOPIC, number))
        entries = {number: list(log_entries(batches))}
        found.append(readable_groups(release, entries, kind, is_tolerant=is_tolerant))
    return tuple(found)


def _coordinator(release: Release, files: Sequence[Path]) -> CoordinatorKind | None:
    """Say which coordinator the brokers will run, as far as the files say. Raises WrongUsageError if they disagree."""
    brokers = [properties for properties in map(read_properties, files) if _OF_BROKERS & properties.keys()]
    kinds = {configured_coordinator(release, properties) for properties in brokers}
    if len(kinds) > 1:
        raise WrongUsageError(
            f"with these files brokers would run different group coordinators in Kafka {release.word}: "
            "let all say the same"
        )
    return next(iter(kinds), default_coordinator(release))


def _keys_of_members(release: Release, partitions: Sequence[GroupsReadability]) -> Iterator[ForeignKey]:
    """Name the groups whose consumers are configured for a protocol that the release does not have."""
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
