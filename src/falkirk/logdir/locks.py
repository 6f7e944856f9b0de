"""Kafka's `.lock` files: a running node holds one in each of its log directories.

A shared lock is held during an operation. It conflicts with a running node's exclusive one, and keeps a node from
starting on the directory meanwhile. Nothing is written.
"""

from __future__ import annotations

import fcntl
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from falkirk.logdir.errors import NodeIsRunningError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.logdir.locate import LogDir, NodeDirs

LOCK_FILE = ".lock"


@contextmanager
def hold_locks(nodes: list[NodeDirs]) -> Iterator[None]:
    """Hold the locks of all log directories while the block runs. Raises NodeIsRunningError."""
    with ExitStack() as stack:
        for node in nodes:
            for log_dir in node.log_dirs:
                stack.enter_context(_hold(node.node_id, log_dir))
        yield


@contextmanager
def _hold(node_id: int, log_dir: LogDir) -> Iterator[None]:
    path = log_dir.path / LOCK_FILE
    if not path.exists():
        yield
        return
    with path.open("rb") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            raise NodeIsRunningError(f"{path} is locked: node {node_id} is running; stop it first") from error
        yield
