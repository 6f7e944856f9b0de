"""The server's side of SCRAM, as Kafka's ScramSaslServer, delegation tokens included (KIP-84, KIP-48).

Differs from Kafka: an unknown user is not refused at its first message but as a wrong password is, at the last one,
so that nothing tells which users exist.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.protocol.sasl.errors import AuthenticationFailedError
from falkirk.protocol.sasl.scram_mechanism import ITERATIONS_MIN, exclusive_or, unknown_credential
from falkirk.protocol.sasl.scram_messages import parse_client_final, parse_client_first

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.protocol.sasl.scram_mechanism import ScramCredential, ScramMechanism
    from falkirk.protocol.sasl.scram_messages import ClientFinal, ClientFirst
    from falkirk.protocol.sasl.server import Authenticated


@dataclass(frozen=True, slots=True)
class ScramLogin:
    """A credential, and who has the password for it."""

    credential: "ScramCredential"
    authenticated: "Authenticated"


class ScramServer:
    """One exchange. `find` gives the credential of a user or, if its second argument says so, of a token.

    `secret`: what the answers to unknown users are derived from; `nonce`: ours, never used before.
    """

    def __init__(
        self,
        mechanism: ScramMechanism,
        find: Callable[[str, bool], ScramLogin | None],
        *,
        nonce: str,
        secret: bytes,
    ) -> None:
        self._mechanism = mechanism
        self._find = find
        self._nonce = nonce
        self._secret = secret
        self._first: ClientFirst | None = None
        self._login: ScramLogin | None = None
        self._credential: ScramCredential | None = None
        self._server_first = ""
        self._authenticated: Authenticated | None = None

    @property
    def authenticated(self) -> Authenticated | None:
        """Who it was."""
        return self._authenticated

    def evaluate(self, token: bytes) -> bytes:
        """Evaluate the client's first or final message. Raises AuthenticationFailedError."""
        if self._first is None:
            return self._receive_first(parse_client_first(token))
        return self._receive_final(self._first, parse_client_final(token))

    def _receive_first(self, first: ClientFirst) -> bytes:
        if first.authorization_id and first.authorization_id != first.name:
            text = "Authentication failed: Client requested an authorization id that is different from username"
            raise AuthenticationFailedError(text, client_message=text)
        # Computed in any case: who is asked for must not be seen by how long the answer takes.
        unknown = unknown_credential(self._mechanism, self._secret, first.name)
        self._login = self._find(first.name, first.is_token)
        self._credential = unknown if self._login is None else self._login.credential
        if self._credential.iterations < ITERATIONS_MIN:
            raise AuthenticationFailedError(
                f"Iterations {self._credential.iterations} is less than the minimum {ITERATIONS_MIN} for "
                f"{self._mechanism.name}"
            )
        self._first = first
        salt = b64encode(self._credential.salt).decode()
        self._server_first = f"r={first.nonce}{self._nonce},s={salt},i={self._credential.iterations}"
        return self._server_first.encode()

    def _receive_final(self, first: ClientFirst, final: ClientFinal) -> bytes:
        credential, digest = self._credential, self._mechanism.digest
        assert credential is not None, "the first message was answered"
        signed = f"{first.bare},{self._server_first},{final.without_proof}".encode()
        signature = hmac.digest(credential.stored_key, signed, digest)
        stored = hashlib.new(digest, exclusive_or(signature, final.proof[: len(signature)])).digest()
        is_right = hmac.compare_digest(stored, credential.stored_key) and len(final.proof) == len(signature)
        if final.binding != first.header.encode():
            raise AuthenticationFailedError("Invalid channel binding in the final client message.")
        if final.nonce != first.nonce + self._nonce:
            raise AuthenticationFailedError("Invalid client nonce in the final client message.")
        if self._login is None:
            raise AuthenticationFailedError("Authentication failed: Invalid user credentials")
        if not is_right:
            raise AuthenticationFailedError("Authentication failed: Invalid client credentials")
        self._authenticated = self._login.authenticated
        return b"v=" + b64encode(hmac.digest(credential.server_key, signed, digest))
