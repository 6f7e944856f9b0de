"""Compiled expressions of a node: those that were used last, as far as their memory is within a limit."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.patterns.topic_matcher import TopicMatcher

if TYPE_CHECKING:
    from collections.abc import Iterable

# Of all matchers together, in cells, which take about a hundred bytes each.
CELLS_MAX: Final = 200_000


class TopicMatchers:
    """A cache of matchers, shared by all groups of a node."""

    def __init__(self) -> None:
        # The one that was used last stands last, with the cells that it had then.
        self._matchers: OrderedDict[str, tuple[TopicMatcher, int]] = OrderedDict()
        self._cells = 0

    def __len__(self) -> int:
        return len(self._matchers)

    @property
    def cells(self) -> int:
        """How many cells all matchers have."""
        return self._cells

    def matching(self, regex: str, names: Iterable[str]) -> frozenset[str]:
        """Return the names that match an expression. Raises TopicPatternError."""
        matcher, cells = self._matchers.pop(regex, (None, 0))
        self._cells -= cells
        if matcher is None:
            matcher = TopicMatcher.compiled(regex)
        try:
            return matcher.matching(names)
        finally:
            self._matchers[regex] = (matcher, matcher.cells)
            self._cells += matcher.cells
            while self._cells > CELLS_MAX:
                _, (_, dropped) = self._matchers.popitem(last=False)
                self._cells -= dropped
