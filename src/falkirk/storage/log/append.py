"""What is appended to a log, what comes of it, and why it is refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.error_codes import ErrorCode


class AppendOrigin(Enum):
    """Who appends: what a client sends is checked, what a leader or coordinator wrote is taken as it is.

    OWN: one batch that this very process has built, so that nothing of it can be wrong but its size.
    """

    CLIENT = "client"
    COORDINATOR = "coordinator"
    OWN = "own"
    REPLICATION = "replication"


class LogAppendInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What became of an append.

    `first_offset` to `last_offset` are the records'. `log_append_time_ms` is -1 unless the topic takes that time.
    `is_duplicate`: an idempotent producer had sent it before; the offsets are those of then, nothing was written.
    """

    first_offset: int
    last_offset: int
    log_append_time_ms: int = -1
    log_start_offset: int = 0
    is_duplicate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordError:
    """A record of a refused batch that is at fault: its place in the batch, and why (KIP-467)."""

    batch_index: int
    message: str | None = None


class AppendRefusedError(Exception):
    """What a client wants to append is refused; nothing was written. `error_code` is Kafka's."""

    def __init__(
        self, error_code: ErrorCode, message: str | None = None, *, record_errors: Sequence[RecordError] = ()
    ) -> None:
        super().__init__(message or error_code.name)
        self.error_code = error_code
        self.message = message
        self.record_errors = tuple(record_errors)


class CorruptRecordsError(Exception):
    """What a leader sent does not fit the follower's log, as one line."""
