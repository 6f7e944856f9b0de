"""Carries changes out on a copy: the whole result stands aside until it is complete, then gets its name."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING

from falkirk.logdir.errors import OutputError
from falkirk.logdir.locks import LOCK_FILE
from falkirk.logdir.tree_copy import check_space, copying, plan_copy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from falkirk.logdir.changes import LogDirChanges, NodeChanges
    from falkirk.logdir.tree_copy import CopyPlan


def check_out(out: Path) -> None:
    """Raise OutputError if a result cannot be put there: it exists and is not an empty folder, or is not writable."""
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out}: not a directory")
    if out.is_dir() and any(out.iterdir()):
        raise OutputError(f"{out}: not empty; name a new place")
    existing = next(parent for parent in (out, *out.absolute().parents) if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise OutputError(f"{existing}: cannot write there")
    if os.path.ismount(out):
        raise OutputError(f"{out}: a mount point, which a complete result cannot replace; name a new directory in it")


def check_outside(out: Path, nodes: list[NodeChanges]) -> None:
    """Raise OutputError if a result would lie in a log directory: that would change it, and Kafka would not start."""
    for node in nodes:
        for changes in node.log_dirs:
            if out.resolve().is_relative_to(changes.log_dir.resolve()):
                raise OutputError(f"{out}: inside the log directory {changes.log_dir}; name a place outside")


def out_names(nodes: list[NodeChanges]) -> dict[Path, str]:
    """Give each log directory's place in the result: `node-<id>/<its name>`, with a number where names meet."""
    places: dict[Path, str] = {}
    for node in nodes:
        for changes in node.log_dirs:
            name = changes.log_dir.resolve().name
            place, number = f"node-{node.node_id}/{name}", 1
            while place in places.values():
                number += 1
                place = f"node-{node.node_id}/{name}-{number}"
            places[changes.log_dir] = place
    return places


def write_tree(
    nodes: list[NodeChanges],
    out: Path,
    *,
    more: Callable[[Path], None],
    begin: Callable[[int], None],
    advance: Callable[[int], None],
) -> None:
    """Write all nodes' directories under `out`; `more` may add files to the result before it gets its name.

    `begin` is told the bytes to copy, `advance` each part that is done (from other threads). Raises OutputError; then
    nothing is left at `out` but what was there.
    """
    check_out(out)
    check_outside(out, nodes)
    final = out.resolve()
    aside = final.with_name(f"{final.name}.falkirk-{os.getpid()}")
    places = out_names(nodes)
    try:
        plans = [
            (changes, _plan(changes, aside / places[changes.log_dir])) for node in nodes for changes in node.log_dirs
        ]
        check_space([plan for _, plan in plans], aside)
        begin(sum(plan.bytes_to_copy for _, plan in plans))
        # Most of the time of a copy is the disk's, and most of the time of new contents is ours.
        with copying([plan for _, plan in plans], advance=advance):
            for changes, _ in plans:
                _write_changes(changes, aside / places[changes.log_dir])
            more(aside)
        os.sync()
        aside.rename(final)
    except BaseException as error:
        shutil.rmtree(aside, ignore_errors=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OutputError(f"{out}: {error.strerror}; nothing is left there") from error
        raise


def write_file(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a new file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        for chunk in chunks:
            file.write(chunk)


def _plan(changes: LogDirChanges, target: Path) -> CopyPlan:
    left_out = {changes.log_dir / path for path in changes.files}
    left_out.add(changes.log_dir / LOCK_FILE)
    return plan_copy(changes.log_dir, target, leave_out=left_out.__contains__)


def _write_changes(changes: LogDirChanges, target: Path) -> None:
    for path, contents in changes.files.items():
        if contents is None:
            continue
        write_file(target / path, contents())
        old = changes.log_dir / path
        reference = old if old.exists() else changes.log_dir
        status = reference.stat()
        if os.geteuid() == 0:
            os.chown(target / path, status.st_uid, status.st_gid)
        (target / path).chmod(status.st_mode & 0o666)
