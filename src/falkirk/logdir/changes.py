"""What is to become of a log directory: which files get new contents, which go. Decided first, done later.

The same changes are carried out on a copy (`write_tree`) or in place (`in_place`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


@dataclass(slots=True)
class LogDirChanges:
    """Changes of one log directory, by path relative to it. None means that the file goes."""

    log_dir: Path
    files: dict[str, Callable[[], Iterable[bytes]] | None] = field(default_factory=dict)

    def write(self, path: str, contents: Callable[[], Iterable[bytes]]) -> None:
        """Give a file new contents; it may not exist yet."""
        self.files[path] = contents

    def write_bytes(self, path: str, data: bytes) -> None:
        """Give a small file new contents."""
        self.files[path] = lambda: (data,)

    def remove(self, path: str) -> None:
        """Take a file away, unless it was given new contents."""
        self.files.setdefault(path, None)


@dataclass(slots=True)
class NodeChanges:
    """Changes of one node's log directories, in the node's order."""

    node_id: int
    log_dirs: list[LogDirChanges]
