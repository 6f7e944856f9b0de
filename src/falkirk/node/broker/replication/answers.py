"""Results for one partition of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from falkirk.storage.log.append import RecordError


class PartitionProduced(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an append to one partition. `error_message`: only in versions with KIP-467."""

    error_code: ErrorCode = ErrorCode.NONE
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: "tuple[RecordError, ...]" = ()
    error_message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsDeleted:
    """The result of DeleteRecords for one partition."""

    error_code: ErrorCode = ErrorCode.NONE
    low_watermark: int = -1
