"""Events of a node, from its driver.

Connection ids are never reused: odd ones are chosen by the node, for connections that it opens, even ones by the
driver, for connections that it accepts.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec


@dataclass(frozen=True, slots=True)
class ConnectionAccepted:
    """A client or node has connected to one of the node's listeners. `client_host`: its address without the port.

    `peer_name`: the subject of its verified TLS certificate, in RFC 2253 form.
    """

    connection_id: int
    listener: str
    client_host: str
    peer_name: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectionOpened:
    """A connection that the node asked for is open."""

    connection_id: int


# Made for each piece that comes in: a Struct costs a fifth of a dataclass.
class BytesReceived(msgspec.Struct, frozen=True):
    """Bytes in the order of arrival, split anywhere."""

    connection_id: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """A connection was closed by the other side, or could not be opened."""

    connection_id: int
    reason: str


@dataclass(frozen=True, slots=True)
class ShutdownRequested:
    """The operator wants an orderly shutdown, which ends with the effect Stop."""


ConnectionEvent = ConnectionAccepted | ConnectionOpened | BytesReceived | ConnectionLost
Event = ConnectionEvent | ShutdownRequested
