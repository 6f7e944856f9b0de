"""Rows of the table `log_dirs`: what the files of a data directory say about it, without reading partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from falkirk.metadata.records.errors import RecordError
from falkirk.metadata.records.record_reader import read_record
from falkirk.pipeline.filesystem import readable_bytes
from falkirk.pipeline.state.metadata.metadata_log_survey import survey_metadata_log
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.protocol.uuid import uuid_text
from falkirk.storage.bootstrap_checkpoint import FILE_NAME as BOOTSTRAP_CHECKPOINT
from falkirk.storage.bootstrap_checkpoint import bootstrap_values, read_bootstrap_checkpoint
from falkirk.storage.bounded_read import CHECKPOINT_BYTES_MAX, read_bounded
from falkirk.storage.clean_shutdown import FILE_NAME as CLEAN_SHUTDOWN
from falkirk.storage.partition_directory import METADATA_DIRECTORY, parse_partition_directory
from falkirk.storage.segment import parse_segment_file
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.fleet import FleetLogDir


def log_dir_row(log_dir: FleetLogDir, node_id: int) -> dict[str, Any]:  # Any: values of columns
    """Return a directory's row; what cannot be read is null. Raises OSError if the directory cannot be listed."""
    location = log_dir.location
    names = location.disk.list(location.path)
    directory_id = log_dir.meta.directory_id
    partitions = [name for name in names if parse_partition_directory(name) is not None]
    return {
        "node_id": node_id,
        "path": location.uri,
        "cluster_id": log_dir.meta.cluster_id,
        "directory_id": None if directory_id is None else uuid_text(directory_id),
        "version": log_dir.meta.version,
        "bootstrap_level": _bootstrap_level(location / BOOTSTRAP_CHECKPOINT) if BOOTSTRAP_CHECKPOINT in names else None,
        "is_clean": CLEAN_SHUTDOWN in names,
        "partitions": sum(name != METADATA_DIRECTORY for name in partitions),
        "log_bytes": sum(_log_bytes(location / name) for name in partitions),
        "has_metadata": METADATA_DIRECTORY in names,
        **(_metadata_columns(location / METADATA_DIRECTORY) if METADATA_DIRECTORY in names else {}),
    }


def _bootstrap_level(file: Location) -> int | None:
    try:
        snapshot = read_bootstrap_checkpoint(
            read_bounded(file.disk, file.path, CHECKPOINT_BYTES_MAX, file=file.uri), file=file.uri
        )
        records = [read_record(value) for value in bootstrap_values(snapshot)]
    except (RemoteProtocolError, RecordError, OSError):
        return None
    levels = [record for record in records if isinstance(record, FeatureLevelRecord)]
    return next((record.feature_level for record in levels if record.name == METADATA_VERSION), None)


def _log_bytes(partition: Location) -> int:
    segments = [(name, parse_segment_file(name)) for name in partition.disk.list(partition.path)]
    logs = [name for name, file in segments if file is not None and file.kind == "log" and not file.marker]
    return sum(readable_bytes(partition / name) for name in logs)


def _metadata_columns(directory: Location) -> dict[str, Any]:  # Any: values of columns
    log = survey_metadata_log(directory)
    snapshot = log.snapshots[0] if log.snapshots else None
    state = log.quorum_state
    return {
        "metadata_epoch": None if log.is_empty else log.epoch,
        "metadata_end_offset": None if log.is_empty else log.end_offset,
        "snapshot_end_offset": None if snapshot is None else snapshot.end_offset,
        "snapshot_epoch": None if snapshot is None else snapshot.epoch,
        "leader_id": None if state is None else state.leader_id,
        "leader_epoch": None if state is None else state.leader_epoch,
        "voted_id": None if state is None else state.voted_id,
    }
