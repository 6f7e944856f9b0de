"""The client of a request."""

from __future__ import annotations

import msgspec


class ClientContext(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The facts of a request besides its message. `client_host` as Kafka writes it, with a leading slash."""

    api_version: int
    client_id: str = ""
    client_host: str = "/127.0.0.1"
