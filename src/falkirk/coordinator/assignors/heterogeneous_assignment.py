"""Balanced assignment for members with different subscriptions.

Unowned partitions go to the topic's subscribers with the fewest partitions. Then, topic by topic and round by round,
the members with the most give partitions to those with the fewest, until the subscribers of each topic differ by at
most one, or the rounds run out. Subscribers of one topic may own more than those of another: chains of moves through a
third topic are not searched. Source: Kafka's UniformHeterogeneousAssignmentBuilder, with the same result.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.assignors.load_levels import LeastLoaded, MostLoaded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.coordinator.assignors.assignor import Assignment, GroupSpec

# Each round about halves the imbalance; where a topic's readers all read the same topics, one is enough.
_ROUNDS_MAX: Final = 16
_NOBODY: Final = -1
# Two signed numbers of 64 bits: Kafka compares topic ids so.
_UUID: Final = Struct(">qq")


class HeterogeneousAssignment:
    """The assignment of one group; call `build` once. Members are numbered in the order of the spec.

    Raises UnknownTopicError.
    """

    def __init__(self, group: GroupSpec) -> None:
        self._group = group
        self._member_ids = list(group.members)
        self._readers: dict[bytes, list[int]] = {}
        for number, member in enumerate(group.members.values()):
            for topic_id in member.subscribed_topic_ids:
                self._readers.setdefault(topic_id, []).append(number)
        # The owner of each partition; how many each member owns; the members whose partitions changed.
        self._owners = {topic_id: [_NOBODY] * group.partitions_of(topic_id) for topic_id in self._readers}
        self._loads = [0] * len(self._member_ids)
        self._changed: set[int] = set()

    def build(self) -> Mapping[str, Assignment]:
        """Return the new assignment by member id."""
        kept = [self._group.kept_by(member) for member in self._group.members.values()]
        for number, assignment in enumerate(kept):
            for topic_id, partitions in assignment.items():
                self._loads[number] += len(partitions)
                for partition in partitions:
                    self._owners[topic_id][partition] = number
        self._assign_ownerless()
        self._balance()
        return self._assignments(kept)

    def _sorted(self, topic_ids: Iterable[bytes]) -> list[bytes]:
        """Order topics with many partitions per subscriber first: they leave the least choice."""

        def rank(topic_id: bytes) -> tuple[float, int, tuple[int, ...]]:
            reader_count = len(self._readers[topic_id])
            return -len(self._owners[topic_id]) / reader_count, reader_count, _UUID.unpack(topic_id)

        return sorted(topic_ids, key=rank)

    def _assign_ownerless(self) -> None:
        ownerless = {
            topic_id: [partition for partition, owner in enumerate(owners) if owner == _NOBODY]
            for topic_id, owners in self._owners.items()
            if _NOBODY in owners
        }
        for topic_id in self._sorted(ownerless):
            least = LeastLoaded(self._by_load(topic_id), self._loads)
            for partition in ownerless[topic_id]:
                self._assign(topic_id, partition, least.next_member())

    def _balance(self) -> None:
        topic_ids = self._sorted(topic_id for topic_id, readers in self._readers.items() if len(readers) > 1)
        # A round that comes back to the topic where something was last moved, and moved nothing since, is the end.
        last_moved: int | None = None
        for _ in range(_ROUNDS_MAX):
            for at, topic_id in enumerate(topic_ids):
                if at == last_moved:
                    return
                is_moved = self._balance_topic(topic_id)
                if is_moved or last_moved is None:
                    last_moved = at

    def _balance_topic(self, topic_id: bytes) -> bool:
        """Move partitions from the members with the most to those with the fewest; return whether any moved."""
        readers = self._by_load(topic_id)
        if self._loads[readers[-1]] - self._loads[readers[0]] <= 1:
            return False
        owned: dict[int, list[int]] = {}
        for partition, owner in enumerate(self._owners[topic_id]):
            owned.setdefault(owner, []).append(partition)
        least = LeastLoaded(readers, self._loads)
        most = MostLoaded(readers, self._loads)
        is_moved = False
        while True:
            giver = most.next_member()
            while giver is not None and not owned.get(giver):
                most.exclude()
                giver = most.next_member()
            if giver is None:
                return is_moved
            taker = least.next_member()
            if most.level - least.level <= 1:
                return is_moved
            self._assign(topic_id, owned[giver].pop(), taker)
            is_moved = True

    def _by_load(self, topic_id: bytes) -> list[int]:
        return sorted(self._readers[topic_id], key=self._loads.__getitem__)

    def _assign(self, topic_id: bytes, partition: int, taker: int) -> None:
        giver = self._owners[topic_id][partition]
        if giver != _NOBODY:
            self._loads[giver] -= 1
            self._changed.add(giver)
        self._owners[topic_id][partition] = taker
        self._loads[taker] += 1
        self._changed.add(taker)

    def _assignments(self, kept: list[Assignment]) -> Mapping[str, Assignment]:
        sets: dict[int, dict[bytes, set[int]]] = {number: {} for number in self._changed}
        for topic_id, owners in self._owners.items():
            for partition, owner in enumerate(owners):
                if owner in sets:
                    sets[owner].setdefault(topic_id, set()).add(partition)
        for number, topics in sets.items():
            kept[number] = {topic_id: frozenset(partitions) for topic_id, partitions in topics.items()}
        return dict(zip(self._member_ids, kept, strict=True))
