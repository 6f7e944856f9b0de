"""The client's side of SCRAM; a delegation token's id and HMAC are name and password (KIP-84, KIP-48)."""

from __future__ import annotations

import hmac
from base64 import b64encode
from typing import TYPE_CHECKING

from falkirk.protocol.sasl.errors import AuthenticationFailedError
from falkirk.protocol.sasl.scram_mechanism import (
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    client_key,
    exclusive_or,
    salted_password,
    server_key,
    stored_key,
)
from falkirk.protocol.sasl.scram_messages import TOKEN_AUTH, escape_name, parse_server_final, parse_server_first

if TYPE_CHECKING:
    from falkirk.protocol.sasl.scram_mechanism import ScramMechanism
    from falkirk.protocol.sasl.scram_messages import ServerFirst


class ScramPassword:
    """A name and its password. What is slow to compute is kept: all servers of a cluster have the same salt."""

    def __init__(self, mechanism: ScramMechanism, name: str, password: str, *, is_token: bool = False) -> None:
        self.mechanism = mechanism
        self.name = name
        self.is_token = is_token
        self._password = password
        self._requested: tuple[bytes, int] | None = None
        self._salted = b""

    def salted(self, salt: bytes, iterations: int) -> bytes:
        """Return the salted password."""
        if self._requested != (salt, iterations):
            self._salted = salted_password(self.mechanism, self._password, salt, iterations)
            self._requested = (salt, iterations)
        return self._salted


class ScramClient:
    """One exchange. `nonce`: never used before."""

    def __init__(self, password: ScramPassword, *, nonce: str) -> None:
        self._password = password
        self._nonce = nonce
        extension = f",{TOKEN_AUTH}=true" if password.is_token else ""
        self._bare = f"n={escape_name(password.name)},r={nonce}{extension}"
        # What the server must sign with in the end.
        self._signature: bytes | None = None
        self._is_complete = False

    @property
    def is_complete(self) -> bool:
        """Return whether the server has proved that it knows the password."""
        return self._is_complete

    def first(self) -> bytes:
        """Return the client-first message."""
        return f"n,,{self._bare}".encode()

    def evaluate(self, token: bytes) -> bytes | None:
        """Evaluate the server's first or final message. Raises AuthenticationFailedError."""
        if self._signature is None:
            return self._final(parse_server_first(token))
        if not hmac.compare_digest(parse_server_final(token), self._signature):
            raise AuthenticationFailedError("Invalid server signature in server final message")
        self._is_complete = True
        return None

    def _final(self, server: ServerFirst) -> bytes:
        mechanism = self._password.mechanism
        if not server.nonce.startswith(self._nonce):
            raise AuthenticationFailedError("Invalid server nonce: does not start with client nonce")
        if server.iterations < ITERATIONS_MIN:
            raise AuthenticationFailedError(
                f"Requested iterations {server.iterations} is less than the minimum {ITERATIONS_MIN} for "
                f"{mechanism.name}"
            )
        if server.iterations > ITERATIONS_MAX:
            raise AuthenticationFailedError(
                f"Requested iterations {server.iterations} is more than the maximum {ITERATIONS_MAX}"
            )
        salted = self._password.salted(server.salt, server.iterations)
        without_proof = f"c=biws,r={server.nonce}"  # biws: "n,,", no channel binding
        signed = f"{self._bare},{server.text},{without_proof}".encode()
        signature = hmac.digest(stored_key(mechanism, salted), signed, mechanism.digest)
        proof = b64encode(exclusive_or(client_key(mechanism, salted), signature)).decode()
        self._signature = hmac.digest(server_key(mechanism, salted), signed, mechanism.digest)
        return f"{without_proof},p={proof}".encode()
