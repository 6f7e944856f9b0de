"""The changes of log directories: which files get which contents, and which are removed. Decided first, written later.

The same changes are applied to a copy (`write_tree`) or in place (`in_place`). Contents are values; only `write_file`
makes bytes of them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from falkirk.metadata.levels.writer import write_values
from falkirk.metadata.undo.undo_bundle import Bundle, format_bundle
from falkirk.storage.snapshot_writer import write_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.levels.writer import WriterOptions
    from falkirk.protocol.messages import VotersRecord


@dataclass(frozen=True, slots=True)
class ImageRecords:
    """The records of an image at a level."""

    image: MetadataImage
    options: WriterOptions


MetadataRecords = ImageRecords | tuple[bytes, ...]
"""An image, or values of records with their frames."""


@dataclass(frozen=True, eq=False, kw_only=True)  # without slots, for the cached property
class NewSnapshot:
    """A snapshot of metadata that ends a log at `epoch`; one value serves all nodes, so its bytes are made once."""

    records: MetadataRecords
    epoch: int
    timestamp: int
    kraft_version: int
    voters: VotersRecord | None

    @cached_property
    def chunks(self) -> list[bytes]:
        """Return the bytes of the file, equal each time."""
        return list(
            write_snapshot(
                record_values(self.records),
                epoch=self.epoch,
                last_contained_log_timestamp=self.timestamp,
                clock=lambda: self.timestamp,
                kraft_version=self.kraft_version,
                voters=self.voters,
            )
        )


FileContents = bytes | NewSnapshot | Bundle


@dataclass(frozen=True, slots=True)
class LogDirChanges:
    """Changes of one log directory, by path relative to it. None removes the file."""

    log_dir: Path
    files: Mapping[str, FileContents | None]


@dataclass(frozen=True, slots=True)
class NodeChanges:
    """Changes of one node's log directories, in the node's order."""

    node_id: int
    log_dirs: tuple[LogDirChanges, ...]


def record_values(records: MetadataRecords) -> Iterable[bytes]:
    """Return the values of the records, frames included."""
    return records if isinstance(records, tuple) else write_values(records.image, records.options)


def with_files(nodes: Sequence[NodeChanges], files: Mapping[Path, Mapping[str, bytes]]) -> list[NodeChanges]:
    """Return the changes with additional files, given by log directory."""
    return [
        replace(
            node,
            log_dirs=tuple(
                replace(changes, files={**changes.files, **files.get(changes.log_dir, {})}) for changes in node.log_dirs
            ),
        )
        for node in nodes
    ]


def write_file(path: Path, contents: FileContents) -> None:
    """Write a new file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    match contents:
        case bytes():
            chunks: Iterable[bytes] = (contents,)
        case NewSnapshot():
            chunks = contents.chunks
        case Bundle():
            chunks = (format_bundle(contents),)
    with path.open("xb") as file:
        file.writelines(chunks)


def write_changed_files(changes: LogDirChanges, folder: Path, *, like: Path) -> None:
    """Write the files with new contents to `folder`, with owner and mode of what they replace, else of `like`."""
    for path, contents in changes.files.items():
        if contents is None:
            continue
        write_file(folder / path, contents)
        old = changes.log_dir / path
        status = (old if old.exists() else like).stat()
        if os.geteuid() == 0:
            os.chown(folder / path, status.st_uid, status.st_gid)
        (folder / path).chmod(status.st_mode & 0o666)
