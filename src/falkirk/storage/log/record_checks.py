"""A topic's requirements of each produced record: keys and timestamps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record import Record, decode_records
from falkirk.protocol.record_batch import NO_TIMESTAMP
from falkirk.storage.log.append import AppendRefusedError, RecordError
from falkirk.storage.log.log_config import LOG_APPEND_TIME
from falkirk.structs import FrozenLeaf

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.protocol.record_scan import RecordScan
    from falkirk.storage.log.log_config import LogConfig


RecordFault = tuple[ErrorCode, RecordError]
"""A faulty record, and its error code."""
FAULTS_MAX: Final = 1_000
"""Once so many faulty records are found, the rest is not read: a response names each of them."""
_SHOWN_MAX: Final = 3


class RecordChecks(FrozenLeaf):
    """The checks of one topic at one time. Source: LogValidator.validateRecord."""

    topic: str
    config: "LogConfig"
    now_ms: int

    @property
    def is_log_append_time(self) -> bool:
        """True if the topic uses the broker's time, without limits."""
        return self.config.message_timestamp_type == LOG_APPEND_TIME

    def may_have_errors(self, batch: RecordBatch, scan: RecordScan) -> bool:
        """Return whether what the records of a batch have in common does not suffice: each is to be checked."""
        if scan.has_null_key and self.config.is_compacted:
            return True
        if batch.is_log_append_time:
            return True
        if self.is_log_append_time:
            return False
        earliest = batch.base_timestamp + scan.timestamp_delta_min
        latest = batch.base_timestamp + scan.timestamp_delta_max
        return (
            self.now_ms - earliest > self.config.message_timestamp_before_max_ms
            or latest - self.now_ms > self.config.message_timestamp_after_max_ms
        )

    def decode(self, batch: RecordBatch, plain: bytes, count: int) -> list[Record]:
        """Decode uncompressed records of a batch, some that follow on one another."""
        try:
            return decode_records(
                plain,
                count=count,
                base_offset=batch.base_offset,
                base_timestamp=batch.base_timestamp,
                log_append_time=batch.max_timestamp if batch.is_log_append_time else None,
            )
        except RemoteProtocolError as error:
            reason = f"Found invalid record structure in topic partition {self.topic}: {error.reason}"
            raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason) from error

    def fault(self, record: Record, index: int, *, is_log_append_time: bool) -> RecordFault | None:
        """Return what is wrong with a record, or None; `is_log_append_time` is the attribute of its batch."""
        if self.config.is_compacted and record.key is None:
            message = f"Compacted topic cannot accept message without key in topic partition {self.topic}"
            return ErrorCode.INVALID_RECORD, RecordError(batch_index=index, message=message)
        fault = self._fault_of_timestamp(record, is_log_append_time=is_log_append_time)
        return None if fault is None else (ErrorCode.INVALID_TIMESTAMP, RecordError(batch_index=index, message=fault))

    def refuse(self, found: Iterable[RecordFault | None]) -> None:
        """Raise AppendRefusedError if there are faulty records: one bad timestamp makes it INVALID_TIMESTAMP."""
        faults = [fault for fault in found if fault is not None]
        if not faults:
            return
        errors = tuple(error for _, error in faults)
        if any(code is ErrorCode.INVALID_TIMESTAMP for code, _ in faults):
            reason = "One or more records have been rejected due to invalid timestamp"
            raise AppendRefusedError(ErrorCode.INVALID_TIMESTAMP, reason, record_errors=errors)
        shown = ", ".join(
            f"RecordError(batchIndex={error.batch_index}, message='{error.message}')" for error in errors[:_SHOWN_MAX]
        )
        reason = (
            f"One or more records have been rejected due to {len(errors)} record errors in total, and only showing "
            f"the first three errors at most: [{shown}]"
        )
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason, record_errors=errors)

    def _fault_of_timestamp(self, record: Record, *, is_log_append_time: bool) -> str | None:
        before_max = self.config.message_timestamp_before_max_ms
        after_max = self.config.message_timestamp_after_max_ms
        if not self.is_log_append_time and record.timestamp != NO_TIMESTAMP:
            age = self.now_ms - record.timestamp
            if age <= before_max and -age <= after_max:
                return None
            first, last = _int64(self.now_ms - before_max), _int64(self.now_ms + after_max)
            return (
                f"Timestamp {record.timestamp} of message with offset {record.offset} is out of range. The timestamp "
                f"should be within [{first}, {last}]"
            )
        if is_log_append_time:
            return (
                f"Invalid timestamp type in message with offset {record.offset}. Producer should not set timestamp "
                "type to LogAppendTime."
            )
        return None


def _int64(value: int) -> int:
    """Wrap around as Java's long does: the limits are its maximum by default."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
