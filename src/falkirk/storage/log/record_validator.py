"""What is produced, checked and numbered before it is written (Kafka's LogValidator)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import LENGTH_END, MAGIC_AT, RecordBatch, read_batches
from falkirk.storage.log.append import AppendRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.storage.log.append import AppendOrigin
    from falkirk.storage.log.log_config import LogConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatedRecords:
    """What to write: `data` holds `batches` one after the other, numbered from the first offset on.

    `log_append_time_ms` is -1 unless the topic takes that time.
    """

    data: bytes | bytearray | memoryview
    batches: Sequence[RecordBatch]
    log_append_time_ms: int = -1


def validate_produced(
    records: bytes | memoryview,
    *,
    topic: str,
    config: LogConfig,
    first_offset: int,
    leader_epoch: int,
    now_ms: int,
    origin: AppendOrigin,
) -> ValidatedRecords:
    """Check what is to be appended, give it offsets from `first_offset` on, and the leader's epoch.

    Raises AppendRefusedError with Kafka's error code.
    """
    data = bytearray(records)
    view = memoryview(data)
    offset = first_offset
    try:
        for batch in read_batches(view):
            view[batch.position : batch.position + 8] = offset.to_bytes(8, "big")
            epoch_at = batch.position + LENGTH_END
            view[epoch_at : batch.position + MAGIC_AT] = leader_epoch.to_bytes(4, "big", signed=True)
            offset += batch.last_offset_delta + 1
    except RemoteProtocolError as error:
        raise AppendRefusedError(ErrorCode.CORRUPT_MESSAGE, error.reason) from error
    batches = list(read_batches(view, check_crc=False))
    if any(batch.size > config.max_message_bytes for batch in batches):
        raise AppendRefusedError(ErrorCode.MESSAGE_TOO_LARGE, f"too large a batch for topic {topic}")
    assert now_ms >= 0
    assert origin is not None
    return ValidatedRecords(data=data, batches=batches)
