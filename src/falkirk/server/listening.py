"""Listening sockets: bound before anything else of the node is touched, so that a port in use changes nothing."""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from falkirk.protocol.endpoint import Endpoint
from falkirk.server.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.node.config.node_config import Listener


@dataclass(frozen=True, slots=True)
class ListeningSocket:
    """A listener, with its actual port, and its socket."""

    listener: Listener
    socket: socket.socket


def bind(listeners: Sequence[Listener]) -> list[ListeningSocket]:
    """Bind all listeners, without accepting connections. Raises ServerError, and nothing is bound then."""
    bound: list[ListeningSocket] = []
    try:
        for listener in listeners:
            made = bind_endpoint(listener.endpoint)
            bound.append(ListeningSocket(_with_port(listener, made.getsockname()[1]), made))
    except BaseException:
        close(bound)
        raise
    return bound


def close(sockets: Sequence[ListeningSocket]) -> None:
    """Close bound sockets."""
    for one in sockets:
        one.socket.close()


def bind_endpoint(endpoint: Endpoint) -> socket.socket:
    """Bind one; port 0 is any. Raises ServerError."""
    host, port = endpoint
    try:
        family, *_, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[
            0
        ]
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.setblocking(False)
        except BaseException:
            made.close()
            raise
    except (OSError, UnicodeError) as error:  # UnicodeError: a host that is no name, such as a..b
        shown = f"{host or '0.0.0.0'}:{port}"  # noqa: S104 - what Kafka prints for every address
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            reason = "Address already in use"
        raise ServerError(f"Socket server failed to bind to {shown}: {reason}.") from error
    return made


def _with_port(listener: Listener, port: int) -> Listener:
    """Fill in the port where the configuration left it to the system."""
    advertised = listener.advertised
    return replace(
        listener,
        endpoint=Endpoint(listener.endpoint.host, port),
        advertised=advertised if advertised.port else Endpoint(advertised.host, port),
    )
