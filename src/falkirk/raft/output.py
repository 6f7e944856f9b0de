"""What a replica wants done, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from falkirk.protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.protocol.schema import WireMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionState:
    """What a replica must not forget (the file quorum-state). None: no leader, no vote.

    `voters`: node ids of the static voters at kraft.version 0, where the file names them; empty at 1.
    """

    epoch: int
    leader_id: int | None = None
    voted_id: int | None = None
    voted_directory_id: bytes = ZERO_UUID
    kraft_version: int = 0
    voters: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Append:
    """Lengthen the log: whole batches, offsets and epochs set, contiguous with what is there."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    """Cut the log down to `end_offset`: what is above was never committed."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class WriteSnapshotChunk:
    """Write a part of a fetched snapshot at `position` of its partial file; position 0 begins the file anew."""

    snapshot: OffsetAndEpoch
    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class InstallSnapshot:
    """The partial file is whole: make it the snapshot, and empty the log, which goes on at its end.

    If the file turns out to be no valid snapshot the driver removes it and tells `RaftReplica.snapshot_refused`.
    """

    snapshot: OffsetAndEpoch


LogChange = Append | Truncate | WriteSnapshotChunk | InstallSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundRequest:
    """A request to another replica, in the newest form; `node_id` None: whoever listens there (a bootstrap server).

    The driver chooses the version by negotiation. An answer, or its failure, comes back with `request_id`; raft gives
    up by itself when `timeout_ms` is over, and an answer after that is ignored.
    """

    request_id: int
    node_id: int | None
    endpoint: Endpoint
    message: WireMessage
    timeout_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundReply:
    """The answer to a request that the driver gave as `token`. Each gets exactly one, at once or later."""

    token: int
    message: WireMessage


# Asked for with every request that a node answers.
class LeaderAndEpoch(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Who leads, as far as the replica knows. `epoch_start_offset` only where the replica leads itself.

    A leader may serve as the active controller once the high watermark is above `epoch_start_offset`: then all that
    earlier leaders committed is known to be committed.
    """

    leader_id: int | None
    epoch: int
    epoch_start_offset: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftOutput:
    """Work for the driver, in field order: persist, tell raft by `RaftReplica.persisted`, then send, then apply.

    None: nothing changed.
    """

    election_state: ElectionState | None = None  # on disk before anything leaves
    log_changes: tuple[LogChange, ...] = ()  # on disk, in this order, before anything leaves
    messages: tuple[OutboundRequest | OutboundReply, ...] = ()
    leader: LeaderAndEpoch | None = None
    # Everything below is committed: read it from the log and apply it.
    high_watermark: int | None = None
    # That of the InstallSnapshot among `log_changes`: once it is installed (not if it is refused) load it, before
    # anything behind it. The high watermark follows in the next output.
    installed_snapshot: OffsetAndEpoch | None = None

    @property
    def is_empty(self) -> bool:
        """Say whether there is nothing to do."""
        return self == RaftOutput()
