"""PLAIN: name and password in clear (RFC 4616). Texts of refusals are those of Kafka's PlainSaslServer."""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING, Final

from falkirk.protocol.sasl.errors import AuthenticationFailedError
from falkirk.protocol.sasl.server import Authenticated

if TYPE_CHECKING:
    from collections.abc import Mapping

PLAIN: Final = "PLAIN"


class PlainServer:
    """Checks one token against `passwords`, by user. A wrong name and a wrong password take the same time."""

    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords
        self._authenticated: Authenticated | None = None

    @property
    def authenticated(self) -> Authenticated | None:
        """Who it was."""
        return self._authenticated

    def evaluate(self, token: bytes) -> bytes:
        """Check `[authzid] NUL authcid NUL passwd`. Raises AuthenticationFailedError."""
        parts = token.decode("utf-8", "replace").split("\0", 3)
        if len(parts) != 3:
            raise _refused(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authorization_id, name, password = parts
        if not name:
            raise _refused("Authentication failed: username not specified")
        if not password:
            raise _refused("Authentication failed: password not specified")
        known = self._passwords.get(name)
        # Digests: comparing them takes the same time whatever the lengths are, and is done for unknown names too.
        is_right = hmac.compare_digest(_digest(password), _digest(known or ""))
        if known is None or not is_right:
            raise _refused("Authentication failed: Invalid username or password")
        if authorization_id and authorization_id != name:
            raise _refused(
                "Authentication failed: Client requested an authorization id that is different from username"
            )
        self._authenticated = Authenticated("User", name)
        return b""


class PlainClient:
    """Sends name and password."""

    def __init__(self, name: str, password: str) -> None:
        self._token = f"\0{name}\0{password}".encode()
        self._is_complete = False

    @property
    def is_complete(self) -> bool:
        """Return whether the server has accepted the password."""
        return self._is_complete

    def first(self) -> bytes:
        """Return the token with name and password."""
        return self._token

    def evaluate(self, token: bytes) -> None:
        """Check the response, which must be empty. Raises AuthenticationFailedError."""
        if token:
            raise AuthenticationFailedError("the server wants to go on after PLAIN")
        self._is_complete = True


def _refused(text: str) -> AuthenticationFailedError:
    return AuthenticationFailedError(text, client_message=text)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
