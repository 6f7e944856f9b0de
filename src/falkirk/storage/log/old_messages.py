"""Messages of magic 0 and 1 as records of a batch of magic 2: what clients from before Kafka 0.11 produce."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.compression import Compression, UncompressedTooLargeError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.message_set import CorruptMessageError, Message, read_messages, unwrap
from falkirk.protocol.record import Record
from falkirk.storage.log.append import AppendRefusedError, RecordError
from falkirk.storage.log.record_checks import refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.storage.log.record_checks import RecordChecks


def decode_old_messages(
    view: memoryview, checks: RecordChecks, *, bytes_max: int
) -> tuple[Compression, Sequence[Record]]:
    """Give the codec they came with, and the checked records with offsets 0, 1, 2, ...

    Raises AppendRefusedError as `validate_produced` does. Source: LogValidator.convertAndAssignOffsetsNonCompressed
    and validateMessagesAndAssignOffsetsCompressed.
    """
    try:
        messages = list(read_messages(view))
        _check_messages(messages, checks)
        wrapper = messages[0]
        if not wrapper.codec_number:
            # One by one, as each has a timestamp type of its own: the first that is at fault is told, alone.
            for message in messages:
                checks.check_records(_records((message,)), is_log_append_time=message.is_log_append_time)
            return Compression.NONE, _records(messages)
        inner = unwrap(wrapper, bytes_max=bytes_max)
    except CorruptMessageError as error:
        raise AppendRefusedError(ErrorCode.CORRUPT_MESSAGE, error.reason) from error
    except UncompressedTooLargeError as error:
        raise AppendRefusedError(ErrorCode.MESSAGE_TOO_LARGE, error.reason) from error
    except RemoteProtocolError as error:
        reason = f"{error.reason} in topic partition {checks.topic}"
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason) from error
    _check_magics(inner, wrapper, checks)
    records = _records(inner)
    checks.check_records(records, is_log_append_time=wrapper.is_log_append_time)
    return Compression(wrapper.codec_number), records


_NO_CODEC: Final = 0


def _check_messages(messages: Sequence[Message], checks: RecordChecks) -> None:
    first = messages[0]
    for message in messages:
        if message.size > checks.config.max_message_bytes:
            reason = (
                f"The record batch size in the append to {checks.topic} is {message.size} bytes which exceeds the "
                f"maximum configured value of {checks.config.max_message_bytes}."
            )
            raise AppendRefusedError(ErrorCode.MESSAGE_TOO_LARGE, reason)
    if len(messages) > 1 and any(message.codec_number != _NO_CODEC for message in messages):
        reason = f"Compressed outer record has more than one batch in topic partition {checks.topic}"
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason)
    for message in messages:
        if message.magic != first.magic:
            reason = (
                f"Batch magic {message.magic} is not the same as the first batch's magic byte {first.magic} in topic "
                f"partition {checks.topic}"
            )
            raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason)


def _check_magics(inner: Sequence[Message], wrapper: Message, checks: RecordChecks) -> None:
    refuse(
        [
            (
                ErrorCode.INVALID_RECORD,
                RecordError(
                    batch_index=index,
                    message=f"Record's magic {message.magic} does not match outer magic {wrapper.magic} in topic "
                    f"partition {checks.topic}",
                ),
            )
            for index, message in enumerate(inner)
            if message.magic != wrapper.magic
        ]
    )


def _records(messages: Sequence[Message]) -> list[Record]:
    return [
        Record(offset=index, timestamp=message.timestamp, key=message.key, value=message.value)
        for index, message in enumerate(messages)
    ]
