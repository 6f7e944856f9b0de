"""What a node asks ZooKeeper, and what it may be answered: values, so that a simulated ZooKeeper does as well.

Paths are absolute below the chroot of `zookeeper.connect`. Watches are ZooKeeper's: each tells of one change, of data
or existence for GetData and Exists (also where the znode is not there), of the names for GetChildren.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

ANY_VERSION: Final = -1
"""Matches a znode of whatever version."""


@dataclass(frozen=True, slots=True)
class GetData:
    """Answered by Znode, or NO_NODE."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class GetChildren:
    """Answered by Children, or NO_NODE."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class Create:
    """Make a znode; its parent must be there. Answered by Done of version 0, or NODE_EXISTS or NO_NODE."""

    path: str
    data: bytes
    ephemeral: bool = False


@dataclass(frozen=True, slots=True)
class SetData:
    """Replace the data of a znode in this version. Answered by Done of its new version, or BAD_VERSION or NO_NODE."""

    path: str
    data: bytes
    version: int


@dataclass(frozen=True, slots=True)
class Delete:
    """Take a znode away. Answered by Done, or BAD_VERSION or NO_NODE."""

    path: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class CheckVersion:
    """Part of a Multi: the znode must be in this version."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class Multi:
    """All or nothing. Answered by Done of the last part, or by Failed with the first part that could not be."""

    parts: tuple[Create | SetData | Delete | CheckVersion, ...]


Operation = GetData | GetChildren | Create | SetData | Delete | Multi


class Refusal(enum.Enum):
    """Why ZooKeeper did not do it. With CONNECTION_LOSS it may have; with SESSION_EXPIRED, too, what came before."""

    NO_NODE = "NoNode"
    NODE_EXISTS = "NodeExists"
    BAD_VERSION = "BadVersion"
    READ_ONLY = "NotReadOnly"
    NO_AUTH = "NoAuth"
    CONNECTION_LOSS = "ConnectionLoss"
    SESSION_EXPIRED = "SessionExpired"
    OTHER = "SystemError"


@dataclass(frozen=True, slots=True)
class Failed:
    """`part`: which of a Multi was refused. `detail`: ZooKeeper's own words for OTHER."""

    refusal: Refusal
    part: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Znode:
    """A znode as it was read. `czxid`: when it was created; `ephemeral_owner`: its session, 0 if it stays."""

    data: bytes
    version: int
    czxid: int
    ephemeral_owner: int = 0


@dataclass(frozen=True, slots=True)
class Children:
    """Names below a znode, sorted."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """It was done; `version` of what was written last."""

    version: int = 0


Answer = Znode | Children | Done | Failed
