"""What a driver must do for a node, in order. What must be durable first is on disk already."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Connect:
    """Open a connection; ConnectionOpened or ConnectionLost follows."""

    connection_id: int
    endpoint: "Endpoint"
    # Name of the listener whose security settings the other side has (controller.listener.names).
    listener: str


# Made for each piece that goes out: a Struct costs a fifth of a dataclass.
class Send(msgspec.Struct, frozen=True):
    """Write bytes, in order per connection. On a closed connection it does nothing."""

    connection_id: int
    data: bytes | memoryview


@dataclass(frozen=True, slots=True)
class Close:
    """Close a connection after everything sent on it is written."""

    connection_id: int


@dataclass(frozen=True, slots=True)
class Fact:
    """A log event: its name and fields. `level`: debug, info, warning or error."""

    level: str
    event: str
    fields: "Mapping[str, object]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Started:
    """The node serves; emitted once. A broker is unfenced by then; a mere controller serves from its first step on.

    Source: BrokerServer.startup, ControllerServer.startup.
    """


@dataclass(frozen=True, slots=True)
class Stop:
    """The node has ended and must not be stepped again. `reason`: one line for the operator; None if orderly."""

    exit_code: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Reconfigured:
    """Listeners, or limits of connections, are others now.

    `properties`: those of server.properties with the dynamic configs that count. `opened` and `closed`: the names of
    listeners that came and went; connections of the latter end.
    """

    properties: "Mapping[str, str]"
    opened: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()


Effect = Connect | Send | Close | Fact | Started | Stop | Reconfigured
