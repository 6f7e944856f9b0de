"""What comes of a request, or of time: records to write, answers to give.

A shard decides on all that it has replayed, committed or not. The runtime around it takes an outcome like this:

1. Records that the log would refuse (too large, too few in-sync replicas) are not replayed: `on_refused` says what then
   is to be answered; without it whoever asked gets the error.
2. Else they are replayed, in order and all of them, and `on_written` may add answers.
3. No answer leaves before all that is replayed by then is committed, answers without records too. If the leadership is
   lost before, it becomes NOT_COORDINATOR, if time runs out, COORDINATOR_NOT_AVAILABLE.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.protocol.error_codes import ErrorCode
    from falkirk.protocol.schema import WireMessage, WireStruct

    # Stands for a request that waits, or for one group's part of it.
    Token = int


class CoordinatorRecord(msgspec.Struct, frozen=True, gc=False):
    """A record for `__consumer_offsets`: key, value (None: a tombstone), and the value's version."""

    key: WireMessage
    value: WireMessage | None = None
    version: int = 0


class KeyAndValue(NamedTuple):
    """A record as the bytes that the log gets."""

    key: bytes
    value: bytes | None


class Reply(msgspec.Struct, frozen=True):
    """The answer to the request that came in under a token; to a request of many groups, one group's part of it."""

    token: Token
    response: WireStruct


# Made for each request: a Struct costs a third of a dataclass.
class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`is_replayed`: False for the record of a classic group, whose state in memory is ahead of it (as in Kafka)."""

    records: Sequence[CoordinatorRecord] = ()
    replies: Sequence[Reply] = ()
    on_written: Callable[[], Sequence[Reply]] | None = None
    on_refused: Callable[[ErrorCode], Sequence[Reply]] | None = None
    is_replayed: bool = True
    # Whose pending offsets the records are (TxnOffsetCommit): they become a batch of their own.
    producer: Producer | None = None


@dataclass(frozen=True, slots=True)
class Producer:
    """Who writes in a transaction."""

    producer_id: int
    producer_epoch: int


NOTHING: Final = Outcome()


@dataclass(slots=True)
class Collected:
    """Gathers what several parts of one decision give; `outcome` is all of it."""

    records: list[CoordinatorRecord] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)

    def outcome(self) -> Outcome:
        """Give it."""
        return Outcome(records=self.records, replies=self.replies)
