"""How bytes reach a node. The place for TLS and SASL: a transport is what is left once both are done."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from falkirk.client.config import PLAINTEXT
from falkirk.client.errors import ClientConfigError, ConnectionFailedError

if TYPE_CHECKING:
    from falkirk.client.config import ClientConfig
    from falkirk.protocol.endpoint import Endpoint


async def open_transport(endpoint: Endpoint, config: ClientConfig) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect. Raises ConnectionFailedError; ClientConfigError for a security protocol that we do not have yet."""
    if config.security_protocol != PLAINTEXT:
        raise ClientConfigError(f"security.protocol is '{config.security_protocol}': only {PLAINTEXT} can be used yet")
    try:
        async with asyncio.timeout(config.socket_connection_setup_timeout_ms / 1000):
            return await asyncio.open_connection(endpoint.host, endpoint.port)
    except TimeoutError as error:
        reason = f"no connection within {config.socket_connection_setup_timeout_ms} ms"
        raise ConnectionFailedError(endpoint, reason) from error
    except OSError as error:
        raise ConnectionFailedError(endpoint, f"cannot connect: {error.strerror or error}") from error
