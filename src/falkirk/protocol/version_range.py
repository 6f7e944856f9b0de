"""Version ranges: which versions of a message exist, or hold a field."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# The greatest version an int16 holds: an open range ends here.
VERSION_MAX = 32767


@dataclass(frozen=True, slots=True)
class VersionRanges:
    """A set of versions, as inclusive ranges in rising order."""

    ranges: tuple[tuple[int, int], ...]

    def __contains__(self, version: object) -> bool:
        """Return whether the set contains a version."""
        return isinstance(version, int) and any(low <= version <= high for low, high in self.ranges)

    def __iter__(self) -> Iterator[int]:
        """Yield each version; only for bounded ranges."""
        for low, high in self.ranges:
            yield from range(low, high + 1)

    def __str__(self) -> str:
        """Return Kafka's notation: `0-3`, `2+`, `none`."""
        return ",".join(_text(low, high) for low, high in self.ranges) or "none"


@cache
def version_ranges(text: str) -> VersionRanges:
    """Read `3`, `3+`, `0-2`, `0,8` or `none`. Raises ValueError."""
    if text == "none":
        return VersionRanges(())
    return VersionRanges(tuple(_range(part) for part in text.split(",")))


def _range(text: str) -> tuple[int, int]:
    if text.endswith("+"):
        return int(text[:-1]), VERSION_MAX
    low, _, high = text.partition("-")
    return int(low), int(high or low)


def _text(low: int, high: int) -> str:
    if high == VERSION_MAX:
        return f"{low}+"
    return str(low) if low == high else f"{low}-{high}"
