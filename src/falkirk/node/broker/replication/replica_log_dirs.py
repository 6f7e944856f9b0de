"""The log directories of a broker: which are online, and their ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.node.effects import Fact
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from falkirk.node.effects import Effect
    from falkirk.storage.log.unified_log import UnifiedLog


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirState:
    """The state of a log directory in DescribeLogDirs; -1: unknown."""

    error: ErrorCode = ErrorCode.NONE
    total_bytes: int = -1
    usable_bytes: int = -1
    is_cordoned: bool = False


class ReplicaLogDirs:
    """`online`: ids by path; `offline`: paths of directories that have failed, now or at the start.

    `failed` is called with the id of a directory when it fails.
    """

    def __init__(
        self,
        online: Mapping[str, bytes],
        offline: Iterable[str],
        *,
        effects: Callable[[Effect], None],
        failed: Callable[[bytes], None],
    ) -> None:
        self.online = dict(online)
        self.offline = list(offline)
        self._effects = effects
        self._failed = failed

    def fail(self, log_dir: str, error: OSError) -> bool:
        """Take a directory offline; return whether it was online."""
        directory_id = self.online.pop(log_dir, None)
        if directory_id is None:
            return False
        self.offline.append(log_dir)
        self._effects(Fact("error", "log-directory-offline", {"log_dir": log_dir, "reason": str(error)}))
        self._failed(directory_id)
        return True

    def path(self, directory_id: bytes) -> str | None:
        """Return the path of an online directory; None if there is none of the id."""
        return next((path for path, one in self.online.items() if one == directory_id), None)


def log_dir_of(log: UnifiedLog) -> str:
    """Return the log directory that holds a log."""
    return log.directory.rpartition("/")[0]
