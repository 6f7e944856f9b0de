"""`falkirk groups reset-offsets`: new offsets as a table, or as the lines that --from-file reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.cli.console.padded_columns import padded, width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.operations.offset_reset import ResetResult

# Jackson's CSV writer quotes what is longer, or has a character up to the comma, without looking further.
_UNQUOTED_MAX: Final = 24


@dataclass(frozen=True, slots=True)
class ResetView:
    """A `Result`."""

    result: ResetResult

    def text(self) -> Iterator[str]:
        """Yield the table of kafka-consumer-groups, behind an empty line."""
        offsets = self.result.offsets
        rows = [(group, *each, offset) for group, found in offsets.items() for each, offset in found.items()]
        widths = [width(15, offsets), width(15, (row[1] for row in rows)), 10, 0]
        yield ""
        yield padded(("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), widths)
        yield from (padded(row, widths) for row in rows)

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields."""
        return {
            "executed": self.result.is_executed,
            "groups": [
                {
                    "group": group,
                    "error": self.result.left_alone.get(group),
                    "offsets": [
                        {"topic": each.topic, "partition": each.partition, "offset": offset}
                        for each, offset in offsets.items()
                    ],
                }
                for group, offsets in self.result.offsets.items()
            ],
        }


@dataclass(frozen=True, slots=True)
class ExportedOffsets:
    """A `Result`: lines that --from-file reads. `with_groups`: the lines name the group."""

    result: ResetResult
    with_groups: bool

    def text(self) -> Iterator[str]:
        """Yield a line for each partition, and an empty one."""
        for group, offsets in self.result.offsets.items():
            for each, offset in offsets.items():
                words = [_quoted(group)] if self.with_groups else []
                yield ",".join([*words, _quoted(each.topic), str(each.partition), str(offset)])
        yield ""

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return what `ResetView` has."""
        return ResetView(self.result).document()


def _quoted(text: str) -> str:
    if len(text) <= _UNQUOTED_MAX and all(character > "," for character in text):
        return text
    escaped = text.replace('"', '""')
    return f'"{escaped}"'
