"""What members of groups were promised: offsets that are committed stay so, and nobody else has their partitions.

Offsets are numbers that only rise, so a commit tells when it was made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from falkirk.node.group_coordinator.group_coordinator import abs_hash
from falkirk.simulation.checkers.checker import InvariantViolatedError
from falkirk.simulation.workload.data_history import PartitionKey
from falkirk.simulation.workload.group_plan import OFFSETS_PARTITIONS
from falkirk.versions.release import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.simulation.workload.data_history import DataHistory


class GroupPartition(NamedTuple):
    """Where offsets are committed."""

    group_id: str
    partition: TopicPartition


@dataclass(slots=True)
class Commits:
    """`acked`: the last offset that was acknowledged; `unknown`: asked for, and nobody knows what became of it."""

    acked: int = -1
    unknown: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Holding:
    """What a member reads, and until when (ms) it may be sure of it: its session ends then, unless it is heard."""

    partitions: AbstractSet[TopicPartition]
    sure_until_ms: int
    epoch: int
    protocol: str


class GroupHistory:
    """All groups of a run. Raises InvariantViolatedError where a promise is broken."""

    def __init__(self, data: DataHistory) -> None:
        self.commits: dict[GroupPartition, Commits] = {}
        self.acked = 0
        # How often members of both protocols read side by side.
        self.mixed = 0
        self._data = data
        self._next = 0
        # By group and generation: the level of a feature that its leader decided on.
        self._levels: dict[str, dict[int, int]] = {}
        self._holdings: dict[str, dict[str, Holding]] = {}

    def next_offset(self, key: GroupPartition) -> int:
        """Give the offset to commit now."""
        self._next += 1
        self.commits.setdefault(key, Commits()).unknown.add(self._next)
        return self._next

    def take_acked(self, key: GroupPartition, offset: int) -> None:
        """Take note that a commit was acknowledged."""
        commits = self.commits[key]
        commits.unknown.discard(offset)
        commits.acked = max(commits.acked, offset)
        self.acked += 1

    def take_refused(self, key: GroupPartition, offset: int) -> None:
        """Take note that a commit was not done."""
        self.commits[key].unknown.discard(offset)

    def acked_by_now(self, key: GroupPartition) -> int:
        """Give what a fetch that is begun now has to find at least."""
        commits = self.commits.get(key)
        return -1 if commits is None else commits.acked

    def take_served(self, key: GroupPartition, offset: int, at_least: int, reader: str) -> None:
        """Look at an offset that was fetched; -1: there is none. A late commit may undo a later one, as in Kafka."""
        commits = self.commits.get(key, Commits())
        if offset >= at_least or offset in commits.unknown or self._is_lossy(key.group_id):
            return
        raise InvariantViolatedError(
            "CommittedOffsetsStay",
            f"{reader} is told offset {offset} of {key.partition} in {key.group_id}, {at_least} was acknowledged",
        )

    def take_holding(self, group_id: str, member: str, holding: Holding, now_ms: int) -> None:
        """Take note of what a member reads now, and look whether another one reads it, too."""
        holdings = self._holdings.setdefault(group_id, {})
        holdings[member] = holding
        if now_ms > holding.sure_until_ms:
            return
        for other, theirs in holdings.items():
            if other == member or now_ms > theirs.sure_until_ms:
                continue
            self.mixed += bool(theirs.partitions and holding.partitions and theirs.protocol != holding.protocol)
            both = theirs.partitions & holding.partitions
            if both:
                raise InvariantViolatedError(
                    "OneOwner",
                    f"{min(both)} of {group_id} is read by {member} at epoch {holding.epoch} "
                    f"and by {other} at epoch {theirs.epoch}",
                )

    @property
    def highest_level(self) -> int:
        """Give the highest level of a feature that a group went up to."""
        return max((level for levels in self._levels.values() for level in levels.values()), default=0)

    def take_level(self, group_id: str, generation: int, level: int, member: str) -> None:
        """Take note of the level that a member was told to run at: no generation is below one before it."""
        levels = self._levels.setdefault(group_id, {})
        decided = levels.setdefault(generation, level)
        highest = max((each for number, each in levels.items() if number <= generation), default=level)
        if level != decided or level < highest:
            raise InvariantViolatedError(
                "LevelsOfGroupsNeverFall",
                f"{member} is told level {level} in generation {generation} of {group_id}, others were at {highest}",
            )

    def _is_lossy(self, group_id: str) -> bool:
        """Say whether the log of the group's coordinator may have lost records, as a Kafka's would have."""
        for topic_id, name in self._data.topics.items():
            if name == CONSUMER_OFFSETS:
                return PartitionKey(topic_id, abs_hash(group_id) % OFFSETS_PARTITIONS) in self._data.lossy
        return False
