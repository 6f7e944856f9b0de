"""Clean shutdown files: a broker's epoch at its last orderly stop, in each log directory (KIP-966).

A broker without them may have lost its last writes; the controller removes it from ISRs and eligible leader replicas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.storage.clean_shutdown import FILE_NAME, CleanShutdown, format_clean_shutdown, parse_clean_shutdown
from falkirk.storage.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.storage.disk import Disk

UNKNOWN_EPOCH = -1


def read_broker_epoch(disk: Disk, log_dirs: Iterable[str]) -> tuple[int, dict[str, OSError]]:
    """Return the epoch that all files agree on, and the directories that have failed.

    UNKNOWN_EPOCH if they do not agree, or a directory has failed.
    """
    epochs: set[int] = set()
    failed: dict[str, OSError] = {}
    for log_dir in log_dirs:
        try:
            epochs.add(_read(disk, f"{log_dir}/{FILE_NAME}"))
        except OSError as error:
            failed[log_dir] = error
    return epochs.pop() if len(epochs) == 1 and not failed else UNKNOWN_EPOCH, failed


def remove_clean_shutdown_files(disk: Disk, log_dirs: Iterable[str]) -> tuple[set[str], dict[str, OSError]]:
    """Remove the files; return the directories that had one, and those that have failed.

    From then on the logs there count as not closed in order, until they are.
    """
    clean: set[str] = set()
    failed: dict[str, OSError] = {}
    for log_dir in log_dirs:
        file = f"{log_dir}/{FILE_NAME}"
        try:
            if disk.exists(file):
                disk.remove(file)
                clean.add(log_dir)
        except OSError as error:
            failed[log_dir] = error
    return clean, failed


def write_broker_epoch(disk: Disk, log_dirs: Iterable[str], broker_epoch: int) -> dict[str, OSError]:
    """Write the files; return the directories that have failed."""
    content = format_clean_shutdown(CleanShutdown(version=0, broker_epoch=broker_epoch))
    failed: dict[str, OSError] = {}
    for log_dir in log_dirs:
        try:
            disk.write(f"{log_dir}/{FILE_NAME}", [content])
        except OSError as error:
            failed[log_dir] = error
    return failed


def _read(disk: Disk, file: str) -> int:
    if not disk.exists(file):
        return UNKNOWN_EPOCH
    try:
        epoch = parse_clean_shutdown(disk.read(file), file=file).broker_epoch
    except CorruptFileError:
        return UNKNOWN_EPOCH
    return UNKNOWN_EPOCH if epoch is None else epoch
