"""Record batches of magic 2: a header of 61 bytes, then records, compressed together if the attributes say so.

base offset int64 | length int32 (bytes behind it) | leader epoch int32 | magic int8 | CRC-32C uint32 |
attributes int16 | last offset delta int32 | base timestamp int64 | max timestamp int64 | producer id int64 |
producer epoch int16 | base sequence int32 | record count int32 | records

The CRC covers everything from the attributes on: a base offset, a length, a leader epoch or a magic that flips is
only seen by its context (the order of offsets and epochs, the place where the next batch begins).
"""

import struct
from collections.abc import Iterator, Sequence

from crc32c import crc32c

from falkirk.protocol.compression import UNCOMPRESSED_BYTES_MAX, Compression, decompress
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record import (
    RECORD_BYTES_MIN,
    Record,
    decode_key_values,
    decode_records,
    decode_value_runs,
    decode_values,
)
from falkirk.structs import FrozenLeaf

HEADER_BYTES = 61
LENGTH_AT = 8
LENGTH_END = 12
"""Where the length field ends: a batch takes this many bytes more than its length says."""
MAGIC_AT = 16
CRC_AT = 17
ATTRIBUTES_AT = 21
MAGIC = 2

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_TIMESTAMP = -1
NO_LEADER_EPOCH = -1

COMPRESSION_MASK = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40

HEADER = struct.Struct(">qiibIhiqqqhii")
"""All header fields in file order."""
_OFFSET_MAX = (1 << 63) - 1
_USUAL_TIMESTAMP_MAX = 1 << 62


class IncompleteBatchError(RemoteProtocolError):
    """The buffer ends inside a batch: what a fetch cut at a byte limit, or a write that never finished, leaves."""


class RecordBatch(FrozenLeaf):
    """A view of one batch in `buffer` at `position`; nothing is copied or decoded until it is asked for."""

    buffer: "memoryview"
    position: int
    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """All bytes of the batch, header included."""
        return self.length + LENGTH_END

    @property
    def end_position(self) -> int:
        """Where the next batch begins in the same buffer."""
        return self.position + self.length + LENGTH_END

    @property
    def last_offset(self) -> int:
        """Offset of the last record that the batch was made with; that record itself may be compacted away."""
        return self.base_offset + self.last_offset_delta

    @property
    def end_offset(self) -> int:
        """First offset behind the batch."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record (sequences wrap around at 2^31), or -1 without a producer."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def compression(self) -> Compression:
        """Codec of the records. Raises RemoteProtocolError for a codec number that Kafka does not know."""
        number = self.attributes & COMPRESSION_MASK
        if number > Compression.ZSTD:
            raise RemoteProtocolError(f"batch has unknown codec {number}", offset=self.position + ATTRIBUTES_AT)
        return Compression(number)

    @property
    def is_log_append_time(self) -> bool:
        """The broker set one timestamp for all records: the max timestamp."""
        return bool(self.attributes & LOG_APPEND_TIME_BIT)

    @property
    def is_transactional(self) -> bool:
        """The batch belongs to a transaction (data or its end marker)."""
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        """The records are control records (see `control_record`), not data."""
        return bool(self.attributes & CONTROL_BIT)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the cleaner may drop the batch's tombstones and markers; kept in the base timestamp (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None

    @property
    def data(self) -> memoryview:
        """All bytes of the batch, not copied."""
        return self.buffer[self.position : self.position + self.length + LENGTH_END]

    @property
    def crc_is_valid(self) -> bool:
        """The stored CRC fits the bytes."""
        return self.crc == self.computed_crc

    @property
    def computed_crc(self) -> int:
        """CRC-32C of the bytes from the attributes on."""
        return crc32c(self.buffer[self.position + ATTRIBUTES_AT : self.position + self.length + LENGTH_END])

    def uncompressed(self, *, bytes_max: int = UNCOMPRESSED_BYTES_MAX) -> bytes:
        """Return the uncompressed bytes of the records, the input of `decode_records` and `split_records`."""
        start = self.position + HEADER_BYTES
        body = self.buffer[start : self.end_position]
        codec = self.compression
        if codec is Compression.NONE:
            return bytes(body)
        # Kafka writes no codec frame for a batch whose records the cleaner has all removed.
        if self.record_count == 0 and not body:
            return b""
        return bytes(decompress(codec, body, offset=start, bytes_max=bytes_max))

    def records(self, *, bytes_max: int = UNCOMPRESSED_BYTES_MAX) -> list[Record]:
        """Decode the records, at most `bytes_max` bytes of them.

        Raises RemoteProtocolError if they do not fit the header; its offset counts from the start of `buffer`, for
        compressed records it is that of the first record's byte, and the reason names the byte behind the codec.
        """
        data = self.uncompressed(bytes_max=bytes_max)
        try:
            records = decode_records(
                data,
                count=self.record_count,
                base_offset=self.base_offset,
                base_timestamp=self.base_timestamp,
                log_append_time=self.max_timestamp if self.is_log_append_time else None,
            )
        except RemoteProtocolError as error:
            raise self._located(error) from error
        if records and records[-1].offset > self.last_offset:
            reason = f"record of offset {records[-1].offset} in a batch that ends at {self.last_offset}"
            raise RemoteProtocolError(reason, offset=self.position)
        return records

    def values(self, *, bytes_max: int = UNCOMPRESSED_BYTES_MAX) -> list[bytes]:
        """Return the values of a KRaft data batch, in order.

        Raises RemoteProtocolError as `records` does, and if a record has no value.
        """
        data = self.uncompressed(bytes_max=bytes_max)
        try:
            values = decode_values(data, self.record_count)
        except RemoteProtocolError as error:
            raise self._located(error) from error
        if values is not None:
            return values
        values = []
        for record in self.records(bytes_max=bytes_max):
            if record.value is None:
                raise RemoteProtocolError(f"record of offset {record.offset} has no value", offset=self.position)
            values.append(record.value)
        return values

    def value_runs(self, run_length: int) -> Iterator[list[bytes]]:
        """Yield what `values` returns in runs of some records; raises as that does, when it comes to the place."""
        done = 0
        try:
            for run in decode_value_runs(self.uncompressed(), self.record_count, run_length):
                if run is None:
                    yield self.values()[done:]
                    return
                done += len(run)
                yield run
        except RemoteProtocolError as error:
            raise self._located(error) from error

    def key_values(self) -> Sequence[tuple[int, bytes | None, bytes | None]]:
        """Return (offset, key, value) of each record, quickly for records of coordinators; raises as `records` does.

        Offsets count from the batch's base offset.
        """
        found = decode_key_values(self.uncompressed(), self.record_count)
        if found and found[-1][0] <= self.last_offset_delta and abs(self.base_timestamp) < _USUAL_TIMESTAMP_MAX:
            return found
        return [(record.offset - self.base_offset, record.key, record.value) for record in self.records()]

    def _located(self, error: RemoteProtocolError) -> RemoteProtocolError:
        start = self.position + HEADER_BYTES
        batch = f"batch of offset {self.base_offset}"
        if self.compression is Compression.NONE:
            return RemoteProtocolError(f"{error.reason}, {batch}", offset=start + error.offset)
        reason = f"{error.reason}, {batch}, byte {error.offset} of its uncompressed records"
        return RemoteProtocolError(reason, offset=start)


def read_batch(buffer: memoryview, position: int, *, check_crc: bool = True) -> RecordBatch:
    """Read the header of the batch at `position` and check what can be checked without decoding records.

    Raises IncompleteBatchError if the buffer ends inside the batch, RemoteProtocolError if a field is impossible,
    the magic is not 2 (message sets of magic 0 and 1 are named), or the CRC does not fit.
    """
    left = len(buffer) - position
    if left < HEADER_BYTES:
        _reject_short_header(buffer, position)
    batch = RecordBatch(buffer, position, *HEADER.unpack_from(buffer, position))
    if batch.magic != MAGIC:
        raise _wrong_magic(batch.magic, position)
    if batch.length < HEADER_BYTES - LENGTH_END:
        reason = f"batch declares a length of {batch.length} bytes, {HEADER_BYTES - LENGTH_END} are the least"
        raise RemoteProtocolError(reason, offset=position + 8)
    if batch.length > left - LENGTH_END:
        reason = f"batch of offset {batch.base_offset} takes {batch.size} bytes, {left} are left"
        raise IncompleteBatchError(reason, offset=position)
    if check_crc and not batch.crc_is_valid:
        reason = f"CRC of the batch of offset {batch.base_offset} is {batch.computed_crc}, it says {batch.crc}"
        raise RemoteProtocolError(reason, offset=position)
    _check_counts(batch)
    return batch


def read_batches(
    buffer: bytes | bytearray | memoryview, position: int = 0, *, check_crc: bool = True
) -> Iterator[RecordBatch]:
    """Hop from header to header through whole batches; raises as `read_batch` does.

    Without `check_crc` the cost is that of one header per batch, whatever the batches hold.
    """
    view = memoryview(buffer)
    end = len(view)
    while position < end:
        batch = read_batch(view, position, check_crc=check_crc)
        yield batch
        position += batch.length + LENGTH_END


def _check_counts(batch: RecordBatch) -> None:
    if batch.base_offset < 0 or not 0 <= batch.last_offset_delta <= _OFFSET_MAX - batch.base_offset:
        reason = f"batch has offsets from {batch.base_offset}, last offset delta {batch.last_offset_delta}"
        raise RemoteProtocolError(reason, offset=batch.position)
    if not 0 <= batch.record_count <= batch.last_offset_delta + 1:
        reason = f"batch declares {batch.record_count} records in {batch.last_offset_delta + 1} offsets"
        raise RemoteProtocolError(reason, offset=batch.position + HEADER_BYTES - 4)
    records_bytes = batch.length + LENGTH_END - HEADER_BYTES
    if not batch.attributes & COMPRESSION_MASK and batch.record_count * RECORD_BYTES_MIN > records_bytes:
        reason = f"batch declares {batch.record_count} records in {records_bytes} bytes"
        raise RemoteProtocolError(reason, offset=batch.position + HEADER_BYTES - 4)


def _reject_short_header(buffer: memoryview, position: int) -> None:
    left = len(buffer) - position
    # All formats have their magic at the same place: an old message set is named even where it is short.
    if left > MAGIC_AT and buffer[position + MAGIC_AT] != MAGIC:
        raise _wrong_magic(buffer[position + MAGIC_AT], position)
    raise IncompleteBatchError(f"{left} bytes are left, a batch has a header of {HEADER_BYTES}", offset=position)


def _wrong_magic(magic: int, position: int) -> RemoteProtocolError:
    if magic in (0, 1):
        reason = f"message set of magic {magic} (before Kafka 0.11) is not supported"
    else:
        reason = f"batch has magic {magic}, 2 was expected"
    return RemoteProtocolError(reason, offset=position + MAGIC_AT)
