"""Who asks, from where, and in which version."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Principal:
    """As in ACLs: `User:alice`."""

    type: str = "User"
    name: str = "ANONYMOUS"
    # Came by a delegation token: such a principal may not make tokens.
    is_token_authenticated: bool = False

    @classmethod
    def parse(cls, text: str) -> Principal:
        """Return the principal of a text like `User:alice`."""
        kind, _, name = text.partition(":")
        return cls(kind, name)

    def __str__(self) -> str:
        """Return the form of ACLs, `type:name`."""
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """What a handler knows of a request besides its message. Of a forwarded request it is that inside the envelope.

    `client_host` is an address without a port; `listener` the name of the listener where the request came in, and
    `security_protocol` that listener's.
    """

    api_key: int
    api_version: int
    client_id: str | None = None
    principal: Principal = ANONYMOUS
    client_host: str = "127.0.0.1"
    listener: str = "CONTROLLER"
    security_protocol: str = "PLAINTEXT"
    is_forwarded: bool = False
    software_name: str = ""
    software_version: str = ""
