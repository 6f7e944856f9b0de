"""The snapshots of one metadata partition: the complete ones, and the one that is being fetched (KIP-630).

One may be provisional: complete, but of what may never be committed. It is still a partial file, so the next start
removes it, falkirk's or Kafka's.
"""

from __future__ import annotations

from bisect import insort
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.protocol.control_record import decode_control_record
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from falkirk.protocol.record_batch import LENGTH_AT, LENGTH_END, read_batch, read_batches
from falkirk.protocol.snapshot_chunk import SnapshotChunk
from falkirk.storage.errors import CorruptFileError, errors_name
from falkirk.storage.snapshot_file import (
    Snapshot,
    SnapshotId,
    SnapshotName,
    SnapshotState,
    format_snapshot_name,
    read_snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.storage.disk import Disk

# Kafka uses a random number, to distinguish writers of one snapshot; here there is never more than one of a kind.
_FETCHED_ID = "0"
_OWN_ID = "1"
_PROVISIONAL_ID = "2"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSummary:
    """Size in bytes, and the time (ms) of the last record in the snapshot."""

    size: int
    last_contained_log_timestamp: int


class SnapshotStore:
    """Complete snapshots by id, oldest first; unreadable files are found when they are opened."""

    def __init__(self, disk: Disk, directory: str, complete: Iterable[OffsetAndEpoch]) -> None:
        self._disk = disk
        self._directory = directory
        self._ids = sorted(complete, key=_age)
        self._summaries: dict[OffsetAndEpoch, SnapshotSummary] = {}
        self._partial: tuple[OffsetAndEpoch, int] | None = None
        # The provisional snapshot, once it is complete.
        self.provisional: OffsetAndEpoch | None = None
        # How many bytes at the beginning of the partial file are whole batches with the right CRCs.
        self._checked_bytes = 0
        # Snapshots of which all CRCs were checked since this was made, or written.
        self._checked: set[OffsetAndEpoch] = set()

    @property
    def ids(self) -> Sequence[OffsetAndEpoch]:
        """All of them, oldest first."""
        return self._ids

    @property
    def latest(self) -> OffsetAndEpoch | None:
        """The newest snapshot."""
        return self._ids[-1] if self._ids else None

    @property
    def earliest(self) -> OffsetAndEpoch | None:
        """The oldest snapshot."""
        return self._ids[0] if self._ids else None

    def summary(self, snapshot: OffsetAndEpoch) -> SnapshotSummary:
        """Return a snapshot's summary, for retention; read once. Raises CorruptFileError if there is no header."""
        summary = self._summaries.get(snapshot)
        if summary is None:
            view = self._disk.view(self.path(snapshot))
            summary = SnapshotSummary(
                size=len(view), last_contained_log_timestamp=_header_timestamp(view, self.path(snapshot))
            )
            self._summaries[snapshot] = summary
        return summary

    def load(self, snapshot: OffsetAndEpoch) -> Snapshot:
        """Read a snapshot. Raises CorruptFileError if it is damaged or not complete.

        CRCs are checked once: with a million partitions that takes a node too long for one step.
        """
        file = self.path(snapshot)
        size = self._disk.size(file) if snapshot in self._checked else 0
        contents = _read_complete(self._disk, file, checked_bytes=size)
        self._checked.add(snapshot)
        return contents

    def read(self, snapshot: OffsetAndEpoch, position: int, bytes_max: int) -> SnapshotChunk | None:
        """Return a chunk of a file; None if there is no such snapshot."""
        if snapshot == self.provisional:
            path = self.provisional_path(snapshot)
            return SnapshotChunk(self._disk.read(path, position, bytes_max), self._disk.size(path))
        if snapshot not in self._ids:
            return None
        data = self._disk.read(self.path(snapshot), position, bytes_max)
        return SnapshotChunk(data, self.summary(snapshot).size)

    def own_partial_path(self, snapshot: OffsetAndEpoch) -> str:
        """Return where a snapshot of the image is written until it is complete."""
        return self._partial_path(snapshot, _OWN_ID)

    def complete_own(self, snapshot: OffsetAndEpoch) -> None:
        """Make that file the snapshot, atomically."""
        self._disk.rename(self.own_partial_path(snapshot), self.path(snapshot))
        self._add(snapshot)
        self._checked.add(snapshot)

    def provisional_path(self, snapshot: OffsetAndEpoch) -> str:
        """Return where a provisional snapshot is."""
        return self._partial_path(snapshot, _PROVISIONAL_ID)

    def keep_provisional(self) -> OffsetAndEpoch:
        """Make the provisional snapshot a complete one, atomically."""
        snapshot, self.provisional = self.provisional, None
        assert snapshot is not None
        self._disk.rename(self.provisional_path(snapshot), self.path(snapshot))
        self._add(snapshot)
        self._checked.add(snapshot)
        return snapshot

    def discard_provisional(self) -> None:
        """Remove the provisional snapshot, if there is one."""
        snapshot, self.provisional = self.provisional, None
        if snapshot is not None:
            self._disk.remove(self.provisional_path(snapshot))

    def write_chunk(self, snapshot: OffsetAndEpoch, position: int, data: bytes | memoryview) -> None:
        """Append a chunk of a fetched snapshot to its partial file; position 0 starts the file anew."""
        if position == 0:
            self.discard_partial()
            self._partial, self._checked_bytes = (snapshot, 0), 0
        assert self._partial == (snapshot, position)
        path = self._partial_path(snapshot)
        self._disk.append(path, data)
        self._partial = (snapshot, position + len(data))
        self._checked_bytes += _checked_bytes(self._disk, path, self._checked_bytes, position + len(data))

    def install(self, snapshot: OffsetAndEpoch) -> Snapshot:
        """Make the fetched file the snapshot.

        Raises CorruptFileError if it is damaged or ends before its footer; it is removed then.
        """
        assert self._partial is not None
        assert self._partial[0] == snapshot
        try:
            contents = _read_complete(self._disk, self._partial_path(snapshot), checked_bytes=self._checked_bytes)
        except CorruptFileError:
            self.discard_partial()
            raise
        self._disk.rename(self._partial_path(snapshot), self.path(snapshot))
        self._partial = None
        self._add(snapshot)
        self._checked.add(snapshot)
        return contents

    def discard_partial(self) -> None:
        """Remove the partial file of a fetch, if there is one."""
        if self._partial is not None:
            path = self._partial_path(self._partial[0])
            if self._disk.exists(path):
                self._disk.remove(path)
            self._partial = None

    def remove_before(self, snapshot: OffsetAndEpoch) -> tuple[str, ...]:
        """Remove the older ones; return their names."""
        old = [known for known in self._ids if _age(known) < _age(snapshot)]
        for known in old:
            self._disk.remove(self.path(known))
            self._ids.remove(known)
            self._checked.discard(known)
            self._summaries.pop(known, None)
        return tuple(map(_file_name, old))

    def path(self, snapshot: OffsetAndEpoch) -> str:
        """Return the path of a complete snapshot."""
        return f"{self._directory}/{_file_name(snapshot)}"

    def _partial_path(self, snapshot: OffsetAndEpoch, unique_id: str = _FETCHED_ID) -> str:
        name = SnapshotName(id=_snapshot_id(snapshot), state=SnapshotState.PARTIAL, unique_id=unique_id)
        return f"{self._directory}/{format_snapshot_name(name)}"

    def _add(self, snapshot: OffsetAndEpoch) -> None:
        self._summaries.pop(snapshot, None)
        if snapshot not in self._ids:
            insort(self._ids, snapshot, key=_age)


def _snapshot_id(snapshot: OffsetAndEpoch) -> SnapshotId:
    return SnapshotId(epoch=snapshot.epoch, end_offset=snapshot.offset)


# Kafka compares epochs first.
_age = _snapshot_id


def _file_name(snapshot: OffsetAndEpoch) -> str:
    return format_snapshot_name(SnapshotName(id=_snapshot_id(snapshot)))


def _checked_bytes(disk: Disk, file: str, start: int, end: int) -> int:
    """Return the size of the whole batches with the right CRCs from `start` on, up to `end` at most.

    What is damaged is named when the whole file is read.
    """
    first = disk.read(file, start, LENGTH_END)
    if len(first) < LENGTH_END or start + LENGTH_END + int.from_bytes(first[LENGTH_AT:], "big") > end:
        return 0
    size = 0
    with suppress(RemoteProtocolError):
        for batch in read_batches(disk.read(file, start, end - start)):
            size += batch.size
    return size


def _read_complete(disk: Disk, file: str, *, checked_bytes: int) -> Snapshot:
    snapshot = read_snapshot(disk.view(file), file=file, checked_bytes=checked_bytes)
    if not snapshot.is_complete:
        raise CorruptFileError("snapshot has no footer: it was never finished", offset=disk.size(file), file=file)
    return snapshot


def _header_timestamp(view: memoryview, file: str) -> int:
    with errors_name(file):
        batch = read_batch(view, 0)
        records = batch.records() if batch.is_control else []
        message = decode_control_record(records[0].key, records[0].value).message if records else None
        if not isinstance(message, SnapshotHeaderRecord):
            raise RemoteProtocolError("snapshot does not begin with a header", offset=0)
        return message.last_contained_log_timestamp
