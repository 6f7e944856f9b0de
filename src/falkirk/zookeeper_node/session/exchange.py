"""Events and effects of the session with ZooKeeper, beside those of connections.

The driver keeps one session. Operations are executed in order; each is answered once. When the session expires all open
operations are answered SESSION_EXPIRED, watches are gone, and none is sent before a new session was requested and is
connected.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.zookeeper_node.session.operations import Answer, Operation


class SessionState(enum.Enum):
    """CONNECTED: operations are executed. SUSPENDED: the session may or may not be alive. EXPIRED: it is not.

    READ_ONLY: connected to a server that is cut off from its ensemble, and accepts no writes.
    """

    CONNECTED = "connected"
    READ_ONLY = "read-only"
    SUSPENDED = "suspended"
    EXPIRED = "expired"


# --- Effects


@dataclass(frozen=True, slots=True)
class OpenSession:
    """Open a session: once at the start, and once after each that has expired."""


@dataclass(frozen=True, slots=True)
class CloseSession:
    """Close the session: its ephemeral znodes are deleted at once."""


@dataclass(frozen=True, slots=True)
class AskZooKeeper:
    """Execute an operation; request ids are never reused."""

    request_id: int
    operation: "Operation"


ZooKeeperEffect = OpenSession | CloseSession | AskZooKeeper

# --- Events


@dataclass(frozen=True, slots=True)
class SessionChanged:
    """The session's new state. `session_id` is 0 without a session."""

    state: SessionState
    session_id: int = 0


@dataclass(frozen=True, slots=True)
class ZooKeeperAnswered:
    """The answer to one AskZooKeeper."""

    request_id: int
    answer: "Answer"


@dataclass(frozen=True, slots=True)
class ZnodeChanged:
    """A watch has fired; what changed must be read."""

    path: str


ZooKeeperEvent = SessionChanged | ZooKeeperAnswered | ZnodeChanged
