"""The voters and the kraft.version in force at each offset of the log, including uncommitted ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from falkirk.raft.voter_set import VoterSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.protocol.messages import VotersRecord
    from falkirk.protocol.voters_change import VotersChange

BOOTSTRAP_OFFSET = -1
"""The offset of voters from a bootstrap snapshot (0-0.checkpoint), before the log."""


class _Entry(NamedTuple):
    offset: int
    voters: VoterSet


class VoterHistory:
    """Follows the control records of snapshot and log up to the log's end, including what is not yet on disk.

    Voters are in force from the moment when their record is appended, long before it is committed (KIP-853); so the
    former ones return when the record is truncated.
    """

    def __init__(self, static_voters: VoterSet) -> None:
        self._static_voters = static_voters
        self._voters: list[_Entry] = []
        self._kraft_versions: list[tuple[int, int]] = []

    def load(self, changes: Iterable[VotersChange], snapshot_offset: int | None) -> None:
        """Start anew from the log. Changes in a snapshot count at its last offset: they are never truncated."""
        self._voters.clear()
        self._kraft_versions.clear()
        for change in changes:
            of_snapshot = change.offset == snapshot_offset
            if change.kraft_version is not None:
                is_known = bool(self._kraft_versions)
                self._kraft_versions.append((change.offset - (of_snapshot and not is_known), change.kraft_version))
            if change.voters is not None:
                is_known = bool(self._voters)
                entry = _Entry(change.offset - (of_snapshot and not is_known), VoterSet.of_record(change.voters))
                self._voters.append(entry)

    def add_voters(self, offset: int, record: VotersRecord) -> None:
        """Add the voters of an appended record."""
        self._voters.append(_Entry(offset, VoterSet.of_record(record)))

    def add_kraft_version(self, offset: int, version: int) -> None:
        """Add the kraft.version of an appended record."""
        self._kraft_versions.append((offset, version))

    def truncate(self, end_offset: int) -> None:
        """Remove entries from `end_offset` on."""
        while self._voters and self._voters[-1].offset >= end_offset:
            self._voters.pop()
        while self._kraft_versions and self._kraft_versions[-1][0] >= end_offset:
            self._kraft_versions.pop()

    def forget_before(self, offset: int) -> None:
        """Remove entries that were replaced before `offset`, the start of the log."""
        while len(self._voters) > 1 and self._voters[1].offset < offset:
            del self._voters[0]
        while len(self._kraft_versions) > 1 and self._kraft_versions[1][0] < offset:
            del self._kraft_versions[0]

    @property
    def voters(self) -> VoterSet:
        """The voters in force: the last in the log, else the configured ones."""
        return self._voters[-1].voters if self._voters else self._static_voters

    @property
    def voters_offset(self) -> int | None:
        """The offset of the voters in force; BOOTSTRAP_OFFSET if not yet in the log; None if configured."""
        return self._voters[-1].offset if self._voters else None

    @property
    def kraft_version(self) -> int:
        """The level in force."""
        return self._kraft_versions[-1][1] if self._kraft_versions else 0

    def kraft_version_before(self, end_offset: int) -> int:
        """Return the kraft.version in force before `end_offset`."""
        for offset, version in reversed(self._kraft_versions):
            if offset < end_offset:
                return version
        return 0

    def voters_before(self, end_offset: int) -> VoterSet | None:
        """Return the voters in the log before `end_offset`; None if it has none."""
        for entry in reversed(self._voters):
            if entry.offset < end_offset:
                return entry.voters
        return None
