"""Applies changes to a copy: the whole result is written under a temporary name, and renamed when it is complete."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING

from falkirk.logdir.changes import write_changed_files, write_file
from falkirk.logdir.errors import OutputError
from falkirk.logdir.locks import LOCK_FILE
from falkirk.logdir.tree_copy import check_space, copying, plan_copy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from falkirk.logdir.changes import FileContents, LogDirChanges, NodeChanges
    from falkirk.logdir.tree_copy import CopyPlan


class Progress:
    """Receives the progress of copying; does nothing by itself. `advance` is called from other threads."""

    def begin(self, total_bytes: int) -> None:
        """Begin with the number of bytes to copy."""

    def advance(self, copied_bytes: int) -> None:
        """Add bytes that are copied."""


def check_out(out: Path) -> None:
    """Raise OutputError if a result cannot be written there: it is no empty folder, or not writable."""
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out}: not a directory")
    if out.is_dir() and any(out.iterdir()):
        raise OutputError(f"{out}: not empty; name a new place")
    existing = next(parent for parent in (out, *out.absolute().parents) if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise OutputError(f"{existing}: cannot write there")
    if os.path.ismount(out):
        raise OutputError(f"{out}: a mount point, which a complete result cannot replace; name a new directory in it")


def check_outside(out: Path, nodes: Sequence[NodeChanges]) -> None:
    """Raise OutputError if a result would be in a log directory: that would change it, and Kafka would not start."""
    for node in nodes:
        for changes in node.log_dirs:
            if out.resolve().is_relative_to(changes.log_dir.resolve()):
                raise OutputError(f"{out}: inside the log directory {changes.log_dir}; name a place outside")


def out_names(nodes: Sequence[NodeChanges]) -> dict[Path, str]:
    """Return each log directory's place in the result: `node-<id>/<its name>`, numbered where names are equal."""
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
    nodes: Sequence[NodeChanges],
    out: Path,
    *,
    beside: Mapping[str, FileContents],
    progress: Progress,
) -> None:
    """Write all nodes' directories under `out`, and the files `beside` them, by name.

    Raises OutputError; then nothing is left at `out` but what was there.
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
        progress.begin(sum(plan.bytes_to_copy for _, plan in plans))
        # A copy waits mostly for the disk, new contents for the processor, so both run at once.
        with copying([plan for _, plan in plans], advance=progress.advance):
            for changes, _ in plans:
                write_changed_files(changes, aside / places[changes.log_dir], like=changes.log_dir)
            for name, contents in beside.items():
                write_file(aside / name, contents)
        os.sync()
        aside.rename(final)
    except BaseException as error:
        shutil.rmtree(aside, ignore_errors=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OutputError(f"{out}: {error.strerror}; nothing is left there") from error
        raise


def _plan(changes: LogDirChanges, target: Path) -> CopyPlan:
    left_out = {changes.log_dir / path for path in (*changes.files, LOCK_FILE)}
    return plan_copy(changes.log_dir, target, leave_out=left_out)
