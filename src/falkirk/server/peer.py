"""One connection: passes the loop's events to the driver, and the driver's bytes to the socket, with TLS or not.

A client that does not read its responses is no longer read from, so that little accumulates for it. On connections that
we opened responses are always read, whatever waits to be written: else two nodes could wait for each other.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol, cast

from falkirk.server.tls_session import TlsFailedError

if TYPE_CHECKING:
    from asyncio import BaseTransport, Transport
    from collections.abc import Sequence

    from falkirk.server.tls_session import TlsSession

# Reading from the peer pauses beyond this.
WRITE_BUFFER_BYTES: Final = 1024 * 1024
# The connection is closed beyond this; only responses to requests that were already read count.
UNREAD_BYTES_MAX: Final = 64 * 1024 * 1024


class PeerObserver(Protocol):
    """Receives the events of connections."""

    def peer_connected(self, peer: Peer) -> None:
        """Handle a new connection; a TLS handshake may follow."""

    def peer_waits(self, peer: Peer) -> None:
        """Schedule `shake_hands`: the handshake can continue."""

    def peer_shook_hands(self, peer: Peer) -> None:
        """Handle the end of its handshake."""

    def peer_sent(self, peer: Peer, data: bytes) -> None:
        """Handle received bytes."""

    def peer_is_active(self, peer: Peer) -> None:
        """Handle the progress of a write: the connection is not idle."""

    def peer_lost(self, peer: Peer, reason: str) -> None:
        """Handle its end."""


class Peer(asyncio.Protocol):
    """A connection in either direction; `listener` is None for those that the node opened."""

    def __init__(
        self, observer: PeerObserver, connection_id: int, listener: str | None, tls: TlsSession | None = None
    ) -> None:
        self.connection_id = connection_id
        self.listener = listener
        self.host = ""
        # Whether it counts for the connection limits.
        self.is_admitted = False
        # The deadline of the handshake.
        self.handshake_deadline: asyncio.TimerHandle | None = None
        self._tls = tls
        self._observer = observer
        self._transport: Transport | None = None
        self._cut_off: str | None = None
        # Why reading is paused: the peer does not read, or the node is busy.
        self._is_full = False
        self._is_held = False
        # What came before the connection was admitted: uvloop reads at least once.
        self._early: bytes | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        """Report the connection to the observer."""
        # A cast, because uvloop's transports do not inherit asyncio's classes.
        self._transport = cast("Transport", transport)
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        address = transport.get_extra_info("peername")
        if address is None and self.listener is not None:
            # What it has sent is still read, but whom it is from is not known any more.
            self.cut_off("the peer has reset the connection")
            return
        self.host = address[0] if address else ""
        self._observer.peer_connected(self)

    @property
    def is_established(self) -> bool:
        """True without TLS, or once the handshake is done."""
        return self._tls is None or self._tls.is_established

    @property
    def peer_name(self) -> str | None:
        """The subject of the peer's certificate."""
        return None if self._tls is None else self._tls.peer_name

    def data_received(self, data: bytes) -> None:
        """Pass received bytes on, decrypted."""
        if self._early is not None:
            self._early += data
            self._read_or_not()
            return
        if self._tls is None:
            self._observer.peer_sent(self, data)
            return
        try:
            self._tls.receive(data)
            if self._tls.is_established:
                self._pass_on(self._tls)
                return
        except TlsFailedError as error:
            self._fail(self._tls, error)
            return
        if self._transport is not None:
            # Nothing is read before the handshake: the peer is not authenticated yet.
            self._transport.pause_reading()
            self._observer.peer_waits(self)

    def shake_hands(self) -> None:
        """Continue the TLS handshake."""
        tls, transport = self._tls, self._transport
        if tls is None or transport is None or transport.is_closing():
            return
        try:
            is_done = tls.shake_hands()
            transport.write(tls.outgoing())
            transport.resume_reading()
            if is_done:
                self._observer.peer_shook_hands(self)
                self._pass_on(tls)
        except TlsFailedError as error:
            self._fail(tls, error)

    def pause_writing(self) -> None:
        """Stop reading from a client that does not read."""
        if self.listener is not None:
            self._is_full = True
            self._read_or_not()

    def resume_writing(self) -> None:
        """Read on."""
        if self.listener is not None:
            self._is_full = False
            self._read_or_not()
        self._observer.peer_is_active(self)

    def wait(self) -> None:
        """Keep what comes, and pause reading, until it is admitted."""
        self._early = b""
        self.hold()

    def admit(self) -> None:
        """Read, and pass on what came meanwhile."""
        early, self._early = self._early, None
        self.is_admitted = True
        if early is not None:
            self.release()
        if early:
            self.data_received(early)

    def hold(self) -> None:
        """Pause reading for now."""
        self._is_held = True
        self._read_or_not()

    def release(self) -> None:
        """Resume reading, unless the peer does not read itself."""
        self._is_held = False
        self._read_or_not()

    def _read_or_not(self) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        if self._is_full or self._is_held:
            transport.pause_reading()
        else:
            transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the end to the observer."""
        reason = self._cut_off or (str(exc) if exc else "the peer closed the connection")
        self._transport = None
        self._observer.peer_lost(self, reason)

    def write(self, pieces: Sequence[bytes | memoryview]) -> None:
        """Send pieces by one call of the system; a peer that leaves too many bytes unread is cut off."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        waiting = unread = transport.get_write_buffer_size()
        if unread <= UNREAD_BYTES_MAX:
            if self._tls is None:
                transport.writelines(pieces)
            else:
                for piece in pieces:
                    self._tls.write(piece)
                transport.write(self._tls.outgoing())
            if len(pieces) > 1:
                # What waited before the last one.
                unread = transport.get_write_buffer_size() - len(pieces[-1])
        if unread > UNREAD_BYTES_MAX:
            self.cut_off(f"it left {unread} bytes unread")
        elif waiting == 0:
            self._observer.peer_is_active(self)

    def close(self) -> None:
        """Close once everything is written."""
        if self._transport is None:
            return
        if self._tls is not None and self._tls.is_established and not self._transport.is_closing():
            self._tls.close()
            self._transport.write(self._tls.outgoing())
        self._transport.close()

    def cut_off(self, reason: str) -> None:
        """Close at once."""
        self._cut_off = reason
        if self._transport is not None:
            self._transport.abort()

    # --- TLS

    def _pass_on(self, tls: TlsSession) -> None:
        data = tls.read()
        if self._transport is not None and not self._transport.is_closing():
            # TLS's own messages, as after a renegotiation.
            own = tls.outgoing()
            if own:
                self._transport.write(own)
        if data:
            self._observer.peer_sent(self, data)
        if tls.is_ended:
            self.close()

    def _fail(self, tls: TlsSession, error: TlsFailedError) -> None:
        """Send the TLS alert, and close."""
        self._cut_off = f"TLS: {error}"
        if self._transport is not None:
            self._transport.write(tls.outgoing())
            self._transport.close()
