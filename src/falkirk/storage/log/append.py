"""Results and errors of appends to a log."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.error_codes import ErrorCode


class AppendOrigin(Enum):
    """The source of an append: a client's records are checked, those of leaders and coordinators are trusted.

    OWN: one batch that this process has built, in which only the size can be wrong.
    """

    CLIENT = "client"
    COORDINATOR = "coordinator"
    OWN = "own"
    REPLICATION = "replication"


class LogAppendInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The result of an append.

    `first_offset` to `last_offset` are the records'. `log_append_time_ms` is -1 unless the topic uses that time.
    `is_duplicate`: an idempotent producer had sent it before; the offsets are those of the first time, nothing was
    written.
    """

    first_offset: int
    last_offset: int
    log_append_time_ms: int = -1
    log_start_offset: int = 0
    is_duplicate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordError:
    """A faulty record of a refused batch: its index in the batch, and the reason (KIP-467)."""

    batch_index: int
    message: str | None = None


class AppendRefusedError(Exception):
    """A client's records are refused; nothing was written. `error_code` is Kafka's."""

    def __init__(
        self, error_code: ErrorCode, message: str | None = None, *, record_errors: Sequence[RecordError] = ()
    ) -> None:
        super().__init__(message or error_code.name)
        self.error_code = error_code
        self.message = message
        self.record_errors = tuple(record_errors)


class CorruptRecordsError(Exception):
    """The leader's records do not fit the follower's log, as one line."""
