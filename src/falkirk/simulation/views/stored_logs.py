"""Checks the files that brokers leave after a controlled shutdown, without any state of the brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.index import first_misfit, parse_offset_index, parse_time_index
from falkirk.storage.leader_epochs import FILE_NAME as LEADER_EPOCHS
from falkirk.storage.leader_epochs import parse_leader_epochs
from falkirk.storage.offset_checkpoints import parse_offset_checkpoint
from falkirk.storage.partition_directory import METADATA_TOPIC, DirectoryState, parse_partition_directory
from falkirk.storage.partition_log import list_partition, read_segments
from falkirk.storage.partition_metadata import FILE_NAME as PARTITION_METADATA
from falkirk.storage.partition_metadata import parse_partition_metadata
from falkirk.storage.producer_state import parse_producer_snapshot
from falkirk.storage.segment import SegmentFile, format_segment_file

if TYPE_CHECKING:
    from falkirk.storage.disk import ReadableDisk

_RECOVERY_POINTS = "recovery-point-offset-checkpoint"
_HIGH_WATERMARKS = "replication-offset-checkpoint"
_LOG_STARTS = "log-start-offset-checkpoint"


def check_stored_logs(disk: ReadableDisk, log_dir: str, where: str) -> int:
    """Read all partitions of a log directory, and return how many there are.

    All batches are complete, indexes point at batches, small files can be read, and checkpoints match the logs. Raises
    InvariantViolatedError.
    """
    try:
        ends = {
            (name.topic, name.partition): _check_partition(disk, f"{log_dir}/{entry}")
            for entry in disk.list(log_dir)
            if (name := parse_partition_directory(entry)) is not None
            and name.state is DirectoryState.CURRENT
            and name.topic != METADATA_TOPIC
        }
        checkpoints = {
            file: parse_offset_checkpoint(disk.read(f"{log_dir}/{file}"), file=file).as_dict()
            for file in (_RECOVERY_POINTS, _HIGH_WATERMARKS, _LOG_STARTS)
            if disk.exists(f"{log_dir}/{file}")
        }
    except CorruptFileError as error:
        raise _violated(f"{where}, {error}") from error
    for file, offsets in checkpoints.items():
        for partition, offset in offsets.items():
            end = ends.get(partition)
            if end is not None and (offset > end or (file == _RECOVERY_POINTS and offset < end)):
                what = f"{offset} for {partition[0]}-{partition[1]}"
                raise _violated(f"{where}, {file} has {what}, whose log ends at {end}")
    return len(ends)


def _check_partition(disk: ReadableDisk, directory: str) -> int:
    """Read all files of a partition, and return its log end offset."""
    end_offset = 0
    for reader in read_segments(disk, directory):
        batches = list(reader)
        if reader.torn is not None:
            raise _violated(f"{reader.file} is {reader.torn}")
        end_offset = reader.end_offset
        base_offset = reader.base_offset
        index = f"{directory}/{format_segment_file(SegmentFile(base_offset=base_offset, kind='index'))}"
        if not disk.exists(index):
            # A power loss may remove the file; opening the log creates it again.
            continue
        misfit = first_misfit(parse_offset_index(disk.read(index), base_offset=base_offset, file=index), batches)
        if misfit is not None:
            raise _violated(f"{index} says that offset {misfit[0]} is at byte {misfit[1]}")
    for file in list_partition(disk, directory).segment_files:
        path = f"{directory}/{format_segment_file(file)}"
        if file.kind == "timeindex":
            parse_time_index(disk.read(path), base_offset=file.base_offset, file=path)
        elif file.kind == "snapshot":
            parse_producer_snapshot(disk.read(path), file=path)
    epochs = parse_leader_epochs(disk.read(f"{directory}/{LEADER_EPOCHS}"), file=directory)
    if epochs.entries and epochs.entries[-1].start_offset > end_offset:
        raise _violated(f"{directory} ends at {end_offset}, an epoch begins at {epochs.entries[-1].start_offset}")
    parse_partition_metadata(disk.read(f"{directory}/{PARTITION_METADATA}"), file=directory)
    return end_offset


def _violated(what: str) -> InvariantViolatedError:
    return InvariantViolatedError("StoredLogsAreWhole", what)
