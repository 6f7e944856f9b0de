"""A log or snapshot as text, line for line as Kafka's dump tool prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.dump.control_text import control_text
from falkirk.dump.log_reader import records_of
from falkirk.dump.metadata_decoder import MetadataDecoder
from falkirk.dump.record_decoder import UndecodableRecordError
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.lax_reader import decoded
from falkirk.protocol.record import decode_values
from falkirk.protocol.record_batch import NO_SEQUENCE
from falkirk.storage.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.dump.options import DumpOptions
    from falkirk.dump.tool import DumpText
    from falkirk.protocol.record import Record
    from falkirk.protocol.record_batch import RecordBatch

_BOOLEANS: Final = ("false", "true")
_INT32_MAX: Final = 0x7FFFFFFF
_INT32_BIT: Final = 1 << 31


class LogText:
    """Writes the batches of one file. `on_record` is called with the offset of every record, in order."""

    def __init__(self, options: DumpOptions, text: DumpText, *, file: str, on_record: Callable[[int], None]) -> None:
        self._options = options
        self._text = text
        self._file = file
        self._on_record = on_record

    def batch(self, batch: RecordBatch, *, is_valid: bool) -> Iterator[str]:
        """Yield the lines of a batch, whole lines in every piece.

        Raises CorruptFileError where the tool ends, after everything that it prints before.
        """
        if self._options.shows_batch_metadata:
            yield batch_line(batch, self._file, is_valid=is_valid) + "\n"
        if not self._options.is_deep:
            return
        kraft = self._kraft_records(batch)
        if kraft is not None:
            yield kraft
            return
        lines: list[str] = []
        try:
            for record in records_of(batch, self._file):
                self._on_record(record.offset)
                self._record(record, batch, lines)
        except CorruptFileError:
            # What the tool printed before it ended.
            yield "".join(lines)
            raise
        yield "".join(lines)

    def _kraft_records(self, batch: RecordBatch) -> str | None:
        """Return the records of a batch in the shape that KRaft writes; None for any other shape."""
        decoder = self._options.decoder
        if not isinstance(decoder, MetadataDecoder) or batch.is_control or not self._options.shows_contents:
            return None
        if batch.record_count < 0 or batch.base_sequence >= 0:
            return None
        try:
            values = decode_values(batch.uncompressed(), batch.record_count)
        except RemoteProtocolError:
            return None
        if values is None:
            return None
        timestamp = batch.max_timestamp if batch.is_log_append_time else batch.base_timestamp
        stamp = f"{timestamp_type(batch)}: {timestamp} keySize: -1 valueSize:"
        lines = []
        for offset, value in enumerate(values, batch.base_offset):
            self._on_record(offset)
            payload = decoder.payload(value, offset)
            if self._options.shows_record_metadata:
                lines.append(
                    f"| offset: {offset} {stamp} {len(value)} sequence: -1 headerKeys: [] payload: {payload}\n"
                )
            else:
                lines.append(f"{self._indent(is_first=True)}payload: {payload}\n")
        return "".join(lines)

    def _record(self, record: Record, batch: RecordBatch, lines: list[str]) -> None:
        line = record_metadata(record, batch) if self._options.shows_record_metadata else ""
        try:
            if batch.is_control:
                line += control_text(record, self._text) if self._options.shows_record_metadata else ""
            elif self._options.shows_contents:
                line += self._contents(record)
        except RemoteProtocolError as error:
            raise self._ended(error.reason, record, batch) from error
        except UndecodableRecordError as undecodable:
            raise self._ended(str(undecodable), record, batch) from undecodable
        finally:
            lines.append(line + "\n")

    def _ended(self, reason: str, record: Record, batch: RecordBatch) -> CorruptFileError:
        where = f"record of offset {record.offset}, batch of offset {batch.base_offset}"
        return CorruptFileError(f"{reason}, {where}", offset=batch.position, file=self._file)

    def _contents(self, record: Record) -> str:
        found = self._options.decoder.text(record)
        is_first = not self._options.shows_record_metadata
        line = ""
        if found.key is not None:
            line = f"{self._indent(is_first=is_first, is_key=True)}key: {found.key}"
            is_first = False
        if found.payload is not None:
            line += f"{self._indent(is_first=is_first)}payload: {found.payload}"
        return line

    def _indent(self, *, is_first: bool, is_key: bool = False) -> str:
        """Return the text before a key or payload: a bar at the start of a line, up to 4.2 only before keys."""
        return "| " if is_first and (is_key or self._text.is_java) else " "


def batch_line(batch: RecordBatch, file: str, *, is_valid: bool) -> str:
    """Write a batch's header. Raises CorruptFileError for a codec that Kafka does not know."""
    horizon = batch.delete_horizon_ms
    return (
        f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {batch.record_count} "
        f"baseSequence: {batch.base_sequence} lastSequence: {last_sequence(batch)} "
        f"producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch} "
        f"partitionLeaderEpoch: {batch.leader_epoch} isTransactional: {_BOOLEANS[batch.is_transactional]} "
        f"isControl: {_BOOLEANS[batch.is_control]} deleteHorizonMs: {optional_long(horizon)} "
        f"position: {batch.position} {timestamp_type(batch)}: {batch.max_timestamp} size: {batch.size} "
        f"magic: {batch.magic} compresscodec: {codec_name(batch, file)} crc: {batch.crc} isvalid: {_BOOLEANS[is_valid]}"
    )


def codec_name(batch: RecordBatch, file: str) -> str:
    """Return Kafka's name of the codec. Raises CorruptFileError for one that it does not know."""
    try:
        return batch.compression.name.lower()
    except RemoteProtocolError as error:
        reason = f"{error.reason}, batch of offset {batch.base_offset}"
        raise CorruptFileError(reason, offset=error.offset, file=file) from error


def record_metadata(record: Record, batch: RecordBatch) -> str:
    """Write everything about a record except its contents."""
    key_size = -1 if record.key is None else len(record.key)
    value_size = -1 if record.value is None else len(record.value)
    headers = ",".join(header_key(key) for key, _ in record.headers)
    return (
        f"| offset: {record.offset} {timestamp_type(batch)}: {record.timestamp} keySize: {key_size} "
        f"valueSize: {value_size} sequence: {record_sequence(record, batch)} headerKeys: [{headers}]"
    )


def header_key(key: str) -> str:
    """Return a header's key as Java reads it; ours carries bytes that are not UTF-8 as surrogates."""
    return key if key.isascii() else decoded(key.encode("utf-8", "surrogateescape"))


def timestamp_type(batch: RecordBatch) -> str:
    """Return the type of the batch's timestamps."""
    return "LogAppendTime" if batch.is_log_append_time else "CreateTime"


def last_sequence(batch: RecordBatch) -> int:
    """Return the sequence number of the last record; -1 without a producer."""
    if batch.base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    return _advance(batch.base_sequence, batch.last_offset_delta)


def record_sequence(record: Record, batch: RecordBatch) -> int:
    """Return the sequence number of a record; -1 without a producer."""
    if batch.base_sequence < 0:
        return NO_SEQUENCE
    return _advance(batch.base_sequence, record.offset - batch.base_offset)


def optional_long(value: int | None) -> str:
    """Format like an `OptionalLong`."""
    return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"


def _advance(sequence: int, increment: int) -> int:
    """Add to a sequence number, which wraps to 0 after the largest int; overflows as in Java."""
    if sequence > _int32(_INT32_MAX - increment):
        return _int32(increment - (_INT32_MAX - sequence) - 1)
    return _int32(sequence + increment)


def _int32(value: int) -> int:
    return ((value & 0xFFFFFFFF) ^ _INT32_BIT) - _INT32_BIT
