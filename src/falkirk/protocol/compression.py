"""The five codecs of record batches, framed as Kafka's Java client frames them, with a bound on what comes out.

A batch does not say how large its records are once uncompressed, so every reader here stops at `bytes_max`: a
hostile batch costs at most a small multiple of what it really holds, and never more than that bound.
"""

import enum
import zlib
from collections.abc import Callable

import cramjam

from falkirk.protocol.errors import RemoteProtocolError

UNCOMPRESSED_BYTES_MAX = 256 * 1024 * 1024
"""Default bound. Producers limit a request to 1 MiB before compression, so real batches stay far below."""
# GZIP: zlib of the standard library, because it can be told where to stop. Java's header has no time, no name, and
# "unknown" as its operating system (since Java 16).
_GZIP_HEADER = bytes.fromhex("1f8b08000000000000ff")
_GZIP_WINDOW_BITS = 15
_GZIP_WRAPPER = 16
_UINT32 = 0xFFFFFFFF

# What follows on the first member is given to zlib in pieces: of each it copies what stands behind a member's end.
_GZIP_PIECE_BYTES = 4096

# SNAPPY: Java's SnappyOutputStream (xerial) writes a header and blocks of 32 KiB, each behind its length. Others
# (librdkafka, Sarama) write one raw block; a raw block can not begin with xerial's magic.
_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + (1).to_bytes(4, "big") + (1).to_bytes(4, "big")
_XERIAL_BLOCK_BYTES = 32 * 1024
# The densest element copies 64 bytes and takes 3: a raw block that promises more is not snappy.
_SNAPPY_RATIO_MAX = 22

# LZ4: frames of independent 64 KiB blocks, no checksum of the content; the last header byte is the right checksum of
# the two before it (magic 0 batches had a wrong one, and are not read here).
_LZ4_FRAME_HEADER = bytes.fromhex("04224d18604082")
_LZ4_BLOCK_BYTES = 64 * 1024
_LZ4_STORED = 0x80000000
_LZ4_END = bytes(4)

# ZSTD: Java's stream writes level 3 without the content's size in the frame.
_ZSTD_LEVEL = 3

_FIRST_GUESS = 4
_GROWTH = 4
_GUESS_BYTES_MIN = 4096
# What cramjam says when the output buffer is full; every other message means damaged data.
_BUFFER_FULL = "failed to write whole buffer"


class UncompressedTooLargeError(RemoteProtocolError):
    """More would come out than the caller allows: a bomb, or a batch beyond what the caller can hold."""


class Compression(enum.IntEnum):
    """Codec numbers as they stand in the lowest three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def compress(codec: Compression, data: bytes | bytearray) -> bytes:
    """Compress the records of a batch as a Kafka producer of magic 2 does."""
    return _COMPRESSORS[codec](data)


def decompress(
    codec: Compression,
    data: bytes | memoryview,
    *,
    offset: int = 0,
    bytes_max: int = UNCOMPRESSED_BYTES_MAX,
) -> bytes | bytearray | memoryview:
    """Return the records of a batch uncompressed; `offset` is the position of `data` in the caller's buffer.

    Raises RemoteProtocolError if the data is not of that codec, is cut short or has bytes behind its end, and its
    UncompressedTooLargeError if it holds more than `bytes_max` bytes.
    """
    try:
        return _DECOMPRESSORS[codec](data, bytes_max)
    except (cramjam.DecompressionError, zlib.error, _MalformedError) as error:
        raise RemoteProtocolError(f"{codec.name.lower()} data is damaged: {error}", offset=offset) from error
    except _TooLargeError as too_large:
        reason = f"{codec.name.lower()} data holds more than {bytes_max} bytes"
        raise UncompressedTooLargeError(reason, offset=offset) from too_large


class _MalformedError(Exception):
    """The framing around the codec's own blocks is wrong."""


class _TooLargeError(Exception):
    """More would come out than the caller allows."""


def _compress_none(data: bytes | bytearray) -> bytes:
    return bytes(data)


def _decompress_none(data: bytes | memoryview, bytes_max: int) -> bytes | memoryview:
    if len(data) > bytes_max:
        raise _TooLargeError
    return data


def _compress_gzip(data: bytes | bytearray) -> bytes:
    deflate = zlib.compressobj(wbits=-_GZIP_WINDOW_BITS)
    body = deflate.compress(data) + deflate.flush()
    trailer = zlib.crc32(data).to_bytes(4, "little") + (len(data) & _UINT32).to_bytes(4, "little")
    return _GZIP_HEADER + body + trailer


def _decompress_gzip(data: bytes | memoryview, bytes_max: int) -> bytes:
    view = memoryview(data)
    parts: list[bytes] = []
    left, at = bytes_max, 0
    piece = len(view)
    while at < len(view) or not parts:
        inflate = zlib.decompressobj(wbits=_GZIP_WINDOW_BITS + _GZIP_WRAPPER)
        while not inflate.eof:
            # One byte more than allowed tells "exactly full" from "too much"; 0 would mean "no limit".
            part = inflate.decompress(view[at : at + piece], left + 1)
            left -= len(part)
            if left < 0:
                raise _TooLargeError
            parts.append(part)
            at = min(at + piece, len(view))
            if at == len(view) and not inflate.eof:
                raise _MalformedError("stream ends early")
        at -= len(inflate.unused_data)
        piece = _GZIP_PIECE_BYTES
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _compress_snappy(data: bytes | bytearray) -> bytes:
    out = bytearray(_XERIAL_HEADER)
    view = memoryview(data)
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        out += len(block).to_bytes(4, "big")
        out += block
    return bytes(out)


def _decompress_snappy(data: bytes | memoryview, bytes_max: int) -> bytes | bytearray:
    view = memoryview(data)
    if view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        return _raw_snappy(view, bytes_max)
    out = bytearray()
    at = 0
    while at < len(view):
        # Streams written one after the other repeat the header where a block's length would stand.
        if view[at : at + len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:
            at += len(_XERIAL_HEADER)
            continue
        size = int.from_bytes(view[at : at + 4], "big")
        block = view[at + 4 : at + 4 + size]
        if len(view) - at < 4 or len(block) != size:
            raise _MalformedError("stream ends inside a block")
        out += _raw_snappy(block, bytes_max - len(out))
        at += 4 + size
    if at > len(view):
        raise _MalformedError("stream ends inside its header")
    return out


def _raw_snappy(block: memoryview, bytes_max: int) -> bytearray:
    if not block:
        raise _MalformedError("block is empty")
    declared = cramjam.snappy.decompress_raw_len(block)
    if declared > bytes_max:
        raise _TooLargeError
    if declared > len(block) * _SNAPPY_RATIO_MAX:
        raise _MalformedError(f"block of {len(block)} bytes promises {declared}")
    out = bytearray(declared)
    written = cramjam.snappy.decompress_raw_into(block, out)
    if written != declared:
        raise _MalformedError(f"block promises {declared} bytes and holds {written}")
    return out


def _compress_lz4(data: bytes | bytearray) -> bytes:
    out = bytearray(_LZ4_FRAME_HEADER)
    view = memoryview(data)
    for start in range(0, len(view), _LZ4_BLOCK_BYTES):
        plain = view[start : start + _LZ4_BLOCK_BYTES]
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(block) >= len(plain):
            out += (len(plain) | _LZ4_STORED).to_bytes(4, "little")
            out += plain
        else:
            out += len(block).to_bytes(4, "little")
            out += block
    out += _LZ4_END
    return bytes(out)


def _decompress_lz4(data: bytes | memoryview, bytes_max: int) -> memoryview:
    return _into_growing(cramjam.lz4.decompress_into, data, bytes_max)


def _compress_zstd(data: bytes | bytearray) -> bytes:
    stream = cramjam.zstd.Compressor(level=_ZSTD_LEVEL)
    stream.compress(data)
    return bytes(stream.finish())


def _decompress_zstd(data: bytes | memoryview, bytes_max: int) -> memoryview:
    return _into_growing(cramjam.zstd.decompress_into, data, bytes_max)


def _into_growing(
    decompress_into: Callable[[bytes | memoryview, bytearray], int],
    data: bytes | memoryview,
    bytes_max: int,
) -> memoryview:
    """Decompress into a buffer that grows only as far as the data fills it (sizes in a frame's header may lie)."""
    if not data:
        raise _MalformedError("stream is empty")
    capacity = min(max(len(data) * _FIRST_GUESS, _GUESS_BYTES_MIN), bytes_max)
    while True:
        out = bytearray(capacity)
        try:
            size = decompress_into(data, out)
        except cramjam.DecompressionError as error:
            if _BUFFER_FULL not in str(error):
                raise
        else:
            return memoryview(out)[:size]
        if capacity >= bytes_max:
            raise _TooLargeError
        capacity = min(capacity * _GROWTH, bytes_max)


_COMPRESSORS: dict[Compression, Callable[[bytes | bytearray], bytes]] = {
    Compression.NONE: _compress_none,
    Compression.GZIP: _compress_gzip,
    Compression.SNAPPY: _compress_snappy,
    Compression.LZ4: _compress_lz4,
    Compression.ZSTD: _compress_zstd,
}
_DECOMPRESSORS: dict[Compression, Callable[[bytes | memoryview, int], bytes | bytearray | memoryview]] = {
    Compression.NONE: _decompress_none,
    Compression.GZIP: _decompress_gzip,
    Compression.SNAPPY: _decompress_snappy,
    Compression.LZ4: _decompress_lz4,
    Compression.ZSTD: _decompress_zstd,
}
