"""The guarantees to group members: committed offsets survive, and no two members own the same partition.

Committed offsets only rise, so that an offset identifies its commit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from falkirk.node.broker.group_coordinator.group_coordinator import abs_hash
from falkirk.simulation.history.data_history import PartitionKey
from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.plans.group_plan import OFFSETS_PARTITIONS
from falkirk.versions.release import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.simulation.history.data_history import DataHistory


class GroupPartition(NamedTuple):
    """A partition for which a group commits offsets."""

    group_id: str
    partition: TopicPartition


@dataclass(slots=True)
class Commits:
    """`acked`: the last offset that was acknowledged; `unknown`: offsets whose commits had no answer."""

    acked: int = -1
    unknown: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Holding:
    """The partitions that a member owns, and until when (ms): its session ends then, unless it sends a heartbeat."""

    partitions: AbstractSet[TopicPartition]
    sure_until_ms: int
    epoch: int
    protocol: str


class GroupHistory:
    """All groups of a run. Raises InvariantViolatedError where a guarantee is violated."""

    def __init__(self, data: DataHistory) -> None:
        self.commits: dict[GroupPartition, Commits] = {}
        self.acked = 0
        # How often members of both protocols were in a group together.
        self.mixed = 0
        self._data = data
        self._next = 0
        # By group and generation: the level of a feature that the group leader chose.
        self._levels: dict[str, dict[int, int]] = {}
        self._holdings: dict[str, dict[str, Holding]] = {}

    def next_offset(self, key: GroupPartition) -> int:
        """Return the offset to commit next."""
        self._next += 1
        self.commits.setdefault(key, Commits()).unknown.add(self._next)
        return self._next

    def record_acked(self, key: GroupPartition, offset: int) -> None:
        """Record an acknowledged commit."""
        commits = self.commits[key]
        commits.unknown.discard(offset)
        commits.acked = max(commits.acked, offset)
        self.acked += 1

    def record_refused(self, key: GroupPartition, offset: int) -> None:
        """Record a commit that was refused."""
        self.commits[key].unknown.discard(offset)

    def acked_by_now(self, key: GroupPartition) -> int:
        """Return the lowest offset that a fetch sent now may return."""
        commits = self.commits.get(key)
        return -1 if commits is None else commits.acked

    def check_served(self, key: GroupPartition, offset: int, at_least: int, reader: str) -> None:
        """Check a fetched offset, -1 if there is none. A late commit may overwrite a later one, as in Kafka."""
        commits = self.commits.get(key, Commits())
        if offset >= at_least or offset in commits.unknown or self._is_lossy(key.group_id):
            return
        raise InvariantViolatedError(
            "CommittedOffsetsStay",
            f"{reader} is told offset {offset} of {key.partition} in {key.group_id}, {at_least} was acknowledged",
        )

    def record_holding(self, group_id: str, member: str, holding: Holding, now_ms: int) -> None:
        """Record which partitions a member owns, and check that no other member owns one of them."""
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
        """Return the highest level of a feature that any group reached."""
        return max((level for levels in self._levels.values() for level in levels.values()), default=0)

    def record_level(self, group_id: str, generation: int, level: int, member: str) -> None:
        """Record the level at which a member runs; a generation's level is never below that of an earlier one."""
        levels = self._levels.setdefault(group_id, {})
        decided = levels.setdefault(generation, level)
        highest = max((each for number, each in levels.items() if number <= generation), default=level)
        if level != decided or level < highest:
            raise InvariantViolatedError(
                "LevelsOfGroupsNeverFall",
                f"{member} is told level {level} in generation {generation} of {group_id}, others were at {highest}",
            )

    def _is_lossy(self, group_id: str) -> bool:
        """Return whether the log of the group's coordinator may have lost records, as Kafka's would have."""
        for topic_id, name in self._data.topics.items():
            if name == CONSUMER_OFFSETS:
                return PartitionKey(topic_id, abs_hash(group_id) % OFFSETS_PARTITIONS) in self._data.lossy
        return False
