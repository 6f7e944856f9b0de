"""TLS on one connection, without its socket: bytes of the network in and out, plain bytes out and in.

Not the loop's own TLS: so connections count before their handshake, the number of concurrent handshakes is ours to
limit, and another protocol can be distinguished from a failed handshake.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from typing import Final

from cryptography.x509 import load_der_x509_certificate

from falkirk.client.x500_name import x500_name

_HANDSHAKE: Final = 0x16
_READ_BYTES: Final = 256 * 1024


class TlsFailedError(Exception):
    """The handshake failed, or the bytes are not TLS; the text is for our own log."""


class TlsSession:
    """One end. `server_hostname` makes it the client's; `outgoing` returns the bytes to send."""

    def __init__(self, context: ssl.SSLContext, *, server_hostname: str | None = None) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._is_server = server_hostname is None
        self._object = context.wrap_bio(
            self._incoming, self._outgoing, server_side=self._is_server, server_hostname=server_hostname
        )
        self._has_received = False
        self.is_established = False
        # Whether the peer has sent close_notify; it waits for ours.
        self.is_ended = False
        # The subject of the peer's verified certificate; None without a certificate.
        self.peer_name: str | None = None

    def receive(self, data: bytes) -> None:
        """Add bytes from the network. Raises TlsFailedError if the first ones are not TLS."""
        if not self._has_received and data:
            self._has_received = True
            if self._is_server and data[0] != _HANDSHAKE:
                raise TlsFailedError("it does not speak TLS, which this listener requires")
        self._incoming.write(data)

    def shake_hands(self) -> bool:
        """Continue the handshake, and return whether it is done. Raises TlsFailedError."""
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as error:
            raise TlsFailedError(_reason(error)) from error
        certificate = self._object.getpeercert(binary_form=True)
        if certificate:
            self.peer_name = _subject(certificate)
        self.is_established = True
        return True

    def read(self) -> bytes:
        """Return the decrypted bytes. Raises TlsFailedError."""
        pieces = []
        try:
            while piece := self._object.read(_READ_BYTES):
                pieces.append(piece)
            self.is_ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.is_ended = True
        except ssl.SSLError as error:
            raise TlsFailedError(_reason(error)) from error
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def write(self, data: bytes | memoryview) -> None:
        """Encrypt bytes to send."""
        self._object.write(data)

    def close(self) -> None:
        """Send the close notification."""
        with suppress(ssl.SSLError):
            self._object.unwrap()

    def outgoing(self) -> bytes:
        """Return the bytes for the network."""
        return self._outgoing.read()


def _subject(certificate: bytes) -> str:
    try:
        return x500_name(load_der_x509_certificate(certificate).subject.public_bytes())
    except ValueError as error:
        raise TlsFailedError(f"the certificate cannot be read: {error}") from error


def _reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not valid: {error.verify_message}"
    return (error.reason or str(error)).replace("_", " ").lower()
