"""One connection: what the loop tells of it goes to the driver, and what the driver writes goes out.

A peer that does not read its answers is not read from any more, so that what waits for it stays small. The other way
round this must not be done: on connections that we opened, answers are read whatever waits to go out, or two nodes
could wait for each other.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol, cast

if TYPE_CHECKING:
    from asyncio import BaseTransport, Transport

# Beyond this the peer is no longer read from.
WRITE_BUFFER_BYTES: Final = 1024 * 1024
# Beyond this it is cut off: only answers to requests that were read already can add up to it.
UNREAD_BYTES_MAX: Final = 64 * 1024 * 1024


class PeerObserver(Protocol):
    """Who is told of a connection."""

    def peer_connected(self, peer: Peer) -> None:
        """Tell that it stands."""

    def peer_sent(self, peer: Peer, data: bytes) -> None:
        """Tell that bytes came."""

    def peer_is_active(self, peer: Peer) -> None:
        """Tell that it is of use without having sent anything: it took what was written."""

    def peer_lost(self, peer: Peer, reason: str) -> None:
        """Tell that it is gone."""


class Peer(asyncio.Protocol):
    """A connection in either direction; `listener` is None for those that the node opened."""

    def __init__(self, observer: PeerObserver, connection_id: int, listener: str | None) -> None:
        self.connection_id = connection_id
        self.listener = listener
        self.host = ""
        # Whether it is counted among the connections that were let in.
        self.is_admitted = False
        self._observer = observer
        self._transport: Transport | None = None
        self._cut_off: str | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        """Begin."""
        # A cast: uvloop's transports are none of asyncio's classes.
        self._transport = cast("Transport", transport)
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        address = transport.get_extra_info("peername")
        self.host = address[0] if address else ""
        self._observer.peer_connected(self)

    def data_received(self, data: bytes) -> None:
        """Pass on what came."""
        self._observer.peer_sent(self, data)

    def pause_writing(self) -> None:
        """Stop reading from a client that does not read."""
        if self.listener is not None and self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Read on."""
        if self.listener is not None and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
        self._observer.peer_is_active(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        reason = self._cut_off or (str(exc) if exc else "the peer closed the connection")
        self._transport = None
        self._observer.peer_lost(self, reason)

    def write(self, data: bytes) -> None:
        """Send bytes; a peer that leaves too many of them unread is cut off."""
        if self._transport is None or self._transport.is_closing():
            return
        waiting = self._transport.get_write_buffer_size()
        if waiting > UNREAD_BYTES_MAX:
            self.cut_off(f"it left {waiting} bytes unread")
            return
        self._transport.write(data)
        if waiting == 0:
            self._observer.peer_is_active(self)

    def close(self) -> None:
        """Close once all is out."""
        if self._transport is not None:
            self._transport.close()

    def cut_off(self, reason: str) -> None:
        """Close at once."""
        self._cut_off = reason
        if self._transport is not None:
            self._transport.abort()
