"""The file of an undo bundle, appended to in pieces; it has its name when it is complete."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.node.config.node_config import NodeConfig
    from falkirk.storage.disk import Disk

_UNDO_DIRECTORY: Final = "falkirk-undo"
_PARTIAL_SUFFIX: Final = ".zip.part"
_PIECE_BYTES: Final = 1024 * 1024


def undo_directory(config: NodeConfig) -> str:
    """Return where bundles go: not in a log directory, which may be formatted again, or belong to Kafka's own nodes."""
    return config.undo_dir or f"{config.metadata_log_dir.rstrip('/').rpartition('/')[0]}/{_UNDO_DIRECTORY}"


def remove_partial(disk: Disk, directory: str, node_id: int) -> None:
    """Remove what a node has left of an incomplete bundle. A directory that cannot be read has none."""
    with suppress(OSError):
        disk.remove(_partial_path(directory, node_id))


class UndoBundleFile:
    """A bundle that is being written. Raises OSError."""

    def __init__(self, disk: Disk, directory: str, node_id: int) -> None:
        """Begin it in place of an incomplete one."""
        self._disk = disk
        self._path = _partial_path(directory, node_id)
        self._pending = bytearray()
        disk.make_directory(directory)
        remove_partial(disk, directory, node_id)
        disk.append(self._path, b"")

    def append(self, data: bytes) -> None:
        """Append bytes; they are written when there are enough of them."""
        self._pending += data
        if len(self._pending) >= _PIECE_BYTES:
            self._write()

    def complete(self, path: str) -> None:
        """Make the file durable under its name."""
        self._write()
        self._disk.rename(self._path, path)

    def discard(self) -> None:
        """Remove it, unless that fails: the next one, or the next start, tries again."""
        with suppress(OSError):
            self._disk.remove(self._path)

    def _write(self) -> None:
        self._disk.append(self._path, self._pending)
        self._pending = bytearray()


def _partial_path(directory: str, node_id: int) -> str:
    return f"{directory}/{node_id}{_PARTIAL_SUFFIX}"
