"""Equal shares for members that all subscribe to the same topics.

Source: Kafka's UniformHomogeneousAssignmentBuilder of 4.1 and later, which leaves the larger shares with members that
have them already, as far as possible (before, the first members got them and partitions moved for nothing).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.coordinator.assignors.assignor import Assignment, GroupSpec


class HomogeneousAssignment:
    """The assignment of one group with at least one member; call `build` once. Raises UnknownTopicError."""

    def __init__(self, group: GroupSpec) -> None:
        self._group = group
        topic_ids = next(iter(group.members.values())).subscribed_topic_ids
        self._counts = {topic_id: group.partitions_of(topic_id) for topic_id in sorted(topic_ids)}
        self._share, self._larger_shares = divmod(sum(self._counts.values()), len(group.members))
        self._kept = {member_id: group.kept_by(member) for member_id, member in group.members.items()}
        self._unassigned = self._ownerless()
        # How many partitions members lack.
        self._lacking: dict[str, int] = {}

    def build(self) -> Mapping[str, Assignment]:
        """Return the new assignment by member id."""
        members_left = len(self._group.members)
        assignments: dict[str, Assignment] = {}
        for member_id in self._group.members:
            assignments[member_id] = self._trim(member_id, members_left)
            members_left -= 1
        start = 0
        for member_id, lacking in self._lacking.items():
            assignments[member_id] = _with(assignments[member_id], self._unassigned[start : start + lacking])
            start += lacking
        assert start == len(self._unassigned), "shares that do not add up"
        return assignments

    def _ownerless(self) -> list[tuple[bytes, int]]:
        owned: dict[bytes, set[int]] = {topic_id: set() for topic_id in self._counts}
        for assignment in self._kept.values():
            for topic_id, partitions in assignment.items():
                owned[topic_id] |= partitions
        return [
            (topic_id, partition)
            for topic_id, count in self._counts.items()
            for partition in range(count)
            if partition not in owned[topic_id]
        ]

    def _trim(self, member_id: str, members_left: int) -> Assignment:
        """Remove what exceeds a member's share, or record how much it lacks. `members_left` includes this member."""
        is_larger = self._larger_shares > 0
        room = self._share + is_larger
        kept = self._kept[member_id]
        trimmed: dict[bytes, frozenset[int]] = {}
        for topic_id in sorted(kept):
            partitions = kept[topic_id]
            if len(partitions) > room:
                ascending = sorted(partitions)
                partitions = frozenset(ascending[:room])
                self._unassigned += ((topic_id, partition) for partition in ascending[room:])
            room -= len(partitions)
            if partitions:
                trimmed[topic_id] = partitions
        if room > 0 and is_larger and members_left > self._larger_shares:
            # Others may have a use for the larger share.
            is_larger = False
            room -= 1
        if room > 0:
            self._lacking[member_id] = room
        self._larger_shares -= is_larger
        return kept if trimmed == kept else trimmed


def _with(assignment: Assignment, more: list[tuple[bytes, int]]) -> Assignment:
    sets = {topic_id: set(partitions) for topic_id, partitions in assignment.items()}
    for topic_id, partition in more:
        sets.setdefault(topic_id, set()).add(partition)
    return {topic_id: frozenset(partitions) for topic_id, partitions in sets.items()}
