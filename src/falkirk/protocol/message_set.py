"""Messages of magic 0 and 1, as clients from before Kafka 0.11 produce them (Produce v0 to v2). Read only.

offset int64 | size int32 (bytes behind it) | CRC-32 uint32 | magic int8 | attributes int8 | timestamp int64 (magic 1) |
key int32 + bytes (-1 is null) | value likewise

The CRC covers everything behind it. A compressed message (a wrapper) has other messages as its value.
"""

import struct
import zlib
from collections.abc import Generator, Iterator, Sequence

import msgspec
import xxhash

from falkirk.protocol.compression import Compression, decompressed_pieces
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.record_batch import (
    COMPRESSION_MASK,
    LENGTH_END,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    MAGIC_AT,
    NO_TIMESTAMP,
)

MESSAGE_BYTES_MIN = 14
"""The least that a size may say, in any format: a message of magic 0 without key and value."""
MESSAGES_AT_ONCE = 500
"""How many are read between two yields: some 2 ms."""
_VISITED_AT_ONCE = 10_000
_SMALL_BYTES_MAX = 256 * 1024
_CRC_AND_MAGIC = struct.Struct(">Ibb")
_CRC_BYTES = 4

_LZ4_DESCRIPTOR_AT = 4
_LZ4_CONTENT_SIZE_BIT = 0x08
_LZ4_CONTENT_SIZE_BYTES = 8


class CorruptMessageError(RemoteProtocolError):
    """A message whose CRC does not fit, or whose size or magic can not be."""


class MessageTooLargeError(RemoteProtocolError):
    """A message of more bytes than the caller allows."""


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message; of a wrapper `value` is what it wraps, still compressed. Timestamps are in ms, -1 in magic 0."""

    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None

    @property
    def codec_number(self) -> int:
        """Number of the codec of what is wrapped, 0 for a plain message."""
        return self.attributes & COMPRESSION_MASK

    @property
    def is_log_append_time(self) -> bool:
        """The timestamp is a broker's."""
        return self.magic > 0 and bool(self.attributes & LOG_APPEND_TIME_BIT)


def read_messages(buffer: bytes | bytearray | memoryview, *, message_bytes_max: int | None = None) -> Iterator[Message]:
    """Read messages one after the other; a cut-off one at the end is dropped, as Kafka's readers do.

    Raises CorruptMessageError, MessageTooLargeError, and RemoteProtocolError for fields that do not fit and a batch of
    magic 2 in between.
    """
    view = memoryview(buffer)
    at = 0
    while (left := len(view) - at) >= LENGTH_END:
        size = int.from_bytes(view[at + 8 : at + LENGTH_END], "big", signed=True)
        if size < MESSAGE_BYTES_MIN:
            reason = f"Record size {size} is less than the minimum record overhead ({MESSAGE_BYTES_MIN})"
            raise CorruptMessageError(reason, offset=at)
        if left > MAGIC_AT and view[at + MAGIC_AT] > MAGIC:
            magic = int.from_bytes(view[at + MAGIC_AT : at + MAGIC_AT + 1], "big", signed=True)
            raise CorruptMessageError(f"Invalid magic found in record: {magic}", offset=at)
        end = at + LENGTH_END + size
        if end > len(view):
            break
        if message_bytes_max is not None and end - at > message_bytes_max:
            raise MessageTooLargeError(f"message has {end - at} bytes, {message_bytes_max} are allowed", offset=at)
        yield _read_message(view, at, end)
        at = end


def read_in_slices(
    buffer: bytes | bytearray | memoryview, *, message_bytes_max: int | None = None
) -> Generator[None, None, list[Message]]:
    """Return all that `read_messages` yields; raises as that does."""
    messages: list[Message] = []
    for message in read_messages(buffer, message_bytes_max=message_bytes_max):
        messages.append(message)
        if len(messages) % MESSAGES_AT_ONCE == 0:
            yield
    return messages


def unwrap(wrapper: Message, *, bytes_max: int) -> Generator[None, None, list[Message]]:
    """Return the messages of a wrapper with their own offsets and timestamps, in slices.

    Raises RemoteProtocolError if they do not parse, there are none, the wrapper's offset is too small, or a message in
    it is compressed again; UncompressedTooLargeError beyond `bytes_max` bytes.
    """
    if wrapper.codec_number >= Compression.ZSTD or wrapper.value is None:
        reason = f"message of magic {wrapper.magic} can not wrap others with codec {wrapper.codec_number}"
        raise RemoteProtocolError(reason, offset=0)
    messages = yield from read_in_slices((yield from _unwrapped(wrapper, bytes_max)))
    if not messages:
        raise RemoteProtocolError("compressed message has no messages in it", offset=0)
    for number, message in enumerate(messages, 1):
        if message.codec_number:
            raise RemoteProtocolError("compressed message in a compressed message", offset=0)
        if number % _VISITED_AT_ONCE == 0:
            yield
    # librdkafka once wrote 0 as the wrapper's offset.
    if wrapper.magic == 1 and wrapper.offset and wrapper.offset < messages[-1].offset:
        reason = f"wrapper has offset {wrapper.offset}, the last message in it {messages[-1].offset}"
        raise RemoteProtocolError(reason, offset=0)
    return (yield from _at_append_time(messages, wrapper.timestamp)) if wrapper.is_log_append_time else messages


def _unwrapped(wrapper: Message, bytes_max: int) -> Generator[None, None, bytearray]:
    codec, data = Compression(wrapper.codec_number), wrapper.value
    assert data is not None, "the caller has looked"
    if codec is Compression.LZ4 and wrapper.magic == 0:
        data = _with_right_checksum(data)
    plain = bytearray()
    for piece in decompressed_pieces(codec, data, bytes_max=bytes_max):
        plain += piece
        if len(plain) > _SMALL_BYTES_MAX:
            yield
    return plain


def _read_message(view: memoryview, at: int, end: int) -> Message:
    body = at + LENGTH_END
    crc, magic, attributes = _CRC_AND_MAGIC.unpack_from(view, body)
    if magic not in (0, 1):
        raise RemoteProtocolError(f"batch of magic {magic} among messages of magic 0 and 1", offset=at + MAGIC_AT)
    if crc != zlib.crc32(view[body + _CRC_BYTES : end]):
        raise CorruptMessageError(f"CRC of the message is not {crc}, as it says", offset=at)
    key_at = body + _CRC_AND_MAGIC.size
    timestamp = NO_TIMESTAMP
    if magic:
        timestamp = int.from_bytes(view[key_at : key_at + 8], "big", signed=True)
        key_at += 8
    key, value_at = _read_field(view, key_at, end)
    value, _ = _read_field(view, value_at, end)
    return Message(
        offset=int.from_bytes(view[at : at + 8], "big", signed=True),
        magic=magic,
        attributes=attributes & 0xFF,
        timestamp=timestamp,
        key=key,
        value=value,
    )


def _read_field(view: memoryview, at: int, end: int) -> tuple[bytes | None, int]:
    start = at + 4
    size = int.from_bytes(view[at:start], "big", signed=True)
    if start > end or start + max(size, 0) > end:
        raise RemoteProtocolError(f"field of {size} bytes where the message has {end - start} left", offset=at)
    if size < 0:
        return None, start
    return bytes(view[start : start + size]), start + size


def _at_append_time(messages: Sequence[Message], timestamp: int) -> Generator[None, None, list[Message]]:
    changed: list[Message] = []
    for message in messages:
        changed.append(msgspec.structs.replace(message, timestamp=timestamp) if message.magic else message)
        if len(changed) % MESSAGES_AT_ONCE == 0:
            yield
    return changed


def _with_right_checksum(frame: bytes) -> bytes:
    """Mend the header of an LZ4 frame: clients of magic 0 took its checksum over four bytes too many."""
    if len(frame) <= _LZ4_DESCRIPTOR_AT:
        return frame
    has_size = frame[_LZ4_DESCRIPTOR_AT] & _LZ4_CONTENT_SIZE_BIT
    end = _LZ4_DESCRIPTOR_AT + 2 + (_LZ4_CONTENT_SIZE_BYTES if has_size else 0)
    checksum = xxhash.xxh32_intdigest(frame[_LZ4_DESCRIPTOR_AT:end]) >> 8 & 0xFF
    return frame[:end] + bytes((checksum,)) + frame[end + 1 :]
