"""The five codecs of record batches, framed as Kafka's Java client frames them, with a bound on what comes out.

A batch does not say how large its records are once uncompressed, so every reader here stops at `bytes_max`: a
hostile batch costs at most a small multiple of what it really holds, and never more than that bound.
"""

import enum
import zlib
from collections.abc import Callable, Iterator

import cramjam

from falkirk.protocol.errors import RemoteProtocolError

UNCOMPRESSED_BYTES_MAX = 256 * 1024 * 1024
"""Default bound. Producers limit a request to 1 MiB before compression, so real batches stay far below."""
COMPRESSED_AT_ONCE = 256 * 1024
"""Of so many bytes at most `compressed_pieces` makes a piece: up to 20 ms with gzip."""
_UNCOMPRESSED_AT_ONCE = 1024 * 1024
# GZIP: zlib of the standard library, because it can be told where to stop. Java's header has no time, no name, and
# "unknown" as its operating system (since Java 16).
_GZIP_HEADER = bytes.fromhex("1f8b08000000000000ff")
_GZIP_WINDOW_BITS = 15
_GZIP_WRAPPER = 16
_UINT32 = 0xFFFFFFFF

# What follows on the first member is given to zlib in pieces: of each it copies what stands behind a member's end.
_GZIP_PIECE_BYTES = 4096
# What is left of a piece of input is copied each time that a piece of output is full.
_GZIP_INPUT_AT_ONCE = 64 * 1024

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
    return bytes(data) if codec is Compression.NONE else b"".join(_COMPRESSORS[codec](data))


def compressed_pieces(codec: Compression, data: bytes | bytearray) -> Iterator[bytes | bytearray]:
    """Yield what `compress` returns in pieces (some are empty), one for each COMPRESSED_AT_ONCE bytes of `data`."""
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
    except (cramjam.DecompressionError, zlib.error, _MalformedError, _TooLargeError) as error:
        raise _as_protocol_error(error, codec, offset=offset, bytes_max=bytes_max) from error


def decompressed_pieces(
    codec: Compression, data: bytes | memoryview, *, bytes_max: int = UNCOMPRESSED_BYTES_MAX
) -> Iterator[bytes | bytearray | memoryview]:
    """Yield what `decompress` returns in pieces (some are empty), each a bounded amount of work; raises as that does.

    Gzip: up to 1 MiB each; snappy: its blocks. LZ4 and zstd make one piece: cramjam keeps no state between two calls.
    """
    if codec is Compression.GZIP:
        pieces: Iterator[bytes | bytearray] = _gzip_pieces(data, bytes_max, _GZIP_INPUT_AT_ONCE, _UNCOMPRESSED_AT_ONCE)
    elif codec is Compression.SNAPPY:
        pieces = _snappy_pieces(data, bytes_max)
    else:
        yield decompress(codec, data, bytes_max=bytes_max)
        return
    try:
        yield from pieces
    except (cramjam.DecompressionError, zlib.error, _MalformedError, _TooLargeError) as error:
        raise _as_protocol_error(error, codec, offset=0, bytes_max=bytes_max) from error


def _as_protocol_error(error: Exception, codec: Compression, *, offset: int, bytes_max: int) -> RemoteProtocolError:
    if isinstance(error, _TooLargeError):
        reason = f"{codec.name.lower()} data holds more than {bytes_max} bytes"
        return UncompressedTooLargeError(reason, offset=offset)
    return RemoteProtocolError(f"{codec.name.lower()} data is damaged: {error}", offset=offset)


class _MalformedError(Exception):
    """The framing around the codec's own blocks is wrong."""


class _TooLargeError(Exception):
    """More would come out than the caller allows."""


def _compress_none(data: bytes | bytearray) -> Iterator[bytes | bytearray]:
    yield data


def _decompress_none(data: bytes | memoryview, bytes_max: int) -> bytes | memoryview:
    if len(data) > bytes_max:
        raise _TooLargeError
    return data


def _compress_gzip(data: bytes | bytearray) -> Iterator[bytes]:
    deflate = zlib.compressobj(wbits=-_GZIP_WINDOW_BITS)
    yield _GZIP_HEADER
    crc = 0
    for part in _parts(data):
        crc = zlib.crc32(part, crc)
        yield deflate.compress(part)
    yield deflate.flush() + crc.to_bytes(4, "little") + (len(data) & _UINT32).to_bytes(4, "little")


def _parts(data: bytes | bytearray) -> Iterator[memoryview]:
    view = memoryview(data)
    for start in range(0, len(view), COMPRESSED_AT_ONCE):
        yield view[start : start + COMPRESSED_AT_ONCE]


def _decompress_gzip(data: bytes | memoryview, bytes_max: int) -> bytes:
    parts = list(_gzip_pieces(data, bytes_max, max(len(data), 1), bytes_max + 1))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _gzip_pieces(data: bytes | memoryview, bytes_max: int, input_bytes: int, piece_bytes: int) -> Iterator[bytes]:
    """Yield pieces of `piece_bytes` at most, each from `input_bytes` at most."""
    view = memoryview(data)
    left, at = bytes_max, 0
    is_first = True
    while at < len(view) or is_first:
        inflate = zlib.decompressobj(wbits=_GZIP_WINDOW_BITS + _GZIP_WRAPPER)
        while not inflate.eof:
            # One byte more than allowed tells "exactly full" from "too much"; 0 would mean "no limit".
            part_bytes = min(left + 1, piece_bytes)
            part = inflate.decompress(view[at : at + input_bytes], part_bytes)
            left -= len(part)
            if left < 0:
                raise _TooLargeError
            at = min(at + input_bytes, len(view)) - len(inflate.unconsumed_tail)
            if len(part) < part_bytes and at == len(view) and not inflate.eof:
                raise _MalformedError("stream ends early")
            yield part
        at -= len(inflate.unused_data)
        is_first, input_bytes = False, min(input_bytes, _GZIP_PIECE_BYTES)


def _compress_snappy(data: bytes | bytearray) -> Iterator[bytes]:
    yield _XERIAL_HEADER
    for part in _parts(data):
        out = bytearray()
        for start in range(0, len(part), _XERIAL_BLOCK_BYTES):
            block = bytes(cramjam.snappy.compress_raw(part[start : start + _XERIAL_BLOCK_BYTES]))
            out += len(block).to_bytes(4, "big")
            out += block
        yield bytes(out)


def _decompress_snappy(data: bytes | memoryview, bytes_max: int) -> bytes | bytearray:
    return b"".join(_snappy_pieces(data, bytes_max))


def _snappy_pieces(data: bytes | memoryview, bytes_max: int) -> Iterator[bytearray]:
    view = memoryview(data)
    if view[: len(_XERIAL_MAGIC)] != _XERIAL_MAGIC:
        yield _raw_snappy(view, bytes_max)
        return
    left, at = bytes_max, 0
    while at < len(view):
        # Streams written one after the other repeat the header where a block's length would stand.
        if view[at : at + len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:
            at += len(_XERIAL_HEADER)
            yield bytearray()
            continue
        size = int.from_bytes(view[at : at + 4], "big")
        block = view[at + 4 : at + 4 + size]
        if len(view) - at < 4 or len(block) != size:
            raise _MalformedError("stream ends inside a block")
        piece = _raw_snappy(block, left)
        left -= len(piece)
        at += 4 + size
        yield piece
    if at > len(view):
        raise _MalformedError("stream ends inside its header")


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


def _compress_lz4(data: bytes | bytearray) -> Iterator[bytes]:
    yield _LZ4_FRAME_HEADER
    for part in _parts(data):
        out = bytearray()
        for start in range(0, len(part), _LZ4_BLOCK_BYTES):
            plain = part[start : start + _LZ4_BLOCK_BYTES]
            block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
            if len(block) >= len(plain):
                out += (len(plain) | _LZ4_STORED).to_bytes(4, "little")
                out += plain
            else:
                out += len(block).to_bytes(4, "little")
                out += block
        yield bytes(out)
    yield _LZ4_END


def _decompress_lz4(data: bytes | memoryview, bytes_max: int) -> bytearray:
    return _into_growing(cramjam.lz4.decompress_into, data, bytes_max)


def _compress_zstd(data: bytes | bytearray) -> Iterator[bytes]:
    stream = cramjam.zstd.Compressor(level=_ZSTD_LEVEL)
    for part in _parts(data):
        stream.compress(bytes(part))
        yield b""
    yield bytes(stream.finish())


def _decompress_zstd(data: bytes | memoryview, bytes_max: int) -> bytearray:
    return _into_growing(cramjam.zstd.decompress_into, data, bytes_max)


def _into_growing(
    decompress_into: Callable[[bytes | memoryview, bytearray], int],
    data: bytes | memoryview,
    bytes_max: int,
) -> bytearray:
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
            del out[size:]
            return out
        if capacity >= bytes_max:
            raise _TooLargeError
        capacity = min(capacity * _GROWTH, bytes_max)


_COMPRESSORS: dict[Compression, Callable[[bytes | bytearray], Iterator[bytes | bytearray]]] = {
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
