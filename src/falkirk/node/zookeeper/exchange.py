"""What a node on ZooKeeper is told beside the events of connections, and wants done beside their effects.

The driver keeps one session. Operations are carried out in the order in which they are asked for; each is answered
once. When the session has expired all that are open are answered so, watches are gone, and nothing is asked before a
new session is asked for and stands.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.node.zookeeper.operations import Answer, Operation


class SessionState(enum.Enum):
    """CONNECTED: operations are carried out. SUSPENDED: nobody knows whether the session lives. EXPIRED: it does not.

    READ_ONLY: connected to a server that is cut off from the others, and takes no writes.
    """

    CONNECTED = "connected"
    READ_ONLY = "read-only"
    SUSPENDED = "suspended"
    EXPIRED = "expired"


# --- Effects


@dataclass(frozen=True, slots=True)
class OpenSession:
    """Begin a session: once at the start, and once after each that has expired."""


@dataclass(frozen=True, slots=True)
class CloseSession:
    """End the session: its ephemeral znodes go at once."""


@dataclass(frozen=True, slots=True)
class AskZooKeeper:
    """Carry out an operation; numbers are never used again."""

    request_id: int
    operation: Operation


ZooKeeperEffect = OpenSession | CloseSession | AskZooKeeper

# --- Events


@dataclass(frozen=True, slots=True)
class SessionChanged:
    """What has become of the session. `session_id` is 0 where there is none."""

    state: SessionState
    session_id: int = 0


@dataclass(frozen=True, slots=True)
class ZooKeeperAnswered:
    """The answer to one AskZooKeeper."""

    request_id: int
    answer: Answer


@dataclass(frozen=True, slots=True)
class ZnodeChanged:
    """A watch has told of a change. What changed has to be read."""

    path: str


ZooKeeperEvent = SessionChanged | ZooKeeperAnswered | ZnodeChanged
