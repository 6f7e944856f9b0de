"""Messages of magic 0 and 1 as records of a batch of magic 2: clients from before Kafka 0.11 produce them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.compression import Compression, UncompressedTooLargeError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.message_set import (
    CorruptMessageError,
    Message,
    MessageTooLargeError,
    read_messages,
    unwrap,
)
from falkirk.protocol.record import Record
from falkirk.storage.log.append import AppendRefusedError, RecordError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.storage.log.record_checks import RecordChecks, RecordFault


def decode_old_messages(
    view: memoryview, checks: RecordChecks, *, bytes_max: int
) -> tuple[Compression, Sequence[Record]]:
    """Return their codec, and the checked records with offsets 0, 1, 2, ...

    Raises AppendRefusedError as `validate_produced` does. Source: LogValidator.convertAndAssignOffsetsNonCompressed and
    validateMessagesAndAssignOffsetsCompressed.
    """
    try:
        messages = list(read_messages(view, message_bytes_max=checks.config.max_message_bytes))
        if all(message.codec_number == Compression.NONE for message in messages):
            _check_plain(messages, checks)
            return Compression.NONE, _records(messages)
        wrapper = _only(messages)
        inner = unwrap(wrapper, bytes_max=bytes_max)
    except CorruptMessageError as error:
        raise AppendRefusedError(ErrorCode.CORRUPT_MESSAGE, error.reason) from error
    except (MessageTooLargeError, UncompressedTooLargeError) as too_large:
        raise AppendRefusedError(ErrorCode.MESSAGE_TOO_LARGE, too_large.reason) from too_large
    except RemoteProtocolError as protocol_error:
        reason = f"{protocol_error.reason} in topic partition {checks.topic}"
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason) from protocol_error
    records = _records(inner)
    checks.refuse(
        _magic_fault(message, wrapper, index, checks)
        or checks.fault(record, index, is_log_append_time=wrapper.is_log_append_time)
        for index, (message, record) in enumerate(zip(inner, records, strict=True))
    )
    return Compression(wrapper.codec_number), records


def _only(messages: Sequence[Message]) -> Message:
    if len(messages) > 1:
        raise RemoteProtocolError("Compressed outer record has more than one batch", offset=0)
    return messages[0]


def _check_plain(messages: Sequence[Message], checks: RecordChecks) -> None:
    # To Kafka each is a batch of its own: only the first faulty one is reported.
    first = messages[0]
    for message in messages:
        if message.magic != first.magic:
            reason = f"Batch magic {message.magic} is not the same as the first batch's magic byte {first.magic}"
            raise RemoteProtocolError(reason, offset=0)
        (record,) = _records((message,))
        checks.refuse((checks.fault(record, 0, is_log_append_time=message.is_log_append_time),))


def _magic_fault(message: Message, wrapper: Message, index: int, checks: RecordChecks) -> RecordFault | None:
    if message.magic == wrapper.magic:
        return None
    text = f"Record's magic {message.magic} does not match outer magic {wrapper.magic}"
    return ErrorCode.INVALID_RECORD, RecordError(batch_index=index, message=f"{text} in topic partition {checks.topic}")


def _records(messages: Sequence[Message]) -> list[Record]:
    return [
        Record(offset=index, timestamp=message.timestamp, key=message.key, value=message.value)
        for index, message in enumerate(messages)
    ]
