"""Applies changes to the directories themselves, atomically, with a backup of every file that is replaced.

First all new files are written beside each log directory (`<name>.falkirk-new`) and synced, and ledger and bundle in
their final place. Then every `meta.properties` is moved away, so that no node starts until the end. Then one file, the
commit, makes the change effective: a run that is interrupted before it is rolled back, one after it rolled forward, by
the next run that finds it. Replaced files stay in `<name>.falkirk-backup`.
"""

from __future__ import annotations

import enum
import errno
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.logdir.bundle import RESULT_FILES
from falkirk.logdir.changes import write_changed_files, write_file
from falkirk.logdir.errors import OutputError
from falkirk.logdir.write_tree import check_out, check_outside
from falkirk.storage.bounded_read import CHECKPOINT_BYTES_MAX, read_bounded
from falkirk.storage.log_dir_names import BACKUP_SUFFIX, NEW_SUFFIX
from falkirk.storage.meta_properties import FILE_NAME as META_PROPERTIES
from falkirk.storage.posix_disk import PosixDisk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.logdir.changes import FileContents, LogDirChanges, NodeChanges

# The change must be rolled forward; later, only meta.properties and cleaning up are left.
_COMMIT: Final = "commit.json"
_SWAPPED: Final = "swapped.json"
_MARKER: Final = "change.json"
_FILES: Final = "files"


class _Step(msgspec.Struct):
    """The change of one log directory; `written` are put in place, `removed` only removed."""

    log_dir: str
    written: list[str]
    removed: list[str]


class _Marker(msgspec.Struct):
    """The change that a folder of new files belongs to: the folder of its commit, and that of ledger and bundle."""

    commit_folder: str
    result: str


class Ending(enum.Enum):
    """How an interrupted change was finished."""

    ROLLED_FORWARD = "carried through"
    ROLLED_BACK = "taken back"


@dataclass(frozen=True, slots=True)
class Finished:
    """An interrupted change that was finished; `result` has its ledger and bundle, if it is still known."""

    ending: Ending
    result: Path | None


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of a log directory's new files and of its backup."""

    new: Path
    backup: Path


def places_of(log_dir: Path) -> Places:
    """Return both, beside the log directory: Kafka does not start with an unknown folder inside it."""
    real = log_dir.resolve()
    return Places(real.with_name(real.name + NEW_SUFFIX), real.with_name(real.name + BACKUP_SUFFIX))


def change_in_place(nodes: Sequence[NodeChanges], result: Path, beside: Mapping[str, FileContents]) -> list[Path]:
    """Apply the changes, and return the backup folders. The files `beside` (ledger and bundle) go to `result`.

    Of a node's directories the one with the metadata partition comes first: without its meta.properties no node starts.
    Raises OutputError, with nothing changed, if a backup of an earlier change or an earlier result exists, or a place
    is not writable.
    """
    all_changes = [changes for node in nodes for changes in node.log_dirs if changes.files]
    for changes in all_changes:
        _check_places(changes.log_dir)
    check_out(result)
    check_outside(result, nodes)
    marker = _Marker(str(places_of(all_changes[0].log_dir).new), str(result.absolute()))
    try:
        steps = [_prepare(changes, marker) for changes in all_changes]
        result.mkdir(parents=True, exist_ok=True)
        for name, contents in beside.items():
            write_file(result / name, contents)
        os.sync()
        for changes in all_changes:
            _park(changes.log_dir)
    except BaseException as error:
        for changes in all_changes:
            _roll_back(changes.log_dir, result)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            where = f"{result} and beside {all_changes[0].log_dir}"
            raise OutputError(f"{where}: {error.strerror}; nothing was changed") from error
        raise
    commit = Path(marker.commit_folder) / _COMMIT
    pending = commit.with_suffix(".pending")
    pending.write_bytes(msgspec.json.encode(steps))
    _sync(pending)
    pending.rename(commit)
    _sync(commit.parent)
    _roll_forward(commit)
    return [places_of(changes.log_dir).backup for changes in all_changes]


def finish_interrupted(log_dir: Path) -> Finished | None:
    """Roll forward an interrupted change that was committed, or roll back one that was not; None: there was none.

    `log_dir` is any of the directories concerned, whose meta.properties may be moved away.
    """
    places = places_of(log_dir)
    if not places.new.is_dir():
        return None
    file = places.new / _MARKER
    marker = (
        msgspec.json.decode(read_bounded(PosixDisk(), str(file), CHECKPOINT_BYTES_MAX), type=_Marker)
        if file.is_file()
        else None
    )
    result = None if marker is None else Path(marker.result)
    if marker is not None:
        folder = Path(marker.commit_folder)
        for name, finish in ((_COMMIT, _roll_forward), (_SWAPPED, _complete)):
            if (folder / name).is_file():
                finish(folder / name)
                return Finished(Ending.ROLLED_FORWARD, result)
    if places.backup.is_dir():  # done but for tidying up: no backup is made before the commit
        _tidy(log_dir)
        return Finished(Ending.ROLLED_FORWARD, result)
    _roll_back(log_dir, result)
    return Finished(Ending.ROLLED_BACK, result)


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


def _prepare(changes: LogDirChanges, marker: _Marker) -> _Step:
    assert META_PROPERTIES not in changes.files
    places = places_of(changes.log_dir)
    places.new.mkdir()
    (places.new / _MARKER).write_bytes(msgspec.json.encode(marker))
    write_changed_files(changes, places.new / _FILES, like=changes.log_dir / META_PROPERTIES)
    return _Step(
        str(changes.log_dir.resolve()),
        written=[path for path, contents in changes.files.items() if contents is not None],
        removed=[path for path, contents in changes.files.items() if contents is None],
    )


def _park(log_dir: Path) -> None:
    (log_dir / META_PROPERTIES).rename(places_of(log_dir).new / META_PROPERTIES)
    _sync(log_dir)


def _unpark(log_dir: Path) -> None:
    parked = places_of(log_dir).new / META_PROPERTIES
    if parked.exists():
        parked.rename(log_dir / META_PROPERTIES)
        _sync(log_dir)


def _roll_back(log_dir: Path, result: Path | None) -> None:
    """Remove what was prepared; `result` was empty before."""
    _unpark(log_dir)
    if result is not None and result.is_dir():
        for name in RESULT_FILES:
            (result / name).unlink(missing_ok=True)
        result.rmdir()
    _tidy(log_dir)


def _tidy(log_dir: Path) -> None:
    """Remove the folder of new files, the marker last: it identifies the folder as long as it exists."""
    new = places_of(log_dir).new
    assert not (new / META_PROPERTIES).exists()
    shutil.rmtree(new / _FILES, ignore_errors=True)
    shutil.rmtree(new, ignore_errors=True)


def _roll_forward(commit: Path) -> None:
    """Apply a commit; every part may have been applied before."""
    steps = msgspec.json.decode(read_bounded(PosixDisk(), str(commit), CHECKPOINT_BYTES_MAX), type=list[_Step])
    for step in steps:
        places_of(Path(step.log_dir)).backup.mkdir(exist_ok=True)
        _swap_files(step)
    os.sync()
    # From here on a node may start as soon as it has its meta.properties, so no file is swapped any more.
    swapped = commit.with_name(_SWAPPED)
    commit.rename(swapped)
    _sync(swapped.parent)
    _complete(swapped)


def _complete(swapped: Path) -> None:
    steps = msgspec.json.decode(read_bounded(PosixDisk(), str(swapped), CHECKPOINT_BYTES_MAX), type=list[_Step])
    for step in reversed(steps):
        _unpark(Path(step.log_dir))
    for step in reversed(steps):
        _tidy(Path(step.log_dir))


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
