"""Carries changes out on the directories themselves, atomically, with a backup of every file that is replaced.

First all new files are written beside each log directory (`<name>.falkirk-new`) and synced. Then one file, the commit,
makes the change happen: before it nothing has changed, after it the change is carried through, now or by whoever finds
it later. While it lasts `meta.properties` is away, so that no node starts on a half-changed directory. What was
replaced stays in `<name>.falkirk-backup`.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.logdir.errors import OutputError
from falkirk.logdir.write_tree import write_file
from falkirk.storage.meta_properties import FILE_NAME as META_PROPERTIES

if TYPE_CHECKING:
    from falkirk.logdir.changes import LogDirChanges, NodeChanges

_COMMIT: Final = "commit.json"
_COMMITTED_BY: Final = "committed-by"
_FILES: Final = "files"


class _Step(msgspec.Struct):
    """One log directory's part; `written` are put in place, `removed` only taken away."""

    log_dir: str
    written: list[str]
    removed: list[str]


@dataclass(frozen=True, slots=True)
class Places:
    """Where the new files of a log directory wait, and where its old ones go."""

    new: Path
    backup: Path


def places_of(log_dir: Path) -> Places:
    """Give both, beside the log directory: inside it Kafka would not start with a folder that it does not know."""
    real = log_dir.resolve()
    return Places(real.with_name(f"{real.name}.falkirk-new"), real.with_name(f"{real.name}.falkirk-backup"))


def change_in_place(nodes: list[NodeChanges]) -> list[Path]:
    """Carry the changes out; give the backup folders.

    Of a node's directories the one with the metadata partition comes first: without its meta.properties no node starts.
    Raises OutputError, with nothing changed, if a backup of an earlier change is in the way, or a place not writable.
    """
    all_changes = [changes for node in nodes for changes in node.log_dirs if changes.files]
    for changes in all_changes:
        _check_places(changes.log_dir)
    commit = places_of(all_changes[0].log_dir).new / _COMMIT
    try:
        steps = [_prepare(changes, commit) for changes in all_changes]
    except BaseException:
        for changes in all_changes:
            shutil.rmtree(places_of(changes.log_dir).new, ignore_errors=True)
        raise
    os.sync()
    pending = commit.with_suffix(".pending")
    pending.write_bytes(msgspec.json.encode(steps))
    _sync(pending)
    pending.rename(commit)
    _sync(commit.parent)
    _carry_through(commit)
    return [places_of(changes.log_dir).backup for changes in all_changes]


def finish_interrupted(log_dir: Path) -> bool:
    """Carry through a change that was committed and cut off, or forget one that was not; say whether there was one.

    `log_dir` is any of the directories concerned, whose meta.properties may be away.
    """
    new = places_of(log_dir).new
    if not new.is_dir():
        return False
    marker = new / _COMMITTED_BY
    commit = Path(marker.read_text()) if marker.is_file() else None
    if commit is not None and commit.is_file():
        _carry_through(commit)
    else:  # never committed, or done but for tidying up
        shutil.rmtree(new)
    return True


def _check_places(log_dir: Path) -> None:
    places = places_of(log_dir)
    if places.backup.exists():
        raise OutputError(f"{places.backup}: the backup of an earlier change; move it away first")
    if places.new.exists():
        raise OutputError(f"{places.new}: an earlier change was interrupted; finish it first")
    if not os.access(places.new.parent, os.W_OK | os.X_OK):
        raise OutputError(f"{places.new.parent}: cannot write there")
    if log_dir.stat().st_dev != places.new.parent.stat().st_dev:
        raise OutputError(
            f"{log_dir}: a mount point; files cannot be swapped with those beside it in one step: use --out"
        )


def _prepare(changes: LogDirChanges, commit: Path) -> _Step:
    assert META_PROPERTIES not in changes.files
    places = places_of(changes.log_dir)
    places.new.mkdir()
    (places.new / _COMMITTED_BY).write_text(str(commit))
    written, removed = [], []
    for path, contents in changes.files.items():
        if contents is None:
            removed.append(path)
            continue
        written.append(path)
        write_file(places.new / _FILES / path, contents())
        old = changes.log_dir / path
        shutil.copymode(old if old.exists() else changes.log_dir / META_PROPERTIES, places.new / _FILES / path)
    return _Step(str(changes.log_dir.resolve()), written, removed)


def _carry_through(commit: Path) -> None:
    """Do what the commit says; every part may have been done before."""
    steps = msgspec.json.decode(commit.read_bytes(), type=list[_Step])
    for step in steps:
        _park_meta_properties(Path(step.log_dir))
    for step in steps:
        _swap_files(step)
    os.sync()
    for step in reversed(steps):
        log_dir = Path(step.log_dir)
        parked = places_of(log_dir).backup / META_PROPERTIES
        if not (log_dir / META_PROPERTIES).exists():
            shutil.copy2(parked, places_of(log_dir).new / META_PROPERTIES)
            (places_of(log_dir).new / META_PROPERTIES).rename(log_dir / META_PROPERTIES)
        _sync(log_dir)
    for step in reversed(steps):
        shutil.rmtree(places_of(Path(step.log_dir)).new, ignore_errors=True)


def _park_meta_properties(log_dir: Path) -> None:
    places = places_of(log_dir)
    places.backup.mkdir(exist_ok=True)
    if not (places.backup / META_PROPERTIES).exists():
        (log_dir / META_PROPERTIES).rename(places.backup / META_PROPERTIES)
        _sync(log_dir)


def _swap_files(step: _Step) -> None:
    log_dir = Path(step.log_dir)
    places = places_of(log_dir)
    for path in (*step.removed, *step.written):
        new, old, backup = places.new / _FILES / path, log_dir / path, places.backup / path
        if path in step.written and not new.exists():
            continue  # done before
        if old.exists():
            backup.parent.mkdir(parents=True, exist_ok=True)
            old.rename(backup)
        if new.exists():
            old.parent.mkdir(parents=True, exist_ok=True)
            new.rename(old)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
