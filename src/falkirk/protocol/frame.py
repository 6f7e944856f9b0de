"""Frames: a length of four bytes, then that many bytes. All that Kafka's protocol sends is in them."""

from __future__ import annotations

import struct
from typing import Final

from falkirk.protocol.errors import RemoteProtocolError

MIB: Final = 1024 * 1024
# Default of socket.request.max.bytes.
FRAME_BYTES_MAX: Final = 100 * MIB

# Handshakes and alerts of TLS 1.0 to 1.3.
_TLS_LENGTHS: Final = frozenset({0x160301, 0x160303, 0x150301, 0x150303})
_LENGTH: Final = struct.Struct(">i")


class FrameReader:
    """Cuts a stream into frames.

    A length reserves no memory: bytes are collected as they come. Every byte is copied at most twice, however the
    stream is cut.
    """

    def __init__(self, frame_bytes_max: int) -> None:
        self.frame_bytes_max = frame_bytes_max
        self._pending = bytearray()  # the start of a frame, its length included
        self._offset = 0  # of that start in the stream

    @property
    def pending_bytes(self) -> int:
        """How much of a frame that is not complete is kept."""
        return len(self._pending)

    def receive_data(self, data: bytes) -> list[tuple[int, bytes]]:
        """Give each frame that is complete now, without its length, and where it starts in the stream.

        Raises RemoteProtocolError (byte offset in the stream) for a length that is negative or above the limit.
        """
        frames: list[tuple[int, bytes]] = []
        position = self._complete_pending(data, frames) if self._pending else 0
        size = len(data)
        while size - position >= 4:
            start = position + 4
            end = start + self._length(data, position)
            if end > size:
                break
            frames.append((self._offset + 4, data[start:end]))
            self._offset += end - position
            position = end
        if position < size:
            self._pending += data[position:]
        return frames

    def _complete_pending(self, data: bytes, frames: list[tuple[int, bytes]]) -> int:
        """Add to the frame that has begun; give how much of `data` went into it."""
        pending = self._pending
        taken = max(0, 4 - len(pending))
        pending += data[:taken]
        if len(pending) < 4:
            return len(data)
        total = 4 + self._length(pending, 0)
        until = taken + total - len(pending)
        pending += data[taken:until]
        if len(pending) < total:
            return len(data)
        frames.append((self._offset + 4, bytes(memoryview(pending)[4:])))
        self._pending = bytearray()
        self._offset += total
        return until

    def _length(self, data: bytes | bytearray, position: int) -> int:
        (length,) = _LENGTH.unpack_from(data, position)
        if 0 <= length <= self.frame_bytes_max:
            found: int = length
            return found
        limit = f", the limit is {self.frame_bytes_max}" if length > 0 else ""
        # The first bytes of TLS, taken for a length.
        if length >> 8 in _TLS_LENGTHS:
            limit = ": the other side speaks TLS, which is not spoken here"
        raise RemoteProtocolError(f"a frame of {length} bytes{limit}", offset=self._offset)


def frame(*parts: bytes) -> bytes:
    """Put a length before bytes."""
    return b"".join((_LENGTH.pack(sum(map(len, parts))), *parts))


def frame_start(head: bytes, *rest: bytes) -> bytes:
    """Give the length of all these bytes, and `head`; the rest is to follow it."""
    return _LENGTH.pack(len(head) + sum(map(len, rest))) + head
