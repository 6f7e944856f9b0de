"""Opening the logs of a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from falkirk.node.replication.context import ReplicationContext
    from falkirk.storage.disk import Disk
    from falkirk.storage.log.log_manager import LogManager


def open_logs(
    disk: Disk, context: ReplicationContext, log_dirs: Mapping[str, bytes], clean_log_dirs: Collection[str]
) -> LogManager | None:
    """Load the logs in these directories (ids by path); `clean_log_dirs`: those that were closed in order."""
    del disk, context, log_dirs, clean_log_dirs
    return None
