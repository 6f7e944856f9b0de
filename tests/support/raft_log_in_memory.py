"""A replica's log, snapshots and quorum-state in memory; they survive a crash."""

from __future__ import annotations

import struct
from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

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

LOWERS = b"lowers metadata.version"
"""A record value that stands for a lowering."""
_HEAD = struct.Struct(">hi")


class Batch(NamedTuple):
    base_offset: int
    end_offset: int
    epoch: int
    is_control: bool
    data: bytes


@dataclass(frozen=True)
class SnapshotContent:
    """The content of a made-up snapshot: the voters, and a stand-in for the records."""

    kraft_version: int
    voters: VotersRecord | None
    state: bytes

    def encode(self) -> bytes:
        voters = b"" if self.voters is None else codec.encode(self.voters, 0)
        return _HEAD.pack(self.kraft_version, len(voters)) + voters + self.state

    @classmethod
    def decode(cls, data: bytes) -> SnapshotContent:
        kraft_version, size = _HEAD.unpack_from(data)
        at = _HEAD.size + size
        voters = codec.decode(VotersRecord, 0, data[_HEAD.size : at]) if size else None
        return cls(kraft_version, voters, data[at:])


class LogInMemory:
    """A ReplicatedLog that also executes a RaftOutput. Everything in it counts as on disk."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.snapshots: dict[OffsetAndEpoch, bytes] = {}
        self.partial: dict[OffsetAndEpoch, bytearray] = {}
        # Offered before it is committed; gone with the leadership and at a crash.
        self.provisional: dict[OffsetAndEpoch, bytes] = {}
        self.start_offset = 0
        self.election_state = ElectionState(epoch=0)

    @property
    def end_offset(self) -> int:
        return self.batches[-1].end_offset if self.batches else self.start_offset

    @property
    def last_epoch(self) -> int:
        if self.batches:
            return self.batches[-1].epoch
        return self.latest_snapshot.epoch if self.latest_snapshot else 0

    @property
    def latest_snapshot(self) -> OffsetAndEpoch | None:
        return max(self.snapshots, default=None)

    @property
    def earliest_snapshot(self) -> OffsetAndEpoch | None:
        return min(self.snapshots, default=None)

    @property
    def lowerings(self) -> list[LevelChange]:
        """The batches that lower the level."""
        return [LevelChange(batch.base_offset, batch.end_offset, 1) for batch in self.batches if LOWERS in batch.data]

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch:
        if epoch == self.last_epoch:
            return OffsetAndEpoch(self.end_offset, epoch)
        older = [batch for batch in self.batches if batch.epoch <= epoch]
        if older:
            return OffsetAndEpoch(older[-1].end_offset, older[-1].epoch)
        earliest = self.earliest_snapshot
        return earliest if earliest is not None else OffsetAndEpoch(self.start_offset, epoch)

    def read(self, offset: int, bytes_max: int) -> bytes:
        data = b""
        for batch in self.batches[self._index(offset) :]:
            if data and len(data) + len(batch.data) > bytes_max:
                break
            data += batch.data
        return data

    def read_snapshot(self, snapshot: OffsetAndEpoch, position: int, bytes_max: int) -> SnapshotChunk | None:
        data = self.snapshots.get(snapshot) or self.provisional.get(snapshot)
        return None if data is None else SnapshotChunk(data[position : position + bytes_max], len(data))

    def voters_changes(self) -> list[VotersChange]:
        changes = []
        latest = self.latest_snapshot
        if latest is not None:
            content = SnapshotContent.decode(self.snapshots[latest])
            if content.kraft_version:
                changes.append(VotersChange(latest.offset, content.kraft_version, content.voters))
        for batch in self.batches:
            if batch.is_control and (latest is None or batch.base_offset >= latest.offset):
                changes.extend(_control_changes(batch))
        return changes

    def batch_of(self, offset: int) -> Batch | None:
        index = self._index(offset)
        return self.batches[index] if index < len(self.batches) else None

    def apply(self, change: LogChange) -> None:
        match change:
            case Append(data):
                for batch in read_batches(data):
                    assert batch.base_offset == self.end_offset
                    assert batch.leader_epoch >= self.last_epoch
                    self.batches.append(
                        Batch(
                            batch.base_offset, batch.end_offset, batch.leader_epoch, batch.is_control, bytes(batch.data)
                        )
                    )
            case Truncate(end_offset):
                assert self.start_offset <= end_offset <= self.end_offset
                while self.batches and self.batches[-1].base_offset >= end_offset:
                    self.batches.pop()
                assert self.end_offset == end_offset
            case WriteSnapshotChunk(snapshot, position, data):
                part = self.partial.setdefault(snapshot, bytearray())
                del part[position:]
                assert len(part) == position
                part += data
            case InstallSnapshot(snapshot):
                self.snapshots = {snapshot: bytes(self.partial.pop(snapshot))}
                self.partial.clear()
                self.batches.clear()
                self.start_offset = snapshot.offset

    def create_snapshot(self, content: SnapshotContent, end_offset: int) -> OffsetAndEpoch:
        """Snapshot up to a batch boundary, and cut the log there."""
        last = self.batch_of(end_offset - 1)
        assert last is not None
        assert last.end_offset == end_offset
        snapshot = OffsetAndEpoch(end_offset, last.epoch)
        self.snapshots[snapshot] = content.encode()
        return snapshot

    def delete_before(self, snapshot: OffsetAndEpoch) -> None:
        self.snapshots = {each: data for each, data in self.snapshots.items() if each >= snapshot}
        self.batches = [batch for batch in self.batches if batch.base_offset >= snapshot.offset]
        self.start_offset = snapshot.offset
        self.provisional.clear()

    def _index(self, offset: int) -> int:
        return bisect_right(self.batches, offset, key=lambda batch: batch.end_offset)


def _control_changes(batch: Batch) -> list[VotersChange]:
    changes = []
    for record in next(iter(read_batches(batch.data))).records():
        message = decode_control_record(record.key, record.value).message
        if isinstance(message, VotersRecord):
            changes.append(VotersChange(record.offset, None, message))
        elif isinstance(message, KRaftVersionRecord):
            changes.append(VotersChange(record.offset, message.kraft_version, None))
    return changes
