"""The `range` assignor: each member gets a contiguous range of partitions of every topic it subscribes to.

Topics with the same number of partitions to which all members subscribe are co-partitioned: the owner of partition 3 of
one owns partition 3 of all. Source: KIP-848; Kafka's server-side RangeAssignor, with the same result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.coordinator.assignors.assignor import Assignment, GroupSpec


class RangeAssignor:
    """Orders static members first, by instance id: they keep their partitions under a new member id."""

    name: Final = "range"

    def assign(self, group: GroupSpec) -> Mapping[str, Assignment]:
        """Assign as Assignor.assign specifies."""
        readers: dict[bytes, list[str]] = {}
        for member_id in _sorted_members(group):
            for topic_id in group.members[member_id].subscribed_topic_ids:
                readers.setdefault(topic_id, []).append(member_id)
        assignments: dict[str, dict[bytes, frozenset[int]]] = {member_id: {} for member_id in group.members}
        for topic_id, member_ids in readers.items():
            runs = _runs(group.partitions_of(topic_id), len(member_ids))
            for member_id, run in zip(member_ids, runs, strict=False):
                assignments[member_id][topic_id] = run
        return assignments


def _sorted_members(group: GroupSpec) -> list[str]:
    def rank(member_id: str) -> tuple[bool, str]:
        instance_id = group.members[member_id].instance_id
        return (True, member_id) if instance_id is None else (False, instance_id)

    return sorted(group.members, key=rank)


def _runs(partition_count: int, reader_count: int) -> Iterator[frozenset[int]]:
    """Yield one range for each subscriber while partitions last; the first ones may be longer by one."""
    quota, longer_count = divmod(partition_count, reader_count)
    start = number = 0
    while start < partition_count:
        end = start + quota + (number < longer_count)
        yield frozenset(range(start, end))
        start = end
        number += 1
