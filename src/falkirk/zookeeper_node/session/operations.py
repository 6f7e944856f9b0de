"""Operations on ZooKeeper and their answers as values, so that a simulated ZooKeeper can execute them.

Paths are absolute below the chroot of `zookeeper.connect`. Watches are ZooKeeper's: each fires once, on changes of data
or existence for GetData (also if the znode does not exist), of the names for GetChildren.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

ANY_VERSION: Final = -1
"""Matches any version of a znode."""


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
    """Create a znode; its parent must exist. Answered by Done of version 0, or NODE_EXISTS or NO_NODE."""

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
    """Delete a znode. Answered by Done, or BAD_VERSION or NO_NODE."""

    path: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class CheckVersion:
    """Part of a Multi: the znode must be in this version."""

    path: str
    version: int


@dataclass(frozen=True, slots=True)
class Multi:
    """All or nothing. Answered by Done of the last part, or by Failed with the first part that failed."""

    parts: tuple[Create | SetData | Delete | CheckVersion, ...]


Operation = GetData | GetChildren | Create | SetData | Delete | Multi


class KeeperError(enum.Enum):
    """ZooKeeper's errors. With CONNECTION_LOSS the operation may have been executed, with SESSION_EXPIRED too."""

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
    """`part`: the part of a Multi that was refused. `detail`: ZooKeeper's own words for OTHER."""

    refusal: KeeperError
    part: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Znode:
    """A znode as it was read. `czxid`: the transaction that created it; `ephemeral_owner`: its session, else 0."""

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
    """It was executed; `version` of the last write."""

    version: int = 0


Answer = Znode | Children | Done | Failed
