"""Who asks a shard."""

from __future__ import annotations

import msgspec


class ClientContext(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a shard knows of a request besides its message. `client_host` as Kafka writes it: with a slash before it."""

    api_version: int
    client_id: str = ""
    client_host: str = "/127.0.0.1"
