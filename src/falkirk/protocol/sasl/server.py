"""What all server sides have in common: tokens in, tokens out, and who it was at the end."""

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
        """Take the client's token and give the answer. Raises AuthenticationFailedError, which ends the exchange."""
        ...


class SaslClient(Protocol):
    """One exchange, as the client sees it."""

    @property
    def is_complete(self) -> bool:
        """Say whether nothing more is expected from the server."""
        ...

    def first(self) -> bytes:
        """Give the first token."""
        ...

    def evaluate(self, token: bytes) -> bytes | None:
        """Take the server's answer; give the next token, None: there is none.

        Raises AuthenticationFailedError if the server is not what it should be.
        """
        ...
