"""How bytes reach a node: a TCP connection, with TLS or not."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING

from falkirk.client.errors import ConnectionFailedError

if TYPE_CHECKING:
    from falkirk.client.config import ClientConfig
    from falkirk.protocol.endpoint import Endpoint


async def open_transport(endpoint: Endpoint, config: ClientConfig) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect. Raises ConnectionFailedError."""
    try:
        async with asyncio.timeout(config.socket_connection_setup_timeout_ms / 1000):
            return await asyncio.open_connection(endpoint.host, endpoint.port, ssl=config.tls)
    except TimeoutError as error:
        reason = f"no connection within {config.socket_connection_setup_timeout_ms} ms"
        raise ConnectionFailedError(endpoint, reason) from error
    except ssl.SSLError as error:
        raise ConnectionFailedError(endpoint, f"no connection over TLS: {tls_reason(error)}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConnectionFailedError(endpoint, f"cannot connect: {reason}") from error


def tls_reason(error: ssl.SSLError) -> str:
    """Say in words what OpenSSL has found."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not valid: {error.verify_message}"
    if error.reason == "WRONG_VERSION_NUMBER":
        return "the other side does not speak TLS"
    return (error.reason or str(error)).replace("_", " ").lower()
