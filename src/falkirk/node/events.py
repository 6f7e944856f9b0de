"""What a node is told. Connections of both directions are known by numbers that the driver never uses again.

The node chooses the numbers of connections that it opens (odd), the driver those that it accepts (even).
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec


@dataclass(frozen=True, slots=True)
class ConnectionAccepted:
    """A peer has connected to one of the node's listeners. `client_host`: its address without the port.

    `peer_name`: the subject of the certificate that it has shown over TLS and that was verified, as RFC 2253 writes it.
    """

    connection_id: int
    listener: str
    client_host: str
    peer_name: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectionOpened:
    """A connection that the node asked for stands."""

    connection_id: int


# Made for each piece that comes in: a Struct costs a fifth of a dataclass.
class BytesReceived(msgspec.Struct, frozen=True):
    """Bytes as they came, cut anywhere."""

    connection_id: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """A connection is gone or could not be opened. Not told of those that the node closed."""

    connection_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class ShutdownRequested:
    """The operator wants the node to stop; it goes on until it gives the effect Stop."""


ConnectionEvent = ConnectionAccepted | ConnectionOpened | BytesReceived | ConnectionLost
Event = ConnectionEvent | ShutdownRequested
