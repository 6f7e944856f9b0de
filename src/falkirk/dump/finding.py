"""Problems and findings of a dump: problems are reported at once, findings at the end in the tool's own words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

Pairs = list[tuple[int, int]]
_TIMESTAMPS: Final = "  Index timestamp: {}, log timestamp: {}"
_UNORDERED: Final = "  Index timestamp: {}, Previously indexed timestamp: {}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem at one position of a file."""

    file: str
    position: int
    message: str
    base_offset: int | None = None
    """Base offset of the batch, if the problem is in one."""
    is_corrupt: bool = True
    """The file is damaged; otherwise it only ends early, or is of a kind that cannot be dumped."""

    def __str__(self) -> str:
        """Return one line for the operator: file, problem, byte."""
        return f"{self.file}: {self.message} (byte {self.position})"


@dataclass(slots=True)
class Findings:
    """Pairs of numbers that do not fit, by absolute path of the file; the tool prints them after all files.

    Differs from Kafka: files come in the order in which they were dumped, not in that of a Java hash map.
    """

    index_mismatches: dict[str, Pairs] = field(default_factory=dict)
    """Offset in the index, offset in the log."""
    timestamp_mismatches: dict[str, Pairs] = field(default_factory=dict)
    """Timestamp in the index, timestamp in the log."""
    unordered_timestamps: dict[str, Pairs] = field(default_factory=dict)
    """Timestamp in the index, the one before it."""
    missing_offsets: dict[str, Pairs] = field(default_factory=dict)
    """Offset in the index, offset found in the log, -1 if none."""
    gaps: dict[str, Pairs] = field(default_factory=dict)
    """Offset of a record, offset of the next if that is not one more."""

    def lines(self, *, is_java: bool) -> Iterator[str]:
        """Yield the lines that the tool writes to stderr at its end; `is_java` for that of 4.3 and later."""
        missing = "The following indexed offsets are not found in " + (":{}" if is_java else "the log.")
        falling, rising = (_falling, _rising) if is_java else (_reversed, _reversed)
        sections = (
            (self.index_mismatches, falling, "Mismatches in :{}", "  Index offset: {}, log offset: {}"),
            (self.timestamp_mismatches, None, "Found timestamp mismatch in :{}", _TIMESTAMPS),
            (self.unordered_timestamps, None, "Found out of order timestamp in :{}", _UNORDERED),
            (self.missing_offsets, None, missing, "Indexed offset: {}, found log offset: {}"),
            (self.gaps, rising, "Non-consecutive offsets in {}", "  {} is followed by {}"),
        )
        for by_file, order, title, line in sections:
            for file, pairs in by_file.items():
                yield title.format(file)
                for pair in order(pairs) if order else pairs:
                    yield line.format(*pair)


def _reversed(pairs: Pairs) -> Pairs:
    """Order as the tools up to 4.2, which prepend every pair."""
    return pairs[::-1]


def _rising(pairs: Pairs) -> Pairs:
    """Order as the tool of 4.3, which keeps pairs in a sorted map."""
    return sorted(dict(pairs).items())


def _falling(pairs: Pairs) -> Pairs:
    return sorted(dict(pairs).items(), reverse=True)
