"""The journal of a lift: what the cluster was before, and each step as it begins and ends.

The cluster is the truth about what is done. The journal keeps what cannot be read off it any more (the voters with
their directory ids, the level), and when each step ran.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import msgspec

from falkirk.lift.errors import LiftError
from falkirk.protocol.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

JOURNAL: Final = "journal.jsonl"
LOWER: Final = "lower"


class VoterListener(msgspec.Struct, frozen=True, kw_only=True):
    """Where a voter listens."""

    name: str
    host: str
    port: int


class OriginalVoter(msgspec.Struct, frozen=True, kw_only=True):
    """A voter of real Kafka as it was; `directory_id`: 32 hexadecimal digits."""

    node_id: int
    directory_id: str
    listeners: tuple[VoterListener, ...]

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens; its first listener, if there are several."""
        return Endpoint(self.listeners[0].host, self.listeners[0].port)


class OriginalBroker(msgspec.Struct, frozen=True, kw_only=True):
    """A broker, where it listens."""

    node_id: int
    host: str
    port: int

    @property
    def endpoint(self) -> Endpoint:
        """Where it listens."""
        return Endpoint(self.host, self.port)


class Originals(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster before the lift. `levels`: finalized levels by feature; `target`: the level it is to reach.

    `is_in_place`: whether falkirk runs in place of controllers for a while, else beside them; `replaces_one`: of one
    alone.
    """

    cluster_id: str
    leader_id: int
    voters: tuple[OriginalVoter, ...]
    levels: dict[str, int]
    target: str
    brokers: tuple[OriginalBroker, ...] = ()
    is_in_place: bool = False
    replaces_one: bool = False


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line; `at_ms` since 1970.

    `event`: originals, begun, done, failed, aborted, finished, level-lowered, undo-bundle-kept, undo-bundle-left,
    voters, hook-begun, by-hand, to-roll, aborts-transactions, ghost-registered, change-of-voters-unanswered.
    """

    at_ms: int
    event: str
    step: str | None = None
    fields: dict[str, Any] = {}  # Any: JSON values


def is_over(entries: Iterable[Entry]) -> bool:
    """Return whether the lift was finished or aborted."""
    return any(entry.event in ("finished", "aborted") for entry in entries)


class Journal:
    """Appends lines to `journal.jsonl` of a directory, each durable before it returns."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._path = directory / JOURNAL

    def read(self) -> list[Entry]:
        """Return all entries; a line that was cut off by a crash is ignored. Raises LiftError for another damage."""
        try:
            lines = self._path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        entries = []
        for number, line in enumerate(lines[:-1], start=1):
            try:
                entries.append(msgspec.json.decode(line, type=Entry))
            except msgspec.DecodeError as error:
                raise LiftError(f"{self._path}: line {number} cannot be read: {error}") from error
        return entries

    def append(self, entry: Entry) -> None:
        """Append an entry and sync it. Raises OSError."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            self._cut_torn_line(file.tell())
            file.write(msgspec.json.encode(entry) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def originals(self) -> Originals | None:
        """Return the cluster as it was; None if the lift has not begun."""
        for entry in self.read():
            if entry.event == "originals":
                return msgspec.convert(entry.fields, Originals)
        return None

    def voters(self) -> tuple[OriginalVoter, ...]:
        """Return the voters to restore: those that became dynamic during the lift, else those of before."""
        originals = self.originals()
        found = () if originals is None else originals.voters
        for entry in self.read():
            if entry.event == "voters":
                found = msgspec.convert(entry.fields["voters"], tuple[OriginalVoter, ...])
        return found

    @property
    def has_begun_lowering(self) -> bool:
        """True if the step that lowers the level was begun: its request may have been sent."""
        return any(entry.event == "begun" and entry.step == LOWER for entry in self.read())

    @property
    def is_over(self) -> bool:
        """True if the lift was finished or aborted."""
        return is_over(self.read())

    def _cut_torn_line(self, size: int) -> None:
        if size == 0:
            return
        data = self._path.read_bytes()
        if not data.endswith(b"\n"):
            os.truncate(self._path, data.rfind(b"\n") + 1)
