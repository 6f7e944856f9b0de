"""What a broker's last orderly stop left in its log directories: the epoch that it had then (KIP-966).

A broker that cannot name it may have lost its last writes; the controller takes it out of where those count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.storage.clean_shutdown import FILE_NAME, CleanShutdown, format_clean_shutdown, parse_clean_shutdown
from falkirk.storage.errors import CorruptFileError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.storage.disk import Disk

UNKNOWN_EPOCH = -1


def take_broker_epoch(disk: Disk, log_dirs: Iterable[str]) -> int:
    """Read and remove the files; give the epoch that all of them name, UNKNOWN_EPOCH if they do not agree."""
    epochs: set[int] = set()
    for log_dir in log_dirs:
        file = f"{log_dir}/{FILE_NAME}"
        if not disk.exists(file):
            epochs.add(UNKNOWN_EPOCH)
            continue
        epochs.add(_read(disk, file))
        disk.remove(file)
    return epochs.pop() if len(epochs) == 1 else UNKNOWN_EPOCH


def write_broker_epoch(disk: Disk, log_dirs: Iterable[str], broker_epoch: int) -> None:
    """Leave the files behind."""
    content = format_clean_shutdown(CleanShutdown(version=0, broker_epoch=broker_epoch))
    for log_dir in log_dirs:
        disk.write(f"{log_dir}/{FILE_NAME}", [content])


def _read(disk: Disk, file: str) -> int:
    try:
        epoch = parse_clean_shutdown(disk.read(file), file=file).broker_epoch
    except CorruptFileError:
        return UNKNOWN_EPOCH
    return UNKNOWN_EPOCH if epoch is None else epoch
