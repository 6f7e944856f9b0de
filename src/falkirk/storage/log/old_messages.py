"""Messages of magic 0 and 1 as records of a batch of magic 2: clients from before Kafka 0.11 produce them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.compression import Compression, UncompressedTooLargeError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.message_set import (
    MESSAGES_AT_ONCE,
    CorruptMessageError,
    Message,
    MessageTooLargeError,
    read_in_slices,
    unwrap,
)
from falkirk.protocol.record import Record
from falkirk.storage.log.append import AppendRefusedError, RecordError
from falkirk.storage.log.record_checks import FAULTS_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.slices import Slices
    from falkirk.storage.log.record_checks import RecordChecks, RecordFault


def decode_old_messages(
    view: memoryview, checks: RecordChecks, *, bytes_max: int
) -> Slices[tuple[Compression, Sequence[Record]]]:
    """Return their codec, and the checked records with offsets 0, 1, 2, ...

    Raises AppendRefusedError as `validate_produced` does. Source: LogValidator.convertAndAssignOffsetsNonCompressed and
    validateMessagesAndAssignOffsetsCompressed.
    """
    try:
        messages = yield from read_in_slices(view, message_bytes_max=checks.config.max_message_bytes)
        wrapper = messages[0]
        if len(messages) > 1 or wrapper.codec_number == Compression.NONE:
            return Compression.NONE, (yield from _plain_records(messages, checks))
        inner = yield from unwrap(wrapper, bytes_max=bytes_max)
    except CorruptMessageError as error:
        raise AppendRefusedError(ErrorCode.CORRUPT_MESSAGE, error.reason) from error
    except (MessageTooLargeError, UncompressedTooLargeError) as too_large:
        raise AppendRefusedError(ErrorCode.MESSAGE_TOO_LARGE, too_large.reason) from too_large
    except RemoteProtocolError as protocol_error:
        reason = f"{protocol_error.reason} in topic partition {checks.topic}"
        raise AppendRefusedError(ErrorCode.INVALID_RECORD, reason) from protocol_error
    return Compression(wrapper.codec_number), (yield from _inner_records(inner, wrapper, checks))


def _plain_records(messages: Sequence[Message], checks: RecordChecks) -> Slices[list[Record]]:
    # To Kafka each is a batch of its own: only the first faulty one is reported.
    first = messages[0]
    records: list[Record] = []
    for message in messages:
        if message.codec_number != Compression.NONE:
            raise RemoteProtocolError("Compressed outer record has more than one batch", offset=0)
        if message.magic != first.magic:
            reason = f"Batch magic {message.magic} is not the same as the first batch's magic byte {first.magic}"
            raise RemoteProtocolError(reason, offset=0)
        # Its offset is 0 until it is checked, for it is the first of its batch.
        checks.refuse((checks.fault(_record(message, 0), 0, is_log_append_time=message.is_log_append_time),))
        records.append(_record(message, len(records)))
        if len(records) % MESSAGES_AT_ONCE == 0:
            yield
    return records


def _inner_records(messages: Sequence[Message], wrapper: Message, checks: RecordChecks) -> Slices[list[Record]]:
    faults: list[RecordFault] = []
    records: list[Record] = []
    for index, message in enumerate(messages):
        record = _record(message, index)
        fault = _magic_fault(message, wrapper, index, checks) or checks.fault(
            record, index, is_log_append_time=wrapper.is_log_append_time
        )
        if fault is not None:
            faults.append(fault)
            if len(faults) >= FAULTS_MAX:
                break
        records.append(record)
        if len(records) % MESSAGES_AT_ONCE == 0:
            yield
    checks.refuse(faults)
    return records


def _magic_fault(message: Message, wrapper: Message, index: int, checks: RecordChecks) -> RecordFault | None:
    if message.magic == wrapper.magic:
        return None
    text = f"Record's magic {message.magic} does not match outer magic {wrapper.magic}"
    return ErrorCode.INVALID_RECORD, RecordError(batch_index=index, message=f"{text} in topic partition {checks.topic}")


def _record(message: Message, offset: int) -> Record:
    return Record(offset=offset, timestamp=message.timestamp, key=message.key, value=message.value)
