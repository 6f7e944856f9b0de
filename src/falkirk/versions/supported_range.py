"""A range of supported versions or levels, both ends included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class SupportedRange:
    """From `lowest` to `highest`, both included. A range that holds nothing is None, not a SupportedRange."""

    lowest: int
    highest: int

    def __contains__(self, version: object) -> bool:
        """Return whether the range contains a version or level."""
        return isinstance(version, int) and self.lowest <= version <= self.highest

    def __iter__(self) -> Iterator[int]:
        """Yield each version, ascending."""
        return iter(range(self.lowest, self.highest + 1))

    def __str__(self) -> str:
        """Return `0-3`, or `3` for a single version."""
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"

    def intersection(self, other: SupportedRange) -> SupportedRange | None:
        """Return the common range; None if the ranges do not overlap."""
        lowest, highest = max(self.lowest, other.lowest), min(self.highest, other.highest)
        return SupportedRange(lowest, highest) if lowest <= highest else None

    @classmethod
    def parse(cls, text: str) -> SupportedRange | None:
        """Parse the result of `str`; `none` is None. Raises ValueError."""
        if text == "none":
            return None
        lowest, _, highest = text.partition("-")
        return cls(int(lowest), int(highest or lowest))
