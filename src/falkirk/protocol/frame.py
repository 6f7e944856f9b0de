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
_OWN_PIECE_BYTES_MIN: Final = 4096


class FrameReader:
    """Cuts a stream into frames.

    A length reserves no memory: bytes are collected as they come. A byte is copied at most twice, one that came in a
    small piece three times.
    """

    def __init__(self, frame_bytes_max: int) -> None:
        self.frame_bytes_max = frame_bytes_max
        self._pieces: list[bytes | bytearray] = []  # the start of a frame
        self._missing = 0  # how much that frame still lacks; 0 while not even its length is there
        self._pending_bytes = 0
        self._offset = 0  # of that start in the stream

    @property
    def pending_bytes(self) -> int:
        """Bytes kept of an incomplete frame."""
        return self._pending_bytes

    @property
    def missing_bytes(self) -> int:
        """How much the frame that has begun lacks, at least: its length may not be known. 0 between frames."""
        return self._missing or (self._pending_bytes and 4 - self._pending_bytes)

    def receive_data(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return each complete frame, without its length, and its position in the stream.

        Raises RemoteProtocolError (byte offset in the stream) for a length that is negative or above the limit.
        """
        frames: list[tuple[int, bytes]] = []
        position, size = 0, len(data)
        if self._missing:
            if size < self._missing:
                self._keep(data)
                self._missing -= size
                return frames
            position = self._missing
            self._keep(data[:position])
            frames.append((self._offset + 4, b"".join(self._pieces)))
            self._offset += self._pending_bytes
            self._forget()
        elif self._pieces:
            data = b"".join((*self._pieces, data))
            size = len(data)
            self._forget()
        while size - position >= 4:
            start = position + 4
            end = start + self._length(data, position)
            if end > size:
                self._missing = end - size
                position = start
                break
            frames.append((self._offset + 4, data[start:end]))
            self._offset += end - position
            position = end
        if position < size or self._missing:
            self._keep(data[position:])
            self._pending_bytes += 4 * (self._missing > 0)
        return frames

    def _keep(self, data: bytes) -> None:
        pieces = self._pieces
        self._pending_bytes += len(data)
        if len(data) >= _OWN_PIECE_BYTES_MIN:
            pieces.append(data)
        elif pieces and type(pieces[-1]) is bytearray:
            # A piece of its own takes more memory than the few bytes that may be in it.
            pieces[-1] += data
        else:
            pieces.append(bytearray(data))

    def _forget(self) -> None:
        self._pieces = []
        self._pending_bytes = self._missing = 0

    def _length(self, data: bytes, position: int) -> int:
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
    """Return the length of all these bytes, then `head`; the caller sends the rest behind it."""
    return _LENGTH.pack(len(head) + sum(map(len, rest))) + head
