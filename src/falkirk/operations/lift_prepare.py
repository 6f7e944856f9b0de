"""One stopped node before an older binary starts on its directories, after the level was lowered.

Releases below 4.4 read `bootstrap.checkpoint` at each start, and stop at a level that they do not know, although
nothing of it counts any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from falkirk.logdir.changes import LogDirChanges, NodeChanges
from falkirk.logdir.cluster import read_cluster
from falkirk.logdir.in_place import change_in_place, finish_interrupted
from falkirk.logdir.locate import find_nodes, interrupted_log_dirs
from falkirk.logdir.locks import hold_locks
from falkirk.logdir.metadata_changes import bootstrap_at_levels, bootstrap_levels
from falkirk.logdir.target import parse_target
from falkirk.logdir.verify import verify
from falkirk.operations.errors import OperationError
from falkirk.server.config_values import read_node_properties
from falkirk.storage.bootstrap_checkpoint import FILE_NAME as BOOTSTRAP_CHECKPOINT
from falkirk.storage.log_dir_names import UNDO_SUFFIX
from falkirk.storage.posix_disk import PosixDisk
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.locate import NodeDirs
    from falkirk.logdir.verify import Problem
    from falkirk.versions.metadata_version import MetadataVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """A node, and whether `release` can start on its directories.

    `bootstrap`: the files above the level. `backups`: the folders with those that were replaced, empty if nothing was
    changed. `problems`: what else is wrong for the release.
    """

    node_id: int
    level: MetadataVersion
    release: Release
    bootstrap: tuple[Path, ...]
    backups: tuple[Path, ...]
    problems: tuple[Problem, ...]

    @property
    def is_ready(self) -> bool:
        """True if the release can start."""
        return not self.problems and (not self.bootstrap or bool(self.backups))

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the document of `lift prepare --json`."""
        return {
            "node_id": self.node_id,
            "metadata_version": {"level": self.level.level, "name": str(self.level)},
            "release": self.release.name,
            "ready": self.is_ready,
            "bootstrap": [str(path) for path in self.bootstrap],
            "backups": [str(path) for path in self.backups],
            "problems": [problem.as_json() for problem in self.problems],
        }


def prepare_node(
    file: Path, release: str | None, *, in_place: bool, begin: Callable[[int], None], advance: Callable[[int], None]
) -> Preparation:
    """Check a stopped node's directories for a release, and with `in_place` bring bootstrap.checkpoint to the level.

    `file`: its server.properties. `release`: None for the oldest one that runs the level. `begin` and `advance` get the
    bytes of data to check, and those that were. Nothing is changed if anything else is wrong.
    Raises LogDirError, also for a running node; CorruptFileError, ConfigError, OperationError, OSError.
    """
    paths = _log_dirs(file)
    if in_place:
        for log_dir in interrupted_log_dirs(paths):
            finish_interrupted(log_dir)
    nodes = find_nodes(paths)
    if len(nodes) > 1:
        raise OperationError(f"{file}: its directories are of nodes {', '.join(str(each.node_id) for each in nodes)}")
    with hold_locks(nodes):
        cluster = read_cluster(PosixDisk(), nodes, needs_majority=False)
        level = cluster.image.features.metadata_version
        if level is None:
            raise OperationError(f"{nodes[0].log_dirs[0].path}: no metadata.version is finalized")
        reader = parse_target(str(level)).release if release is None else Release.parse(release)
        changes = _bootstrap_changes(cluster, nodes[0])
        changed = tuple(each.log_dir / BOOTSTRAP_CHECKPOINT for each in changes)
        begin(sum(file.stat().st_size for each in nodes[0].log_dirs for file in each.path.glob("*/*.log")))
        found = verify(PosixDisk(), cluster, reader, advance=advance).problems
        problems = tuple(each for each in found if each.path not in set(map(str, changed)))
        is_changed = in_place and bool(changes) and not problems
        backups = _replace(nodes[0], changes) if is_changed else ()
    return Preparation(
        node_id=nodes[0].node_id,
        level=level,
        release=reader,
        bootstrap=changed,
        backups=backups,
        problems=problems,
    )


def _log_dirs(file: Path) -> list[Path]:
    """Return what `find_nodes` takes: the file, or the directories in it where a config provider has their names."""
    properties = read_node_properties(file)
    names = properties.get("log.dirs") or properties.get("log.dir") or ""
    metadata = properties.get("metadata.log.dir")
    if "config.providers" not in properties or not names:
        return [file]
    return [Path(name.strip()) for name in dict.fromkeys([*names.split(","), *([metadata] if metadata else [])])]


def _bootstrap_changes(cluster: Cluster, node: NodeDirs) -> tuple[LogDirChanges, ...]:
    """Return new contents for each bootstrap.checkpoint that is above the level, or has a feature that is not."""
    levels = cluster.image.features.levels(kraft_version=cluster.kraft_version)
    changes = []
    for log_dir in sorted(node.log_dirs, key=lambda each: each is not node.metadata_dir):
        file = log_dir.path / BOOTSTRAP_CHECKPOINT
        if file.is_file() and _is_above(bootstrap_levels(old := file.read_bytes(), file=str(file)), levels):
            contents = bootstrap_at_levels(old, levels, file=str(file))
            changes.append(LogDirChanges(log_dir.path, {BOOTSTRAP_CHECKPOINT: contents}))
    return tuple(changes)


def _is_above(found: Mapping[str, int], levels: Mapping[str, int]) -> bool:
    return any(level > levels.get(name, 0) for name, level in found.items())


def _replace(node: NodeDirs, changes: tuple[LogDirChanges, ...]) -> tuple[Path, ...]:
    first = changes[0].log_dir.resolve()
    folder = first.with_name(first.name + UNDO_SUFFIX)
    backups = change_in_place([NodeChanges(node.node_id, changes)], folder, {})
    # There is neither a ledger nor a bundle: only bootstrap files were replaced, and they are in the backups.
    folder.rmdir()
    return tuple(backups)
