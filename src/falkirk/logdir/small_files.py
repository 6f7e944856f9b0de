"""Checks the small files beside the segments: checkpoints, and producer snapshots."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.logdir.locate import METADATA_DIRECTORY
from falkirk.logdir.placement import partitions_of
from falkirk.storage import leader_epochs, offset_checkpoints, partition_metadata
from falkirk.storage.bounded_read import CHECKPOINT_BYTES_MAX, read_bounded
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.partition_log import list_partition
from falkirk.storage.producer_state import parse_producer_snapshot
from falkirk.storage.segment import format_segment_file
from falkirk.storage.transaction_index import parse_transaction_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.logdir.locate import LogDir
    from falkirk.storage.disk import Disk

_PARTITION_FILES: Final[dict[str, Callable[..., object]]] = {
    leader_epochs.FILE_NAME: leader_epochs.parse_leader_epochs,
    partition_metadata.FILE_NAME: partition_metadata.parse_partition_metadata,
}


def small_file_damage(disk: Disk, log_dir: LogDir) -> Iterator[CorruptFileError]:
    """Yield the damage of the checkpoints of a log directory and of its partitions, and of producer snapshots.

    Indexes are left out: a broker rebuilds them if they are wrong. A missing file is no damage.
    """
    for name in offset_checkpoints.FILE_NAMES:
        yield from _damage(disk, f"{log_dir.path}/{name}", offset_checkpoints.parse_offset_checkpoint)
    directories = [name for name, _, _ in partitions_of(disk, log_dir)]
    if disk.is_directory(str(log_dir.path / METADATA_DIRECTORY)):
        directories.append(METADATA_DIRECTORY)
    for name in directories:
        directory = f"{log_dir.path}/{name}"
        for file_name, parse in _PARTITION_FILES.items():
            yield from _damage(disk, f"{directory}/{file_name}", parse)
        for file in list_partition(disk, directory).segment_files:
            path = f"{directory}/{format_segment_file(file)}"
            if file.kind == "snapshot":
                yield from _damage(disk, path, parse_producer_snapshot)
            elif file.kind == "txnindex":
                yield from _damage(disk, path, partial(parse_transaction_index, base_offset=file.base_offset))


def _damage(disk: Disk, file: str, parse: Callable[..., object]) -> Iterator[CorruptFileError]:
    if not disk.exists(file):
        return
    try:
        parse(read_bounded(disk, file, CHECKPOINT_BYTES_MAX), file=file)
    except CorruptFileError as error:
        yield error
