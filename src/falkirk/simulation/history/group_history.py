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


class Generation(NamedTuple):
    """A generation of a group of the classic protocol."""

    group_id: str
    number: int


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
        # The level of a feature that the group leader chose.
        self._levels: dict[Generation, int] = {}
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
        return max(self._levels.values(), default=0)

    def record_level(self, generation: Generation, member: str, *, before: int, level: int) -> None:
        """Record the level at which a member, which ran at another one before, is to run.

        All members of a generation have the same level, and none falls. A group that has lost all its members has lost
        its level, too: a client that is then the first to join knows what its broker does, which may be out of date.
        """
        others = self._levels.setdefault(generation, level)
        if level != others or level < before:
            raise InvariantViolatedError(
                "LevelsOfGroupsNeverFall",
                f"{member} is told level {level} in generation {generation.number} of {generation.group_id}, "
                f"it was at {before}, others at {others}",
            )

    def _is_lossy(self, group_id: str) -> bool:
        """Return whether the log of the group's coordinator may have lost records, as Kafka's would have."""
        for topic_id, name in self._data.topics.items():
            if name == CONSUMER_OFFSETS:
                return PartitionKey(topic_id, abs_hash(group_id) % OFFSETS_PARTITIONS) in self._data.lossy
        return False
