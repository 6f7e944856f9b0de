"""Record batches of magic 2 as messages of magic 0 and 1, for clients from before Kafka 0.11 (Fetch v0 to v3).

The layout of a message is in `message_set`. Headers, producers and control batches have no place there and are left
out. Differs from Kafka: what was compressed is not compressed again.
"""

import struct
import zlib
from typing import Final

from falkirk.protocol.compression import UNCOMPRESSED_BYTES_MAX, Compression
from falkirk.protocol.record import Record
from falkirk.protocol.record_batch import LOG_APPEND_TIME_BIT, IncompleteBatchError, RecordBatch, read_batches

_FRAME: Final = struct.Struct(">qiI")
_CRC_BYTES: Final = 4
_START_0: Final = struct.Struct(">bb")
_START_1: Final = struct.Struct(">bbq")
_LENGTH: Final = struct.Struct(">i")
_NULL: Final = b"\xff\xff\xff\xff"


class NotConvertibleError(Exception):
    """Records of a codec that old clients do not know (KIP-110)."""


def down_converted(records: bytes | memoryview, *, magic: int, first_offset: int) -> bytes:
    """Return the records from `first_offset` on as messages of `magic` (0 or 1), without a truncated last batch.

    Raises NotConvertibleError for zstd, RemoteProtocolError for what cannot be read.
    """
    messages: list[bytes] = []
    left = UNCOMPRESSED_BYTES_MAX
    try:
        for batch in read_batches(records, check_crc=False):
            if batch.is_control:
                continue
            if batch.compression is Compression.ZSTD:
                raise NotConvertibleError
            for record in batch.records(bytes_max=left):
                if record.offset >= first_offset:
                    messages.append(_message(record, batch, magic))
                    left -= len(messages[-1])
            if left <= 0:
                break
    except IncompleteBatchError:
        pass
    return b"".join(messages)


def _message(record: Record, batch: RecordBatch, magic: int) -> bytes:
    if magic == 0:
        start = _START_0.pack(0, 0)
    else:
        start = _START_1.pack(1, LOG_APPEND_TIME_BIT * batch.is_log_append_time, record.timestamp)
    body = start + _field(record.key) + _field(record.value)
    return _FRAME.pack(record.offset, len(body) + _CRC_BYTES, zlib.crc32(body)) + body


def _field(data: bytes | None) -> bytes:
    return _NULL if data is None else _LENGTH.pack(len(data)) + data
