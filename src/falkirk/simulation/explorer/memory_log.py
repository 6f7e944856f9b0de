"""A replica's log, snapshots and quorum-state as one small value: it is copied with every step of the exploration."""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.protocol import codec
from falkirk.protocol.control_record import decode_control_record
from falkirk.protocol.level_change import LevelChange
from falkirk.protocol.messages.kraft_version_record import KRaftVersionRecord
from falkirk.protocol.messages.voters_record import VotersRecord
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.protocol.record_batch import read_batches
from falkirk.protocol.snapshot_chunk import SnapshotChunk
from falkirk.protocol.voters_change import VotersChange
from falkirk.raft.output import Append, ElectionState, InstallSnapshot, LogChange, Truncate, WriteSnapshotChunk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOWERING: Final = b"lowers metadata.version"
"""The value of a record that stands for a lowering."""
_HEAD: Final = struct.Struct(">hi")
_PLACE: Final = struct.Struct(">qqiI")


class BatchIdentity(NamedTuple):
    """The offsets and the epoch of a batch, and a checksum of its bytes."""

    base_offset: int
    end_offset: int
    epoch: int
    checksum: int


class StoredBatch(NamedTuple):
    """A batch on disk."""

    identity: BatchIdentity
    is_control: bool
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotContent:
    """The content of a snapshot: the voters in force and, in place of records, the batches that it replaces."""

    kraft_version: int
    voters: VotersRecord | None
    history: tuple[BatchIdentity, ...]

    def encode(self) -> bytes:
        """Return the bytes of the snapshot's file."""
        voters = b"" if self.voters is None else codec.encode(self.voters, 0)
        history = b"".join(_PLACE.pack(*each) for each in self.history)
        return _HEAD.pack(self.kraft_version, len(voters)) + voters + history

    @classmethod
    def decode(cls, data: bytes) -> SnapshotContent:
        """Read what `encode` returned."""
        kraft_version, size = _HEAD.unpack_from(data)
        end = _HEAD.size + size
        voters = codec.decode(VotersRecord, 0, data[_HEAD.size : end]) if size else None
        history = tuple(BatchIdentity(*each) for each in _PLACE.iter_unpack(data[end:]))
        return cls(kraft_version=kraft_version, voters=voters, history=history)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskContent:
    """All that survives a crash. Two disks are equal if no replica can tell them apart."""

    batches: tuple[StoredBatch, ...] = ()
    snapshots: "Mapping[OffsetAndEpoch, bytes]"
    start_offset: int = 0
    election_state: ElectionState = ElectionState(epoch=0)  # noqa: RUF009  frozen

    @property
    def key(self) -> tuple[object, ...]:
        """A hashable value that is equal for equal disks."""
        return self.batches, tuple(sorted(self.snapshots.items())), self.start_offset, self.election_state


class MemoryLog:
    """A `raft.replicated_log.ReplicatedLog` that also applies log changes; what is applied counts as on disk."""

    def __init__(self, disk: DiskContent) -> None:
        self.disk = disk
        self._partial: dict[OffsetAndEpoch, bytes] = {}
        # Offered before it is committed: deleted when the leadership ends, and at a start.
        self._provisional: tuple[OffsetAndEpoch, bytes] | None = None

    def copy(self) -> MemoryLog:
        """Return a log with the same content."""
        copied = MemoryLog(self.disk)
        copied._partial = dict(self._partial)
        copied._provisional = self._provisional
        return copied

    @property
    def key(self) -> tuple[object, ...]:
        """A hashable value that is equal for equal logs."""
        return self.disk.key, tuple(sorted(self._partial.items())), self._provisional

    @property
    def history(self) -> tuple[BatchIdentity, ...]:
        """The batches of the log from offset 0 on, those that a snapshot replaces included."""
        latest = self.latest_snapshot
        if latest is None or self.disk.start_offset == 0:
            return tuple(batch.identity for batch in self.disk.batches)
        before = SnapshotContent.decode(self.disk.snapshots[latest]).history
        return (*before, *(each.identity for each in self.disk.batches if each.identity.base_offset >= latest.offset))

    @property
    def has_provisional(self) -> bool:
        """True if there is a snapshot that was written before it was committed."""
        return self._provisional is not None

    @property
    def start_offset(self) -> int:
        """The first offset in the log."""
        return self.disk.start_offset

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        batches = self.disk.batches
        return batches[-1].identity.end_offset if batches else self.disk.start_offset

    @property
    def last_epoch(self) -> int:
        """The epoch of the last batch, or of the latest snapshot if nothing follows it."""
        if self.disk.batches:
            return self.disk.batches[-1].identity.epoch
        latest = self.latest_snapshot
        return 0 if latest is None else latest.epoch

    @property
    def latest_snapshot(self) -> OffsetAndEpoch | None:
        """The newest snapshot."""
        return max(self.disk.snapshots, default=None)

    @property
    def earliest_snapshot(self) -> OffsetAndEpoch | None:
        """The oldest snapshot."""
        return min(self.disk.snapshots, default=None)

    @property
    def lowerings(self) -> Sequence[LevelChange]:
        """The batches that lower metadata.version."""
        return [
            LevelChange(batch.identity.base_offset, batch.identity.end_offset, 1)
            for batch in self.disk.batches
            if LOWERING in batch.data
        ]

    def values_before(self, end_offset: int) -> tuple[bytes, ...]:
        """Return the data records of the batches that end at an offset or before."""
        return tuple(
            value
            for stored in self.disk.batches
            if not stored.is_control and stored.identity.end_offset <= end_offset
            for batch in read_batches(stored.data)
            for record in batch.records()
            if (value := record.value) is not None
        )

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch:
        """Return the largest epoch not above `epoch`, and its end offset."""
        if epoch == self.last_epoch:
            return OffsetAndEpoch(self.end_offset, epoch)
        older = [batch.identity for batch in self.disk.batches if batch.identity.epoch <= epoch]
        if older:
            return OffsetAndEpoch(older[-1].end_offset, older[-1].epoch)
        earliest = self.earliest_snapshot
        return OffsetAndEpoch(self.disk.start_offset, epoch) if earliest is None else earliest

    def read(self, offset: int, bytes_max: int) -> bytes:
        """Return whole batches from the one that contains `offset` on, at least one."""
        batches = self.disk.batches
        data = b""
        for batch in batches[bisect_right(batches, offset, key=lambda each: each.identity.end_offset) :]:
            if data and len(data) + len(batch.data) > bytes_max:
                break
            data += batch.data
        return data

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, bytes_max: int) -> SnapshotChunk | None:
        """Return a chunk of a snapshot; None if it does not exist."""
        data = self.disk.snapshots.get(snapshot)
        if self._provisional is not None and self._provisional[0] == snapshot:
            data = self._provisional[1]
        return None if data is None else SnapshotChunk(data[position : position + bytes_max], len(data))

    def voters_changes(self) -> Sequence[VotersChange]:
        """Return the changes of voters in the latest snapshot and the log behind it, in order."""
        changes = []
        latest = self.latest_snapshot
        if latest is not None:
            content = SnapshotContent.decode(self.disk.snapshots[latest])
            if content.kraft_version:
                changes.append(VotersChange(latest.offset, content.kraft_version, content.voters))
        for batch in self.disk.batches:
            if batch.is_control and (latest is None or batch.identity.base_offset >= latest.offset):
                changes += _control_changes(batch.data)
        return changes

    def write_election_state(self, state: ElectionState) -> None:
        """Replace quorum-state."""
        self.disk = replace(self.disk, election_state=state)

    def write_provisional(self, kraft_version: int, voters: VotersRecord | None) -> OffsetAndEpoch:
        """Write a snapshot of the whole log, committed or not."""
        content = SnapshotContent(kraft_version=kraft_version, voters=voters, history=self.history)
        snapshot = OffsetAndEpoch(self.end_offset, self.last_epoch)
        self._provisional = snapshot, content.encode()
        return snapshot

    def delete_provisional(self) -> None:
        """Delete that snapshot."""
        self._provisional = None

    def snapshot_up_to(self, end_offset: int, kraft_version: int, voters: VotersRecord | None) -> OffsetAndEpoch:
        """Replace the batches before an offset by a snapshot."""
        self._provisional = None
        history = tuple(each for each in self.history if each.end_offset <= end_offset)
        snapshot = OffsetAndEpoch(end_offset, history[-1].epoch)
        content = SnapshotContent(kraft_version=kraft_version, voters=voters, history=history)
        kept = tuple(each for each in self.disk.batches if each.identity.base_offset >= end_offset)
        self.disk = replace(self.disk, batches=kept, snapshots={snapshot: content.encode()}, start_offset=end_offset)
        return snapshot

    def apply(self, change: LogChange) -> None:
        """Apply a change of a replica's output."""
        disk = self.disk
        match change:
            case Append(data):
                for stored in map(_stored, _split(data)):
                    assert stored.identity.base_offset == self.end_offset
                    assert stored.identity.epoch >= self.last_epoch
                    self.disk = replace(self.disk, batches=(*self.disk.batches, stored))
            case Truncate(end_offset):
                assert disk.start_offset <= end_offset <= self.end_offset
                kept = tuple(each for each in disk.batches if each.identity.base_offset < end_offset)
                self.disk = replace(disk, batches=kept)
            case WriteSnapshotChunk(snapshot, position, data):
                written = self._partial.get(snapshot, b"")[:position]
                assert len(written) == position
                self._partial[snapshot] = written + data
            case InstallSnapshot(snapshot):
                content = self._partial.pop(snapshot)
                self._partial.clear()
                self.disk = replace(disk, batches=(), snapshots={snapshot: content}, start_offset=snapshot.offset)


def _split(data: bytes | memoryview) -> list[bytes]:
    return [bytes(data[batch.position : batch.end_position]) for batch in read_batches(data)]


def _stored(data: bytes) -> StoredBatch:
    batch = next(iter(read_batches(data)))
    identity = BatchIdentity(batch.base_offset, batch.end_offset, batch.leader_epoch, zlib.crc32(data))
    return StoredBatch(identity, batch.is_control, data)


def _control_changes(data: bytes) -> list[VotersChange]:
    changes = []
    for record in next(iter(read_batches(data))).records():
        message = decode_control_record(record.key, record.value).message
        if isinstance(message, VotersRecord):
            changes.append(VotersChange(record.offset, None, message))
        elif isinstance(message, KRaftVersionRecord):
            changes.append(VotersChange(record.offset, message.kraft_version, None))
    return changes
