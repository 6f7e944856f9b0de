"""A range of versions or levels that a release supports: whole, both ends included."""

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
        """Say whether the version or level lies in the range."""
        return isinstance(version, int) and self.lowest <= version <= self.highest

    def __iter__(self) -> Iterator[int]:
        """Give each version, rising."""
        return iter(range(self.lowest, self.highest + 1))

    def __str__(self) -> str:
        """Write `0-3`, or `3` where there is only one."""
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"

    def intersection(self, other: SupportedRange) -> SupportedRange | None:
        """Give what both ranges hold; None if nothing."""
        lowest, highest = max(self.lowest, other.lowest), min(self.highest, other.highest)
        return SupportedRange(lowest, highest) if lowest <= highest else None

    @classmethod
    def parse(cls, text: str) -> SupportedRange | None:
        """Read what `str` writes; `none` is None. Raises ValueError."""
        if text == "none":
            return None
        lowest, _, highest = text.partition("-")
        return cls(int(lowest), int(highest or lowest))
