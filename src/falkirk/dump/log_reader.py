"""Batches and records of a log as Kafka's dump tool walks over them, damaged ones included.

The tool hops from length to length, prints what the headers say, and decodes records whether the CRC is right or not.
It ends at an impossible length and at a record that does not parse; an incomplete batch at the end is left over.
`storage.SegmentReader` is stricter: whatever it returns can be trusted.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record import Record, decode_records
from falkirk.protocol.record_batch import (
    COMPRESSION_MASK,
    HEADER,
    HEADER_BYTES,
    LENGTH_END,
    MAGIC,
    MAGIC_AT,
    RecordBatch,
)
from falkirk.protocol.varint import decode_varint
from falkirk.storage.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

_OFFSET_AND_LENGTH: Final = struct.Struct(">qi")
_UP_TO_MAGIC_BYTES: Final = 17
# Bytes of the shortest message of magic 0.
_OLD_LENGTH_MIN: Final = 14
# Kafka reads the magic as a signed byte, and reads every one from 2 on as 2.
_MAGIC_MAX: Final = 0x7F


class LogReader:
    """Iterates the batches in `bytes_max` bytes from `position` on; afterwards `position` is where they end.

    A batch may be shorter than its own header (`size` below 61): then the rest of the header is read from what follows.
    """

    def __init__(self, data: memoryview, *, file: str, position: int = 0, bytes_max: int | None = None) -> None:
        self._data = data
        self.file = file
        self.size = len(data) if bytes_max is None else min(len(data), position + bytes_max)
        self.position = position

    def __iter__(self) -> Iterator[RecordBatch]:
        """Yield batch after batch. Raises CorruptFileError where the tool ends, naming the byte and the batch."""
        while self.position < self.size - _UP_TO_MAGIC_BYTES:
            base_offset, length = _OFFSET_AND_LENGTH.unpack_from(self._data, self.position)
            if length < _OLD_LENGTH_MIN:
                raise self._no_batch(base_offset, length)
            if length > self.size - LENGTH_END - self.position:
                return
            magic = self._data[self.position + MAGIC_AT]
            # The tool reads a header past the end of a batch that is too short for one.
            if len(self._data) - self.position < HEADER_BYTES or not MAGIC <= magic <= _MAGIC_MAX:
                raise self._no_batch(base_offset, length)
            batch = RecordBatch(self._data, self.position, *HEADER.unpack_from(self._data, self.position))
            yield batch
            self.position += batch.size

    def torn(self) -> str | None:
        """Return what is wrong with the tail behind the last batch; None if there is none."""
        left = self.size - self.position
        if left <= 0:
            return None
        where = f"torn at byte {self.position} of {self.size}"
        if left <= _UP_TO_MAGIC_BYTES:
            return f"{where}: {left} bytes are left, a batch has a header of {HEADER_BYTES}"
        base_offset, length = _OFFSET_AND_LENGTH.unpack_from(self._data, self.position)
        return f"{where}: batch of offset {base_offset} takes {length + LENGTH_END} bytes, {left} are left"

    def _no_batch(self, base_offset: int, length: int) -> CorruptFileError:
        """Return why the tool ends here, or why we do: it also prints message sets of magic 0 and 1."""
        magic = self._data[self.position + MAGIC_AT]
        if not any(self._data[self.position : self.position + HEADER_BYTES]):
            left = self.size - self.position
            reason = f"torn at byte {self.position} of {self.size}: {left} bytes are left that begin with zeros"
            reason += ", as in a preallocated file"
        elif magic < MAGIC and length >= _OLD_LENGTH_MIN:
            reason = f"message set of magic {magic} (before Kafka 0.11) at offset {base_offset} is not supported"
        elif magic > _MAGIC_MAX:
            reason = f"batch of offset {base_offset} has magic {magic}, {MAGIC} was expected"
        else:
            least = HEADER_BYTES - LENGTH_END
            reason = f"batch of offset {base_offset} declares a length of {length} bytes, {least} are the least"
        return CorruptFileError(reason, offset=self.position, file=self.file)


def is_valid_batch(batch: RecordBatch) -> bool:
    """Return whether a batch is long enough for a header, and its CRC is right."""
    return batch.size >= HEADER_BYTES and batch.crc_is_valid


def records_of(batch: RecordBatch, file: str) -> Iterator[Record]:
    """Yield the records of a batch, up to the first that does not parse.

    Raises CorruptFileError there, naming the batch and its byte in the file.
    """
    if batch.size < HEADER_BYTES:
        reason = f"batch of offset {batch.base_offset} takes {batch.size} bytes, a header takes {HEADER_BYTES}"
        raise CorruptFileError(reason, offset=batch.position, file=file)
    try:
        records = batch.records()
    except RemoteProtocolError as error:
        found = _one_by_one(batch, file, error)
        # The tool reads all records of a compressed batch before it prints the first.
        yield from list(found) if batch.attributes & COMPRESSION_MASK else found
    else:
        yield from records


def _one_by_one(batch: RecordBatch, file: str, error: RemoteProtocolError) -> Iterator[Record]:
    """Yield the records before the invalid one; as in the tool, the offset of the last may be behind the batch."""
    if batch.record_count < 0:
        raise CorruptFileError(_named(error.reason, batch), offset=error.offset, file=file) from error
    at = 0
    try:
        data = batch.uncompressed()
        for index in range(batch.record_count):
            size, start = decode_varint(data, at)
            is_last = index == batch.record_count - 1
            end = len(data) if is_last else start + size
            [record] = decode_records(
                data[at:end],
                count=1,
                base_offset=batch.base_offset,
                base_timestamp=batch.base_timestamp,
                log_append_time=batch.max_timestamp if batch.is_log_append_time else None,
            )
            at = end
            yield record
    except RemoteProtocolError:
        raise CorruptFileError(_named(error.reason, batch), offset=error.offset, file=file) from error


def _named(reason: str, batch: RecordBatch) -> str:
    name = f"batch of offset {batch.base_offset}"
    return reason if name in reason else f"{reason}, {name}"
