"""What a node wants done, in the order given. What had to be on disk before is on disk already."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Connect:
    """Open a connection; answered by ConnectionOpened or ConnectionLost."""

    connection_id: int
    endpoint: Endpoint
    # Name of the listener whose security settings the other side has (controller.listener.names).
    listener: str


# Made for each piece that goes out: a Struct costs a fifth of a dataclass.
class Send(msgspec.Struct, frozen=True):
    """Write bytes; order is kept per connection. Sending on a connection that is gone does nothing."""

    connection_id: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Close:
    """Close a connection once what was sent is out."""

    connection_id: int


@dataclass(frozen=True, slots=True)
class Fact:
    """Something worth a line in the log: an event's name and its fields. `level`: debug, info, warning or error."""

    level: str
    event: str
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Started:
    """The node serves; given once. A broker has been unfenced, a node that is none serves from its first step on.

    Source: BrokerServer.startup, ControllerServer.startup.
    """


@dataclass(frozen=True, slots=True)
class Stop:
    """The node has ended; nothing more may be asked of it. `reason` is one line for the operator, None: as asked."""

    exit_code: int
    reason: str | None = None


Effect = Connect | Send | Close | Fact | Started | Stop
