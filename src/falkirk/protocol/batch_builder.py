"""Writes record batches of magic 2, as Kafka's own builders do, byte for byte (but for a codec's choices)."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

from crc32c import crc32c

from falkirk.protocol.compression import Compression, compress
from falkirk.protocol.errors import LocalProtocolError
from falkirk.protocol.record import Record, encode_record, kraft_record_heads
from falkirk.protocol.record_batch import (
    ATTRIBUTES_AT,
    CONTROL_BIT,
    CRC_AT,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_BYTES,
    LENGTH_END,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
)
from falkirk.protocol.varint import encode_varlong

_INT32_MAX = 0x7FFFFFFF
# Sizes repeat: a lookup costs a third of encoding them again.
_size_varint = lru_cache(maxsize=1 << 14)(encode_varlong)


def build_batch(  # one argument for each field of the header
    records: Sequence[Record],
    *,
    base_offset: int,
    last_offset: int | None = None,
    leader_epoch: int = NO_LEADER_EPOCH,
    compression: Compression = Compression.NONE,
    log_append_time: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """Write records that have increasing offsets from `base_offset` on; gaps are allowed.

    The base timestamp is the first record's, or the delete horizon; the max timestamp is the largest of the records,
    or `log_append_time`. `last_offset` beyond the last record keeps the place of records that were removed.
    Raises LocalProtocolError without records (see `empty_batch`) or if offsets do not fit.
    """
    _check_offsets(records, base_offset, last_offset)
    if log_append_time is not None:
        base_timestamp = max_timestamp = log_append_time
    else:
        base_timestamp = records[0].timestamp
        max_timestamp = max(NO_TIMESTAMP, *(record.timestamp for record in records))
    if delete_horizon_ms is not None:
        base_timestamp = delete_horizon_ms
    body = b"".join(
        encode_record(_at_append_time(record, log_append_time), base_offset=base_offset, base_timestamp=base_timestamp)
        for record in records
    )
    attributes = (
        compression
        | LOG_APPEND_TIME_BIT * (log_append_time is not None)
        | TRANSACTIONAL_BIT * is_transactional
        | CONTROL_BIT * is_control
        | DELETE_HORIZON_BIT * (delete_horizon_ms is not None)
    )
    return assemble_batch(
        compress(compression, body),
        base_offset=base_offset,
        last_offset_delta=(records[-1].offset if last_offset is None else last_offset) - base_offset,
        leader_epoch=leader_epoch,
        attributes=attributes,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(records),
    )


def assemble_batch(
    body: bytes | bytearray,
    *,
    base_offset: int,
    last_offset_delta: int,
    leader_epoch: int,
    attributes: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    record_count: int,
) -> bytes:
    """Put a header with length and CRC before records that are encoded (and compressed) already."""
    header = bytearray(HEADER_BYTES)
    HEADER.pack_into(
        header,
        0,
        base_offset,
        HEADER_BYTES + len(body) - LENGTH_END,
        leader_epoch,
        MAGIC,
        0,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    )
    # A body has up to 8 MiB: it is copied once.
    crc = crc32c(body, crc32c(header[ATTRIBUTES_AT:]))
    header[CRC_AT:ATTRIBUTES_AT] = crc.to_bytes(4, "big")
    return b"".join((header, body))


class ValueBatchBuilder:
    """Collects values into one batch as KRaft writes them: null keys, no headers, all timestamp deltas 0.

    A metadata log may hold no other batches: a delta of a few ms ends a 4.3.1 broker.
    """

    def __init__(self, *, base_offset: int, leader_epoch: int, timestamp_ms: int) -> None:
        self.base_offset = base_offset
        self._leader_epoch = leader_epoch
        self._timestamp_ms = timestamp_ms
        self._body = bytearray()
        self._count = 0

    @property
    def count(self) -> int:
        """Records so far."""
        return self._count

    @property
    def size(self) -> int:
        """Bytes that the batch would have now."""
        return HEADER_BYTES + len(self._body)

    def encode(self, values: Sequence[bytes]) -> bytearray:
        """Encode `values` as the next records of the batch, without adding them."""
        out = bytearray()
        heads = kraft_record_heads(self._count + len(values))
        for head, value in zip(islice(heads, self._count, None), values, strict=True):
            size = len(value)
            value_size = _size_varint(size)
            out += _size_varint(len(head) + len(value_size) + size + 1)
            out += head
            out += value_size
            out += value
            out.append(0)
        return out

    def add(self, encoded: bytes | bytearray, count: int) -> None:
        """Add the bytes that `encode` just returned for `count` values."""
        self._body += encoded
        self._count += count

    def extend(self, values: Sequence[bytes]) -> None:
        """Add records."""
        self.add(self.encode(values), len(values))

    def build(self) -> bytes:
        """Return the batch. Raises LocalProtocolError without records: KRaft has no empty batches."""
        if not self._count:
            raise LocalProtocolError("a batch needs at least one record")
        return assemble_batch(
            self._body,
            base_offset=self.base_offset,
            last_offset_delta=self._count - 1,
            leader_epoch=self._leader_epoch,
            attributes=0,
            base_timestamp=self._timestamp_ms,
            max_timestamp=self._timestamp_ms,
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_PRODUCER_EPOCH,
            base_sequence=NO_SEQUENCE,
            record_count=self._count,
        )


def _check_offsets(records: Sequence[Record], base_offset: int, last_offset: int | None) -> None:
    if not records:
        raise LocalProtocolError("a batch needs at least one record")
    previous = base_offset - 1
    for record in records:
        if record.offset <= previous:
            raise LocalProtocolError(f"offset {record.offset} follows {previous}, offsets must increase")
        previous = record.offset
    if last_offset is not None and last_offset < previous:
        raise LocalProtocolError(f"last offset {last_offset} is below that of the last record, {previous}")
    if (previous if last_offset is None else last_offset) - base_offset > _INT32_MAX:
        raise LocalProtocolError(f"offsets reach {_INT32_MAX} beyond the base offset {base_offset}")


def _at_append_time(record: Record, log_append_time: int | None) -> Record:
    if log_append_time is None or record.timestamp == log_append_time:
        return record
    return Record(record.offset, log_append_time, record.key, record.value, record.headers, record.attributes)
