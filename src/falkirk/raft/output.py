"""The work of a replica for its driver, and its order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.protocol.schema import ZERO_UUID
from falkirk.structs import FrozenLeaf

if TYPE_CHECKING:
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.protocol.schema import WireMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionState:
    """What must survive a restart (the file quorum-state). None: no leader, no vote.

    `voters`: node ids of the static voters at kraft.version 0, which the file names; empty at 1.
    """

    epoch: int
    leader_id: int | None = None
    voted_id: int | None = None
    voted_directory_id: bytes = ZERO_UUID
    kraft_version: int = 0
    voters: tuple[int, ...] = ()


class Append(msgspec.Struct, frozen=True):
    """Append whole batches, with offsets and epochs set, at the log's end."""

    data: bytes | memoryview


@dataclass(frozen=True, slots=True)
class Truncate:
    """Truncate the log to `end_offset`; what is above was never committed."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class WriteSnapshotChunk:
    """Write a chunk of a fetched snapshot at `position` of its partial file; position 0 starts the file anew."""

    snapshot: "OffsetAndEpoch"
    position: int
    data: bytes | memoryview


@dataclass(frozen=True, slots=True)
class InstallSnapshot:
    """The partial file is complete: make it the snapshot, and empty the log, which continues at its end.

    If the file is not a valid snapshot the driver removes it and calls `RaftReplica.snapshot_refused`.
    """

    snapshot: "OffsetAndEpoch"


LogChange = Append | Truncate | WriteSnapshotChunk | InstallSnapshot


class OutboundRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to another replica, in its newest version; `node_id` None: any node there (a bootstrap server).

    The driver negotiates the version. It hands in the response, or the failure, with `request_id`; raft itself gives up
    after `timeout_ms`, and ignores a response after that.
    """

    request_id: int
    node_id: int | None
    endpoint: "Endpoint"
    message: "WireMessage"
    timeout_ms: int


class OutboundReply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to the request of `token`. Each gets exactly one, at once or later."""

    token: int
    message: "WireMessage"


# Read with every request that a node answers.
class LeaderAndEpoch(FrozenLeaf):
    """The leader as far as the replica knows. `epoch_start_offset` is set only if it leads itself.

    A leader may act as the active controller once the high watermark is above `epoch_start_offset`: then everything
    that earlier leaders committed is known to be committed.
    """

    leader_id: int | None
    epoch: int
    epoch_start_offset: int | None = None


class RaftOutput(msgspec.Struct, frozen=True, kw_only=True):
    """Work for the driver, in field order: persist, call `RaftReplica.persisted`, then send, then apply.

    None: nothing changed. `may_send_first`: all there is to persist is appended by the leader, and other voters wait
    for it. The driver may write it, call `RaftReplica.written`, send what comes then, and only then sync and call
    `persisted`, before it hands in anything else: so our sync and theirs take place at the same time.
    """

    election_state: ElectionState | None = None  # on disk before anything leaves
    log_changes: tuple[LogChange, ...] = ()  # on disk, in this order, before anything leaves
    may_send_first: bool = False
    messages: tuple[OutboundRequest | OutboundReply, ...] = ()
    leader: LeaderAndEpoch | None = None
    # Everything below is committed: read it from the log and apply it.
    high_watermark: int | None = None
    # The snapshot of an InstallSnapshot in `log_changes`: once it is installed (not if it is refused) load it, before
    # anything behind it. The high watermark follows in the next output.
    installed_snapshot: "OffsetAndEpoch | None" = None

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to do."""
        return self == _NOTHING


_NOTHING: Final = RaftOutput()
