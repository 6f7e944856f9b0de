"""The first records of a new cluster's metadata log, as formatting left them in the metadata directory.

Releases below 4.4 read `bootstrap.checkpoint` at every start, and end if they do not know its metadata.version; from
4.4 on the records are in the metadata partition's 0-0 checkpoint. Without either, the release's latest level is used.
Sources: BootstrapDirectory, BootstrapMetadata; KIP-778.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.metadata.records.batch import MetadataBatch, VersionedRecord
from falkirk.metadata.records.errors import RecordError
from falkirk.node.errors import StartupError
from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.protocol.metadata_record import decode_metadata_record
from falkirk.storage.bootstrap_checkpoint import (
    BOOTSTRAP_SNAPSHOT,
    FILE_NAME,
    bootstrap_values,
    read_bootstrap_checkpoint,
)
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.partition_directory import METADATA_DIRECTORY
from falkirk.storage.snapshot_file import format_snapshot_name
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from falkirk.node.config.node_config import NodeConfig
    from falkirk.node.metadata_log.release_gate import ReleaseGate
    from falkirk.storage.disk import Disk
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapMetadata:
    """Records in order, the metadata.version that they set, and where they were read."""

    records: tuple[VersionedRecord, ...]
    metadata_version: "MetadataVersion"
    source: str


def read_bootstrap(config: NodeConfig, disk: Disk, gate: ReleaseGate) -> BootstrapMetadata:
    """Read the records of formatting. Raises StartupError if they are damaged or the release cannot read them."""
    release = config.release
    snapshot = f"{config.metadata_log_dir}/{METADATA_DIRECTORY}/{format_snapshot_name(BOOTSTRAP_SNAPSHOT)}"
    checkpoint = f"{config.metadata_log_dir}/{FILE_NAME}"
    # A directory may have been formatted by another release than the one that opens it.
    files = (snapshot, checkpoint) if release.bootstraps_from_snapshot else (checkpoint, snapshot)
    for file in files:
        # The second is not looked at if the first has records: it may be damaged.
        if values := _read_values(disk, file):
            break
    else:
        return default_bootstrap(release)
    batch = MetadataBatch(base_offset=0, end_offset=len(values), epoch=0, timestamp=0, values=values, source=file)
    try:
        gate.check([batch])
    except RecordError as error:
        raise StartupError(str(error)) from error
    records = tuple(VersionedRecord(*decode_metadata_record(value)) for value in values)
    source = f"the binary bootstrap metadata file: {file}"
    return BootstrapMetadata(
        records=records, metadata_version=_metadata_version(config, records, source), source=source
    )


def default_bootstrap(release: Release) -> BootstrapMetadata:
    """Return the records of a directory that has none: the release's latest level."""
    latest = release.latest_metadata_version
    record = VersionedRecord(FeatureLevelRecord(METADATA_VERSION, latest.level), 0)
    return BootstrapMetadata(records=(record,), metadata_version=latest, source="the default bootstrap")


def _read_values(disk: Disk, file: str) -> list[bytes]:
    if not disk.exists(file):
        return []
    try:
        return bootstrap_values(read_bootstrap_checkpoint(disk.read(file), file=file))
    except CorruptFileError as error:
        raise StartupError(str(error)) from error


def _metadata_version(config: NodeConfig, records: tuple[VersionedRecord, ...], source: str) -> MetadataVersion:
    levels = [
        record.feature_level
        for record, _ in records
        if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION
    ]
    if not levels:
        raise StartupError(
            f"No FeatureLevelRecord for {METADATA_VERSION} was found in the bootstrap metadata from {source}"
        )
    version = config.release.metadata_version(levels[-1])
    minimum = config.release.kraft.minimum_bootstrap
    if version < minimum:
        raise StartupError(
            f"Bootstrap metadata.version before {minimum} are not supported. Can't load metadata from {source}"
        )
    return version
