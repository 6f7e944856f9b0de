"""The guarantees to group members: committed offsets survive, and no two members own the same partition.

Committed offsets only rise, so that an offset identifies its commit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from falkirk.node.broker.coordinator_runtime.coordinator_runtime import abs_hash
from falkirk.simulation.history.data_history import PartitionKey
from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.history.linearizability import Operation, is_linearizable
from falkirk.simulation.plans.group_plan import OFFSETS_PARTITIONS
from falkirk.versions.release import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.simulation.history.data_history import DataHistory


class GroupPartition(NamedTuple):
    """A partition for which a group commits offsets."""

    group_id: str
    partition: "TopicPartition"


class Generation(NamedTuple):
    """A generation of a group of the classic protocol."""

    group_id: str
    number: int


class OffsetAction(NamedTuple):
    """A commit of an offset, or a fetch that returned it."""

    offset: int
    is_commit: bool


@dataclass(slots=True)
class Commits:
    """`acked`: the last offset that was acknowledged; `unknown`: offsets whose commits had no answer.

    `operations`: all commits and fetches, those that were refused left out; of a commit by offset while it is unknown.
    """

    acked: int = -1
    unknown: dict[int, int] = field(default_factory=dict)
    operations: list[Operation[OffsetAction]] = field(default_factory=list)

    def are_linearizable(self) -> bool:
        """Return whether commits and fetches are those of one offset that is written and read."""
        # A commit without an answer that nobody has read of may never have happened.
        read = {each.action.offset for each in self.operations if not each.action.is_commit}
        unknown = [
            Operation(OffsetAction(offset, is_commit=True), called, None)
            for offset, called in self.unknown.items()
            if offset in read
        ]
        return is_linearizable([*self.operations, *unknown], _apply, -1)


class OffsetFetch(NamedTuple):
    """A fetch that was sent: the lowest offset that it may return, and when that was."""

    at_least: int
    called: int


@dataclass(frozen=True, slots=True)
class Holding:
    """The partitions that a member owns, and until when (ms): its session ends then, unless it sends a heartbeat."""

    partitions: "AbstractSet[TopicPartition]"
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
        # Counts the points in time at which clients send requests and get answers.
        self._time = 0
        # The level of a feature that the group leader chose.
        self._levels: dict[Generation, int] = {}
        self._holdings: dict[str, dict[str, Holding]] = {}

    def next_offset(self, key: GroupPartition) -> int:
        """Return the offset to commit next."""
        self._next += 1
        self.commits.setdefault(key, Commits()).unknown[self._next] = self._tick()
        return self._next

    def record_acked(self, key: GroupPartition, offset: int) -> None:
        """Record an acknowledged commit."""
        commits = self.commits[key]
        called = commits.unknown.pop(offset)
        commits.operations.append(Operation(OffsetAction(offset, is_commit=True), called, self._tick()))
        commits.acked = max(commits.acked, offset)
        self.acked += 1

    def record_refused(self, key: GroupPartition, offset: int) -> None:
        """Record a commit that was refused."""
        self.commits[key].unknown.pop(offset, None)

    def fetch_begins(self, key: GroupPartition) -> OffsetFetch:
        """Record that a fetch is sent now."""
        commits = self.commits.get(key)
        return OffsetFetch(-1 if commits is None else commits.acked, self._tick())

    def check_served(self, key: GroupPartition, offset: int, fetch: OffsetFetch, reader: str) -> None:
        """Check a fetched offset, -1 if there is none. A late commit may overwrite a later one, as in Kafka."""
        commits = self.commits.setdefault(key, Commits())
        commits.operations.append(Operation(OffsetAction(offset, is_commit=False), fetch.called, self._tick()))
        if offset >= fetch.at_least or offset in commits.unknown or self._is_lossy(key.group_id):
            return
        raise InvariantViolatedError(
            "CommittedOffsetsStay",
            f"{reader} is told offset {offset} of {key.partition} in {key.group_id}, {fetch.at_least} was acknowledged",
        )

    def check_linearizable(self) -> None:
        """Check the commits and fetches of the whole run; see `Commits.are_linearizable`."""
        for key, commits in self.commits.items():
            if not self._is_lossy(key.group_id) and not commits.are_linearizable():
                raise InvariantViolatedError(
                    "CommitsAreLinearizable",
                    f"no order explains the commits and fetches of {key.partition} in {key.group_id}: "
                    + "; ".join(_shown(each) for each in commits.operations),
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

    def _tick(self) -> int:
        self._time += 1
        return self._time

    def _is_lossy(self, group_id: str) -> bool:
        """Return whether the log of the group's coordinator may have lost records, as Kafka's would have."""
        for topic_id, name in self._data.topics.items():
            if name == CONSUMER_OFFSETS:
                return PartitionKey(topic_id, abs_hash(group_id) % OFFSETS_PARTITIONS) in self._data.lossy
        return False


def _apply(committed: int, action: OffsetAction) -> int | None:
    """Return the committed offset after an action; None if a fetch would have returned another one."""
    return action.offset if action.is_commit or action.offset == committed else None


def _shown(operation: Operation[OffsetAction]) -> str:
    word = "committed" if operation.action.is_commit else "fetched"
    return f"{word} {operation.action.offset} from {operation.called} to {operation.returned}"
