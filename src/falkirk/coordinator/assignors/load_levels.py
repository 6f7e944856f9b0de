"""Members by number of owned partitions: which one receives the next partition, and which one gives one away.

Both classes read one list of members, ascending by load, and the loads, which the caller keeps up to date.
The order is that of the balancer in Kafka's UniformHeterogeneousAssignmentBuilder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence


class LeastLoaded:
    """Fills members up from the low end, level by level, like water. `level`: the current one."""

    def __init__(self, members: Sequence[int], loads: Sequence[int]) -> None:
        self._members = members
        self._loads = loads
        self.level = loads[members[0]] - 1
        # Those below `_end` had all the same load when this level began.
        self._end = 0
        self._next = 0

    def next_member(self) -> int:
        """Return the member that receives the next partition."""
        if self._next >= self._end:
            self.level += 1
            while self._end < len(self._members) and self._loads[self._members[self._end]] == self.level:
                self._end += 1
            self._next = 0
        member = self._members[self._next]
        self._next += 1
        return member


class MostLoaded:
    """Drains members from the high end, level by level. `level`: the current one."""

    def __init__(self, members: MutableSequence[int], loads: Sequence[int]) -> None:
        self._members = members
        self._loads = loads
        self.level = loads[members[-1]] + 1
        # Those from `_start` to `_end` had all the same load when this level began; beyond `_end` are the excluded.
        self._start = self._end = len(members)
        self._next = len(members) - 1

    def next_member(self) -> int | None:
        """Return the member that gives away the next partition; None if none is left."""
        if self._next < self._start:
            if self._end <= self._start > 0:
                # All of this level are excluded: go down to the next one at once.
                self.level = self._loads[self._members[self._start - 1]]
            else:
                self.level -= 1
            while self._start > 0 and self._loads[self._members[self._start - 1]] == self.level:
                self._start -= 1
            self._next = self._end - 1
        if self._next < 0:
            return None
        member = self._members[self._next]
        self._next -= 1
        return member

    def exclude(self) -> None:
        """Exclude the member returned last: it has nothing to give away."""
        members, last = self._members, self._next + 1
        self._end -= 1
        members[last], members[self._end] = members[self._end], members[last]
