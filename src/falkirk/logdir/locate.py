"""Finds nodes and their log directories from the paths that the operator names.

A path is a log directory, a folder of them (one level or two: `data`, or the OUT of a downgrade with its
`node-<id>` folders), or a node's `server.properties`. Directories of one node are recognised by their
`meta.properties`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from falkirk.logdir.errors import (
    DifferentClustersError,
    InterruptedChangeError,
    LinkedOutsideError,
    NotALogDirError,
)
from falkirk.storage import meta_properties
from falkirk.storage.bounded_read import read_bounded
from falkirk.storage.log_dir_names import LIVE_MARKER, NEW_SUFFIX, OWN_SUFFIXES
from falkirk.storage.meta_properties import MetaProperties, parse_meta_properties
from falkirk.storage.posix_disk import PosixDisk, link_outside
from falkirk.storage.properties_file import PropertiesFile, parse_properties

METADATA_DIRECTORY = "__cluster_metadata-0"
_DEPTH_MAX = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDir:
    """One log directory and its meta.properties.

    `is_live`: it was fetched from a running cluster. Everything in it is committed, and it stands for all nodes.
    """

    path: Path
    meta: MetaProperties
    is_live: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDirs:
    """All log directories of one node, in the order in which they were found.

    `metadata_dir` is the one that holds the metadata partition, None if none does (a formatted node that never ran).
    """

    node_id: int
    cluster_id: str
    log_dirs: tuple[LogDir, ...]
    metadata_dir: LogDir | None
    server_properties: PropertiesFile | None

    @property
    def metadata_path(self) -> Path | None:
        """The metadata partition's directory."""
        return None if self.metadata_dir is None else self.metadata_dir.path / METADATA_DIRECTORY

    @property
    def is_live(self) -> bool:
        """True if the metadata partition was fetched from a running cluster."""
        return self.metadata_dir is not None and self.metadata_dir.is_live


def find_nodes(paths: list[Path]) -> list[NodeDirs]:
    """Return the nodes that the paths name, by rising id.

    Raises NotALogDirError if a path holds no log directory, DifferentClustersError if directories do not belong to one
    cluster, or one node has two metadata partitions, InterruptedChangeError if there is an unfinished change in place,
    LinkedOutsideError if a log directory has a symbolic link to something outside of it.
    """
    for unfinished in interrupted_log_dirs(paths):
        raise InterruptedChangeError(
            f"{unfinished}: a downgrade in place was cut off here; "
            "run the same `falkirk logdir downgrade --in-place` again to complete it or roll it back"
        )
    found: dict[Path, LogDir] = {}
    properties: dict[Path, PropertiesFile] = {}
    for path in paths:
        server_properties, directories = _log_dirs_of(path)
        for directory in directories:
            real = directory.resolve()
            if real not in found:
                found[real] = _read_log_dir(directory)
            if server_properties is not None:
                properties[real] = server_properties
    _check_cluster_ids(list(found.values()))
    by_node: dict[int, list[Path]] = {}
    for real, log_dir in found.items():
        assert log_dir.meta.node_id is not None
        by_node.setdefault(log_dir.meta.node_id, []).append(real)
    return [_node(node_id, reals, found, properties) for node_id, reals in sorted(by_node.items())]


def interrupted_log_dirs(paths: list[Path]) -> list[Path]:
    """Return the log directories at or below the paths that have an unfinished change in place beside them.

    Such a directory may be without its meta.properties.
    """
    found = []
    for path in paths:
        if path.is_file():
            properties = parse_properties(read_bounded(PosixDisk(), str(path)), file=str(path))
            places = [_beside(path, name) for name in _configured_names(path, properties)]
        else:
            places = [path, *_folders(path, depth=1)]
        found += [place for place in places if place.resolve().with_name(place.resolve().name + NEW_SUFFIX).is_dir()]
    return found


def _folders(path: Path, depth: int) -> list[Path]:
    if depth > _DEPTH_MAX or not path.is_dir() or (path / meta_properties.FILE_NAME).is_file():
        return []
    return [found for folder in _children(path) for found in (folder, *_folders(folder, depth + 1))]


def _children(path: Path) -> list[Path]:
    """Return the subfolders that may be log directories, or hold some."""
    return sorted(child for child in path.iterdir() if child.is_dir() and not child.name.endswith(OWN_SUFFIXES))


def _log_dirs_of(path: Path) -> tuple[PropertiesFile | None, list[Path]]:
    if path.is_file():
        properties = parse_properties(read_bounded(PosixDisk(), str(path)), file=str(path))
        return properties, [_configured(path, name) for name in _configured_names(path, properties)]
    if not path.is_dir():
        raise NotALogDirError(f"{path}: no such directory")
    directories = _search(path, depth=0)
    if not directories:
        raise NotALogDirError(
            f"{path}: no Kafka log directory here, nor in a folder of it (none has a meta.properties)"
        )
    return None, directories


def _configured_names(path: Path, properties: PropertiesFile) -> list[str]:
    value = properties.get("log.dirs") or properties.get("log.dir")
    if not value:
        raise NotALogDirError(f"{path}: neither log.dirs nor log.dir is set")
    names = [name.strip() for name in value.split(",") if name.strip()]
    metadata = properties.get("metadata.log.dir")
    return [*names, metadata] if metadata and metadata not in names else names


def _configured(path: Path, name: str) -> Path:
    """Return a configured directory; a relative one is beside the file, or in the working directory, as in Kafka."""
    directory = _beside(path, name)
    if not (directory / meta_properties.FILE_NAME).is_file():
        raise NotALogDirError(f"{directory}: named in {path}, but it has no meta.properties")
    return directory


def _beside(path: Path, name: str) -> Path:
    beside = path.parent / name
    return beside if beside.is_dir() else Path(name)


def _search(path: Path, depth: int) -> list[Path]:
    if (path / meta_properties.FILE_NAME).is_file():
        return [path]
    if depth == _DEPTH_MAX:
        return []
    return [found for folder in _children(path) for found in _search(folder, depth + 1)]


def _refuse_links_outside(path: Path) -> None:
    """Check a log directory and its partitions: whatever a link names there would be read and copied as a log."""
    found = link_outside(str(path))
    if found is not None:
        link, target = found
        raise LinkedOutsideError(
            f"{link}: a symbolic link to {target}, outside of the log directory; links are not followed"
        )


def _read_log_dir(path: Path) -> LogDir:
    _refuse_links_outside(path)
    file = path / meta_properties.FILE_NAME
    meta = parse_meta_properties(read_bounded(PosixDisk(), str(file)), file=str(file))
    if meta.version == 0 or meta.node_id is None or meta.cluster_id is None:
        raise NotALogDirError(f"{file}: version {meta.version}; this is not a KRaft node's log directory (version 1)")
    return LogDir(path=path, meta=meta, is_live=(path / LIVE_MARKER).is_file())


def _check_cluster_ids(log_dirs: list[LogDir]) -> None:
    first = log_dirs[0]
    for other in log_dirs[1:]:
        if other.meta.cluster_id != first.meta.cluster_id:
            raise DifferentClustersError(
                f"{other.path} belongs to cluster {other.meta.cluster_id}, "
                f"{first.path} to cluster {first.meta.cluster_id}"
            )


def _node(
    node_id: int, reals: list[Path], found: dict[Path, LogDir], properties: dict[Path, PropertiesFile]
) -> NodeDirs:
    log_dirs = tuple(found[real] for real in reals)
    with_metadata = [log_dir for log_dir in log_dirs if (log_dir.path / METADATA_DIRECTORY).is_dir()]
    if len(with_metadata) > 1:
        raise DifferentClustersError(
            f"node {node_id} has two metadata partitions, in {with_metadata[0].path} and {with_metadata[1].path}: "
            "name the directories of one copy of it only"
        )
    identities = [log_dir.meta.directory_id for log_dir in log_dirs if log_dir.meta.directory_id is not None]
    if len(set(identities)) < len(identities):
        raise DifferentClustersError(
            f"two directories of node {node_id} have the same directory.id: one is a copy of the other"
        )
    cluster_id = log_dirs[0].meta.cluster_id
    assert cluster_id is not None
    return NodeDirs(
        node_id=node_id,
        cluster_id=cluster_id,
        log_dirs=log_dirs,
        metadata_dir=with_metadata[0] if with_metadata else None,
        server_properties=next((properties[real] for real in reals if real in properties), None),
    )
