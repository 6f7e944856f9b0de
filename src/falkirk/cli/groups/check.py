"""`falkirk groups check`: what a release could read of the groups, and what to remove first."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from falkirk.cli.console.progress import reading
from falkirk.cli.console.terminal import print_text
from falkirk.client.event_loop import run
from falkirk.coordinator.prediction.group_losses import reported_group
from falkirk.coordinator.records.record_type import record_type_name
from falkirk.operations.group_check import check_cluster, check_directories, remove_configs
from falkirk.storage.partition_directory import GROUPS_TOPIC

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from falkirk.cli.groups.connection import GroupConnection
    from falkirk.operations.group_check import GroupCheck
    from falkirk.versions.release import Release


def checked_directories(
    release: Release, directories: Sequence[Path], files: Sequence[Path], *, is_tolerant: bool
) -> CheckView:
    """Check the directories of a stopped cluster."""
    with reading():
        return CheckView(check_directories(release, directories, files, is_tolerant=is_tolerant))


def checked_cluster(
    release: Release, connection: GroupConnection, files: Sequence[Path], *, is_tolerant: bool, delete_configs: bool
) -> CheckView:
    """Check a running cluster, and with `delete_configs` remove configs of groups that the release does not know."""

    async def check() -> GroupCheck:
        async with connection.admin() as admin:
            found = await check_cluster(admin, release, files, is_tolerant=is_tolerant)
            if not delete_configs or not found.configs:
                return found
            count = len(found.configs)
            print_text(f"removing {count} configs of groups that Kafka {release.word} does not know", sys.stderr)
            return await remove_configs(admin, found)

    return CheckView(run(check()))


@dataclass(frozen=True, slots=True)
class CheckView:
    """A `Result`."""

    check: GroupCheck

    def text(self) -> Iterator[str]:
        """Yield a line for each thing that changes, and a summary."""
        for record in self.check.failing:
            of_group = "" if record.group_id is None else f" of group {record.group_id}"
            yield (
                f"{GROUPS_TOPIC}-{record.partition} would not load: offset {record.offset}, "
                f"{record_type_name(record.type)}{of_group}: {record.reason}"
            )
        for group in self.check.lossy:
            yield f"group {group.group_id} ({group.type}, {group.members} members): {reported_group(group).detail}"
        warned = "" if self.check.is_tolerant else ", with a warning for each"
        for type_, count in sorted(self.check.skipped.items()):
            yield f"{count} records of {record_type_name(type_)} are skipped{warned}"
        for key in self.check.removed:
            yield f"removed config of group {key}"
        for key in self.check.configs:
            yield f"config of group {key}"
        for key in self.check.keys:
            yield f"remove first: {key}"
        loading = sum(not answer.failing for answer in self.check.partitions)
        readable = len(self.check.groups) - len(self.check.lossy)
        word = self.check.release.word
        reader = f"falkirk as {word}, tolerant" if self.check.is_tolerant else f"Kafka {word}"
        yield (
            f"{reader}: {loading} of {len(self.check.partitions)} partitions load, "
            f"{readable} of {len(self.check.groups)} groups are readable as they are"
        )

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return all groups and the rest by fields."""
        return {
            "release": self.check.release.name,
            "tolerant": self.check.is_tolerant,
            "readable": self.check.is_lossless,
            "partitions": [
                {
                    "partition": record.partition,
                    "offset": record.offset,
                    "type": record.type,
                    "group": record.group_id,
                    "tombstone": record.is_tombstone,
                    "reason": record.reason,
                }
                for record in self.check.failing
            ],
            "groups": [reported_group(group).as_json() for group in self.check.groups],
            "skipped": {str(type_): count for type_, count in sorted(self.check.skipped.items())},
            "group_configs": self.check.configs,
            "removed_group_configs": self.check.removed,
            "keys": self.check.keys,
        }
