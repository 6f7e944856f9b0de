"""Records as clients of all ages produce them, and invalid ones, from a seed."""

import random
import struct
import zlib
from collections.abc import Iterator

from crc32c import crc32c
from validator_judge import Produced

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression, compress
from falkirk.protocol.record import Record
from falkirk.storage.log.log_config import LogConfig

NOW = 1_700_000_000_000
FOREVER = 2**63 - 1
_HEADER_FIELDS = (
    (0, 8),
    (8, 4),
    (12, 4),
    (16, 1),
    (21, 2),
    (23, 4),
    (27, 8),
    (35, 8),
    (43, 8),
    (51, 2),
    (53, 4),
    (57, 4),
)


def produced_records(seed: int, count: int, *, versions: tuple[int, ...]) -> Iterator[Produced]:
    """Yield `count` of them; `versions` are those of Produce, below 3 with messages of magic 0 and 1 too."""
    chance = random.Random(seed)
    for _ in range(count):
        version = chance.choice(versions)
        is_old = 0 <= version < 3 and chance.random() < 0.8
        records = _old_messages(chance) if is_old else _batch(chance, is_clients=version >= 0)
        if chance.random() < 0.5:
            records = _mangled(chance, records)
        yield Produced(records=records, config=_config(chance), version=version, now_ms=NOW)


def _config(chance: random.Random) -> LogConfig:
    return LogConfig(
        compression_type=chance.choice(("producer", "producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")),
        message_timestamp_type=chance.choice(("CreateTime", "CreateTime", "LogAppendTime")),
        message_timestamp_before_max_ms=chance.choice((FOREVER, FOREVER, 1000)),
        message_timestamp_after_max_ms=chance.choice((FOREVER, 3_600_000, 100)),
        cleanup_policy=frozenset(chance.choice((("delete",), ("delete",), ("compact",), ("compact", "delete")))),
        max_message_bytes=chance.choice((1_048_588, 1_048_588, 200)),
    )


def _records(chance: random.Random) -> list[Record]:
    count = chance.choice((1, 1, 2, 5, 70, 200))
    spread = chance.choice((0, 3, 150, 20_000))
    start = chance.choice((NOW, NOW - 500, NOW - 5000, NOW + 50, 0, -1))
    return [
        Record(
            index,
            -1 if start == -1 else start + chance.randint(-min(spread, start), spread),
            chance.choice((None, b"", b"key-%d" % index)) if chance.random() < 0.3 else b"key-%d" % index,
            chance.choice((None, b"", chance.randbytes(chance.randint(1, 100)), b"x" * chance.randint(1, 10_000))),
            tuple((f"h{each}", chance.choice((None, b"", b"v" * 70))) for each in range(chance.choice((0, 0, 0, 2)))),
        )
        for index in range(count)
    ]


def _batch(chance: random.Random, *, is_clients: bool) -> bytes:
    has_producer = chance.random() < 0.5
    return build_batch(
        _records(chance),
        base_offset=0,
        leader_epoch=chance.choice((-1, 0, 7)),
        compression=chance.choice(tuple(Compression)),
        producer_id=chance.choice((0, 12)) if has_producer else -1,
        producer_epoch=chance.choice((0, 5)) if has_producer else -1,
        base_sequence=chance.choice((0, 77, FOREVER & 0x7FFFFFFF)) if has_producer else -1,
        is_transactional=has_producer and chance.random() < 0.3,
        is_control=chance.random() < (0.02 if is_clients else 0.5),
        log_append_time=NOW if chance.random() < 0.03 else None,
    )


def _old_messages(chance: random.Random) -> bytes:
    magic = chance.choice((0, 1))
    codec = chance.choice((Compression.NONE, Compression.NONE, *tuple(Compression)[1:4]))
    attributes = 8 if magic and chance.random() < 0.05 else 0
    messages = [
        _message(magic, each, is_sound=chance.random() > 0.002) if chance.random() < 0.97 else _message(1 - magic, each)
        for each in _records(chance)[:20]
    ]
    if codec is Compression.NONE:
        return b"".join(messages)
    wrapper = Record(
        chance.choice((0, len(messages) - 1, len(messages) + 4)), NOW, None, compress(codec, b"".join(messages))
    )
    return _message(magic, wrapper, attributes=codec | attributes)


def _message(magic: int, record: Record, *, attributes: int = 0, is_sound: bool = True) -> bytes:
    body = struct.pack(">bB", magic, attributes) + (struct.pack(">q", record.timestamp) if magic else b"")
    for field in (record.key, record.value):
        body += struct.pack(">i", -1 if field is None else len(field)) + (field or b"")
    return struct.pack(">qiI", record.offset, len(body) + 4, zlib.crc32(body) ^ (not is_sound)) + body


def _mangled(chance: random.Random, records: bytes) -> bytes:
    kind = chance.randrange(6)
    if kind == 0:
        return records[: chance.randint(0, len(records))]
    if kind == 1:
        return records + chance.choice((b"\0" * 5, chance.randbytes(30), records, records[:-1]))
    out = bytearray(records)
    if kind == 2:
        out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
    elif kind == 3 and len(out) > 61:
        at, size = chance.choice(_HEADER_FIELDS)
        value = chance.choice(
            (0, 1, 2, 5, 13, 14, 48, 49, 50, NOW, (1 << 8 * size - 1) - 1, -1, -2, 1 << 5, 1 << 6, 1 << 3)
        )
        out[at : at + size] = (value % (1 << 8 * size)).to_bytes(size, "big")
    elif kind == 4 and len(out) > 61:
        out[chance.randrange(61, min(len(out), 75))] = chance.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
    else:
        out[chance.randrange(21, max(len(out), 22)) % len(out)] = chance.randrange(256)
    if chance.random() < 0.9 and len(out) > 21 and out[16] == 2:
        out[17:21] = crc32c(bytes(out[21:])).to_bytes(4, "big")
    return bytes(out)
