"""The files that a path, pattern or URI names for a source: segments, snapshots, request logs; and their nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Protocol

from falkirk.pipeline.errors import InventoryError
from falkirk.pipeline.filesystem import Location, expand, open_location
from falkirk.pipeline.readers.file_tail import tail_problem
from falkirk.storage.batch_borders import first_batch_bytes
from falkirk.storage.bounded_read import read_bounded
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.meta_properties import FILE_NAME, parse_meta_properties
from falkirk.storage.partition_directory import (
    METADATA_DIRECTORY,
    DirectoryState,
    PartitionDirectory,
    parse_partition_directory,
)
from falkirk.storage.segment import parse_segment_file
from falkirk.storage.snapshot_file import SnapshotState, parse_snapshot_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_HEAD_BYTES: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """A file that a source reads, and the node that owns its data directory."""

    location: Location
    node_id: int | None = None

    @classmethod
    def at(cls, location: Location) -> LogFile:
        """Find the node by the meta.properties two levels up, if there is one."""
        log_dir = location.uri.rpartition("/")[0].rpartition("/")[0]
        return cls(location=location, node_id=_node_of(log_dir) if log_dir else None)


def metadata_files(paths: Sequence[str], *, check: bool = True) -> list[LogFile]:
    """Find the segments and snapshots of metadata partitions.

    A directory is a metadata partition, or a data directory that holds one. A file that is named itself is checked to
    be a log unless `check` is False. Raises InventoryError, naming what does not exist or is no log, and OSError.
    """

    def in_directory(directory: Location, *, is_named: bool) -> Iterable[Location]:
        names = directory.disk.list(directory.path)
        if METADATA_DIRECTORY in names:
            directory = directory / METADATA_DIRECTORY
            names = directory.disk.list(directory.path)
        elif not is_named and directory.path.rpartition("/")[2] != METADATA_DIRECTORY:
            # A pattern also matches the partitions of other topics.
            return []
        return [directory / name for name in names if _is_log(name)]

    nothing = f"no segment and no snapshot of a metadata log here, nor in a {METADATA_DIRECTORY} of it"
    return _found(
        paths, _Kind(is_wanted=_is_log, in_directory=in_directory, check=_check_log if check else _any, nothing=nothing)
    )


def segment_files(paths: Sequence[str], topic: str | None, *, check: bool = True) -> list[LogFile]:
    """Find the segments of partitions.

    A directory is a partition's, or a data directory; of that, all partitions of `topic`. Raises what `metadata_files`
    raises.
    """

    def in_directory(directory: Location, *, is_named: bool) -> Iterable[Location]:
        del is_named
        # Data directories may have names like partitions: `kafka-1`.
        own = partition_of(directory.path)
        if own is not None and topic in {None, own.topic}:
            return _segments(directory)
        inner = [directory / name for name in directory.disk.list(directory.path)] if topic is not None else []
        partitions = [(place, partition_of(place.path)) for place in inner]
        wanted = [place for place, partition in partitions if partition is not None and partition.topic == topic]
        return [segment for place in wanted for segment in _segments(place)]

    nothing = "no segment of a partition here"
    nothing += "; of a data directory, name the topic in option topic" if topic is None else f", nor one of {topic}"
    return _found(
        paths,
        _Kind(is_wanted=_is_segment, in_directory=in_directory, check=_check_log if check else _any, nothing=nothing),
    )


def request_log_files(paths: Sequence[str], *, check: bool = True) -> list[LogFile]:
    """Find request logs; in a directory, those named like one (`kafka-request.log.2026-01-01-12`).

    Raises what `metadata_files` raises.
    """

    def in_directory(directory: Location, *, is_named: bool) -> Iterable[Location]:
        del is_named
        names = directory.disk.list(directory.path)
        return [directory / name for name in names if "request" in name and ".log" in name]

    nothing = "no request log here: no file has `request` and `.log` in its name"
    return _found(
        paths, _Kind(is_wanted=_any, in_directory=in_directory, check=_check_text if check else _any, nothing=nothing)
    )


def partition_of(path: str) -> PartitionDirectory | None:
    """Parse the name of a partition's directory; None for other directories."""
    partition = parse_partition_directory(path.rstrip("/").rpartition("/")[2])
    return partition if partition is not None and partition.state is DirectoryState.CURRENT else None


def _is_segment(name: str) -> bool:
    file = parse_segment_file(name)
    return file is not None and file.kind == "log" and not file.marker


def _is_snapshot(name: str) -> bool:
    file = parse_snapshot_name(name)
    return file is not None and file.state is SnapshotState.COMPLETE


def _is_log(name: str) -> bool:
    return _is_segment(name) or _is_snapshot(name)


def _any(_: object) -> bool:
    return True


def _segments(directory: Location) -> list[Location]:
    return [directory / name for name in directory.disk.list(directory.path) if _is_segment(name)]


class _InDirectory(Protocol):
    def __call__(self, directory: Location, *, is_named: bool) -> Iterable[Location]:
        """Return the wanted files of a directory; `is_named`: it is named itself, not found by a pattern."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """What a source reads: wanted names, files of a directory, and the message if there are none."""

    is_wanted: Callable[[str], bool]
    in_directory: _InDirectory
    # Checks that a file that is named itself is of this kind, whatever its name.
    check: Callable[[Location], object]
    nothing: str


def _found(paths: Sequence[str], kind: _Kind) -> list[LogFile]:
    files: dict[str, Location] = {}
    for pattern in paths:
        uris = expand(pattern)
        if not uris:
            raise InventoryError(f"{pattern}: matches nothing")
        named = uris == [pattern]
        found = [file for uri in uris for file in _at(open_location(uri), kind, is_named=named)]
        if not found:
            raise InventoryError(f"{pattern}: {kind.nothing}")
        files |= {file.uri: file for file in found}
    return [LogFile.at(file) for file in files.values()]


def _at(place: Location, kind: _Kind, *, is_named: bool) -> Iterator[Location]:
    if place.disk.is_directory(place.path):
        yield from kind.in_directory(place, is_named=is_named)
    elif is_named:
        if not place.disk.exists(place.path):
            raise InventoryError(f"{place.uri}: no such file or directory")
        kind.check(place)
        yield place
    elif kind.is_wanted(place.uri.rpartition("/")[2]):
        yield place


@lru_cache(maxsize=4096)
def _node_of(log_dir: str) -> int | None:
    file = open_location(log_dir) / FILE_NAME
    try:
        return parse_meta_properties(read_bounded(file.disk, file.path, file=file.uri), file=file.uri).node_id
    except (CorruptFileError, OSError):
        return None


def _check_log(location: Location) -> None:
    """Check that a file begins like a log, or is empty. Raises InventoryError, and OSError."""
    size = location.disk.size(location.path)
    head = memoryview(location.disk.read(location.path, 0, _HEAD_BYTES))
    if size and first_batch_bytes(head) is None:
        problem = tail_problem(location.disk, location.path, 0, size)
        if problem.kind != "torn tail":
            raise InventoryError(f"{location.uri}: no log of Kafka: {problem.reason.partition(';')[0]}")


def _check_text(location: Location) -> None:
    """Check that a file is text. Raises InventoryError, and OSError."""
    if b"\0" in location.disk.read(location.path, 0, _HEAD_BYTES):
        raise InventoryError(f"{location.uri}: no request log: it is not text")
