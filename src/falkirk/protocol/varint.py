"""Variable-length integers: seven bits a byte, low bits first, the high bit says that more follow.

Unsigned ones stand in flexible messages and record frames; records use zigzag (varint up to 32, varlong up to 64 bits).
"""

from falkirk.protocol.errors import RemoteProtocolError

_VARINT_BYTES_MAX = 5
_VARLONG_BYTES_MAX = 10
_ONE_BYTE = tuple(bytes([value]) for value in range(0x80))
# Sizes and deltas of most records: a third of the time of writing one.
_SMALL_COUNT = 1024


def decode_unsigned_varint(buffer: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """Read an unsigned varint of at most 32 bits; give (value, position behind it).

    Raises RemoteProtocolError if the buffer ends or a fifth byte asks for more than 32 bits.
    """
    value = _decode(buffer, position, _VARINT_BYTES_MAX)
    if value[0] > 0xFFFFFFFF:
        raise RemoteProtocolError("varint has more than 32 bits", offset=position)
    return value


def decode_varint(buffer: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """Read a zigzag varint of at most 32 bits; give (value, position behind it)."""
    value, end = decode_unsigned_varint(buffer, position)
    return (value >> 1) ^ -(value & 1), end


def decode_varlong(buffer: bytes | bytearray | memoryview, position: int) -> tuple[int, int]:
    """Read a zigzag varint of at most 64 bits; give (value, position behind it)."""
    value, end = _decode(buffer, position, _VARLONG_BYTES_MAX)
    if value > 0xFFFFFFFFFFFFFFFF:
        raise RemoteProtocolError("varlong has more than 64 bits", offset=position)
    return (value >> 1) ^ -(value & 1), end


def encode_unsigned_varint(value: int) -> bytes:
    """Write a non-negative integer in as few bytes as it takes."""
    if value < 0x80:
        return _ONE_BYTE[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_varlong(value: int) -> bytes:
    """Write a signed integer in zigzag form; 32-bit values come out as Kafka's varint does."""
    if 0 <= value < _SMALL_COUNT:
        return _SMALL[value]
    return encode_unsigned_varint(value << 1 if value >= 0 else (-value << 1) - 1)


_SMALL = tuple(encode_unsigned_varint(value << 1) for value in range(_SMALL_COUNT))


def _decode(buffer: bytes | bytearray | memoryview, position: int, bytes_max: int) -> tuple[int, int]:
    value = shift = 0
    end = len(buffer)
    for at in range(position, min(position + bytes_max, end)):
        byte = buffer[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
    if position + bytes_max > end:
        raise RemoteProtocolError("buffer ends inside a varint", offset=end)
    raise RemoteProtocolError(f"varint is longer than {bytes_max} bytes", offset=position)
