"""The outcome of a request or a timer: records to write and responses to send.

A shard decides on all that it has replayed, committed or not. Its driver handles an outcome like this:

1. Records that the log would refuse (too large, too few in-sync replicas) are not replayed: `on_refused` returns the
   replies; without it the requests get the error.
2. Otherwise all are replayed in order, and `on_written` may add replies.
3. No reply leaves before everything replayed by then is committed, even one without records. If the leadership is lost
   before, it becomes NOT_COORDINATOR; if time runs out, COORDINATOR_NOT_AVAILABLE.
4. Nor are transaction markers sent before that. If the leadership is lost, the next leader sends them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.coordinator.runtime.transaction_markers import TransactionMarkers
    from falkirk.protocol.error_codes import ErrorCode
    from falkirk.protocol.schema import WireMessage, WireStruct

    # What a timer runs.
    Action: TypeAlias = Callable[[], "Outcome"]

Token: TypeAlias = int
"""Stands for a request that waits, or for one group's part of it."""


class CoordinatorRecord(msgspec.Struct, frozen=True, gc=False):
    """A record for a coordinator topic: key, value (None: a tombstone), and the value's version."""

    key: "WireMessage"
    value: "WireMessage | None" = None
    version: int = 0


class KeyAndValue(msgspec.Struct, frozen=True, gc=False):
    """A record as encoded for the log."""

    key: bytes
    value: bytes | None


class Reply(msgspec.Struct, frozen=True):
    """The response to the request with this token; for a request of many groups, one group's part of it."""

    token: "Token"
    response: "WireStruct"


# Made for each request: a Struct costs a third of a dataclass.
class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`is_replayed`: False for the record of a classic group, whose state in memory is ahead of it (as in Kafka)."""

    records: "Sequence[CoordinatorRecord]" = ()
    replies: "Sequence[Reply]" = ()
    on_written: "Callable[[], Sequence[Reply]] | None" = None
    on_refused: "Callable[[ErrorCode], Sequence[Reply]] | None" = None
    is_replayed: bool = True
    # Whose pending offsets the records are (TxnOffsetCommit): they become a batch of their own.
    producer: Producer | None = None
    # That of their verification with the transaction coordinator; 0: the transaction must be open in the log already.
    guard: int = 0
    # To be sent once all that is replayed by now is committed; of the transaction coordinator alone.
    markers: "Sequence[TransactionMarkers]" = ()


@dataclass(frozen=True, slots=True)
class Producer:
    """The producer of a transaction."""

    producer_id: int
    producer_epoch: int


NOTHING: Final = Outcome()
