"""Interfaces of SASL exchanges: tokens in, tokens out, and the authenticated principal at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Authenticated:
    """Who it is. `expires_ms`: when the credential ends to be valid (delegation tokens)."""

    principal_type: str
    name: str
    is_token: bool = False
    expires_ms: int | None = None


class SaslServer(Protocol):
    """One exchange, as the server sees it. `authenticated` is None until it has succeeded."""

    @property
    def authenticated(self) -> Authenticated | None:
        """Who it was."""
        ...

    def evaluate(self, token: bytes) -> bytes:
        """Return the response to the client's token. Raises AuthenticationFailedError, which ends the exchange."""
        ...


class SaslClient(Protocol):
    """One exchange, as the client sees it."""

    @property
    def is_complete(self) -> bool:
        """Return whether nothing more is expected from the server."""
        ...

    def first(self) -> bytes:
        """Return the first token."""
        ...

    def evaluate(self, token: bytes) -> bytes | None:
        """Return the next token after the server's response; None: there is none.

        Raises AuthenticationFailedError if the server cannot prove that it knows the credentials.
        """
        ...
