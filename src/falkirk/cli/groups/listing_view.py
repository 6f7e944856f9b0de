"""`falkirk groups list`: the groups of a cluster, in the forms of kafka-consumer-groups and kafka-groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.cli.console.failure import WrongUsageError
from falkirk.cli.console.padded_columns import padded, width
from falkirk.client.groups.listing import CLASSIC, CONSUMER, CONSUMER_GROUP_PROTOCOLS, GROUP_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.client.groups.listing import GroupListing

UNKNOWN: Final = "Unknown"
# In the order in which the tools name them.
_STATES: Final = (
    "Assigning",
    "PreparingRebalance",
    "Empty",
    "Stable",
    "Dead",
    "Reconciling",
    "CompletingRebalance",
)
_TYPES: Final = (CONSUMER, CLASSIC)


def parse_states(text: str) -> frozenset[str]:
    """Parse `stable,empty`; an empty text means all. Raises WrongUsageError."""
    return _parsed("--state", text, _STATES)


def parse_types(text: str) -> frozenset[str]:
    """Parse `classic,consumer`; an empty text means all. Raises WrongUsageError."""
    return _parsed("--type", text, _TYPES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupList:
    """A `Result`, as `kafka-consumer-groups --list` prints it: with columns for types and states on request."""

    groups: tuple[GroupListing, ...]
    with_types: bool
    with_states: bool

    def text(self) -> Iterator[str]:
        """Yield a line for each group."""
        if not (self.with_types or self.with_states):
            yield from (group.group_id for group in self.groups)
            return
        widths = [width(15, (group.group_id for group in self.groups)) + 10]
        columns: list[tuple[str, Callable[[GroupListing], str]]] = [("GROUP", lambda group: group.group_id)]
        if self.with_types:
            columns.append(("TYPE", lambda group: group.type or UNKNOWN))
        if self.with_states:
            columns.append(("STATE", lambda group: group.state or UNKNOWN))
        widths += [20] * (len(columns) - 1)
        yield padded((name for name, _ in columns), widths)
        for group in self.groups:
            yield padded((cell(group) for _, cell in columns), widths)

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the groups by fields, whatever the columns."""
        return _document(self.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupList:
    """A `Result`, as `kafka-groups --list` prints it: groups of all types."""

    groups: tuple[GroupListing, ...]

    def text(self) -> Iterator[str]:
        """Yield a line for each group."""
        rows = [(group.group_id, group.type or "", group.protocol_type) for group in self.groups]
        widths = [width(20, (cell for row in rows for cell in row))] * 3
        yield padded(("GROUP", "TYPE", "PROTOCOL"), widths)
        # The tool leaves a blank behind the last column of a row, but not of the head.
        yield from (f"{padded(row, widths)} " for row in rows)

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields."""
        return _document(self.groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFilter:
    """Which groups kafka-groups lists: those of one kind, or of a type and protocol."""

    group_type: str | None = None
    protocol: str | None = None
    consumer: bool = False
    share: bool = False
    streams: bool = False

    def __post_init__(self) -> None:
        """Raise WrongUsageError for an unknown type, or options that exclude each other."""
        if self.group_type is not None and self.group_type.lower() not in {each.lower() for each in GROUP_TYPES}:
            raise WrongUsageError(f"--group-type: '{self.group_type}' is not one of {', '.join(GROUP_TYPES)}")
        given = {
            "--consumer": self.consumer,
            "--group-type": self.group_type is not None,
            "--protocol": self.protocol is not None,
            "--share": self.share,
            "--streams": self.streams,
        }
        for option in ("--consumer", "--share", "--streams"):
            others = [name for name, is_given in given.items() if is_given and name != option]
            if given[option] and others:
                raise WrongUsageError(f"{option} and {others[0]} exclude each other")

    def shows(self, group: GroupListing) -> bool:
        """Return whether kafka-groups would list the group."""
        if self.consumer:
            return group.protocol_type in CONSUMER_GROUP_PROTOCOLS or group.type == CONSUMER
        if self.share or self.streams:
            return group.type is not None and group.type.lower() == ("share" if self.share else "streams")
        if self.group_type is not None and (group.type or "").lower() != self.group_type.lower():
            return False
        return self.protocol is None or group.protocol_type == self.protocol


def _parsed(option: str, text: str, valid: tuple[str, ...]) -> frozenset[str]:
    if not text:
        return frozenset()
    by_name = {each.lower(): each for each in valid}
    words = [word.strip().lower() for word in text.split(",")]
    if any(word not in by_name for word in words):
        raise WrongUsageError(f"{option}: '{text}' is not a list of {', '.join(valid)}")
    return frozenset(by_name[word] for word in words)


def _document(groups: tuple[GroupListing, ...]) -> dict[str, Any]:  # Any: a JSON document
    return {
        "groups": [
            {"group": each.group_id, "type": each.type, "state": each.state, "protocol": each.protocol_type}
            for each in groups
        ]
    }
