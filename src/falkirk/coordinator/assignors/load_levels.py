"""Members by how many partitions they own: who is next to be given one, who is next to give one away.

Both look at one list of members, ascending by load, and at the loads, which the caller keeps up to date.
The order of takes is that of the balancer in Kafka's UniformHeterogeneousAssignmentBuilder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence


class LeastLoaded:
    """Fills the members up from the low end, one level after the other, as water would. `level`: where it stands."""

    def __init__(self, members: Sequence[int], loads: Sequence[int]) -> None:
        self._members = members
        self._loads = loads
        self.level = loads[members[0]] - 1
        # Those below `_end` had all the same load when this level began.
        self._end = 0
        self._next = 0

    def take(self) -> int:
        """Give the member that gets the next partition."""
        if self._next >= self._end:
            self.level += 1
            while self._end < len(self._members) and self._loads[self._members[self._end]] == self.level:
                self._end += 1
            self._next = 0
        member = self._members[self._next]
        self._next += 1
        return member


class MostLoaded:
    """Takes from the members at the high end, one level after the other. `level`: where it stands."""

    def __init__(self, members: MutableSequence[int], loads: Sequence[int]) -> None:
        self._members = members
        self._loads = loads
        self.level = loads[members[-1]] + 1
        # Those from `_start` to `_end` had all the same load when this level began; beyond `_end` are the excluded.
        self._start = self._end = len(members)
        self._next = len(members) - 1

    def take(self) -> int | None:
        """Give the member that loses the next partition; None if nobody is left."""
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
        """Leave out the member that was taken last: it has nothing to give."""
        members, taken = self._members, self._next + 1
        self._end -= 1
        members[taken], members[self._end] = members[self._end], members[taken]
