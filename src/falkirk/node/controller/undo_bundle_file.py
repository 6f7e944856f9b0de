"""The file of an undo bundle, appended to in pieces; it has its name when it is complete and its change committed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.node.config.node_config import NodeConfig
    from falkirk.storage.disk import Disk

_UNDO_DIRECTORY: Final = "falkirk-undo"
_SUFFIXES: Final = (".zip.part", ".zip.prepared", ".replayed.zip.part")
_PART, _PREPARED, _REPLAYED_PART = _SUFFIXES
_PIECE_BYTES: Final = 1024 * 1024


def undo_directory(config: NodeConfig) -> str:
    """Return where bundles go: not in a log directory, which may be formatted again, or belong to Kafka's own nodes."""
    return config.undo_dir or f"{config.metadata_log_dir.rstrip('/').rpartition('/')[0]}/{_UNDO_DIRECTORY}"


def remove_partial(disk: Disk, directory: str, node_id: int) -> None:
    """Remove what a node has left of bundles without a committed change. A directory that cannot be read has none."""
    for suffix in _SUFFIXES:
        with suppress(OSError):
            disk.remove(f"{directory}/{node_id}{suffix}")


class UndoBundleFile:
    """A bundle that is being written, for a change that is decided on or one that is replayed. Raises OSError."""

    def __init__(self, disk: Disk, directory: str, node_id: int, *, is_replayed: bool = False) -> None:
        """Begin it in place of an incomplete one of the same kind."""
        self._disk = disk
        self._path = f"{directory}/{node_id}{_REPLAYED_PART if is_replayed else _PART}"
        self._prepared_path = f"{directory}/{node_id}{_PREPARED}"
        self._pending = bytearray()
        disk.make_directory(directory)
        self.discard()
        disk.append(self._path, b"")

    def append(self, data: bytes) -> None:
        """Append bytes; they are written when there are enough of them."""
        self._pending += data
        if len(self._pending) >= _PIECE_BYTES:
            self._write()

    def prepare(self) -> None:
        """Make the file durable, in place of one that was prepared before."""
        self._write()
        self._disk.rename(self._path, self._prepared_path)
        self._path = self._prepared_path

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
