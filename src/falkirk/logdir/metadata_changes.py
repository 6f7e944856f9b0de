"""The metadata files of the result: one snapshot for all nodes, quorum-state and bootstrap files that the target reads.

Every release starts from an empty log and a snapshot: the snapshot ends where the log ended, so that a node that comes
back with an older log fetches it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from falkirk.logdir.changes import LogDirChanges, NewSnapshot, NodeChanges, record_values
from falkirk.logdir.locate import METADATA_DIRECTORY
from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.protocol.metadata_record import decode_metadata_record, encode_metadata_record
from falkirk.protocol.schema import ZERO_UUID
from falkirk.storage.bootstrap_checkpoint import (
    BOOTSTRAP_SNAPSHOT,
    bootstrap_values,
    read_bootstrap_checkpoint,
    write_bootstrap_checkpoint,
    write_bootstrap_snapshot,
)
from falkirk.storage.bootstrap_checkpoint import FILE_NAME as BOOTSTRAP_CHECKPOINT
from falkirk.storage.bounded_read import CHECKPOINT_BYTES_MAX, read_bounded
from falkirk.storage.partition_metadata import FILE_NAME as PARTITION_METADATA
from falkirk.storage.posix_disk import PosixDisk
from falkirk.storage.quorum_state import FILE_NAME as QUORUM_STATE
from falkirk.storage.quorum_state import NO_LEADER, NO_VOTE, QuorumState, format_quorum_state, parse_quorum_state
from falkirk.storage.snapshot_file import SnapshotId, SnapshotName, format_snapshot_name
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from falkirk.logdir.changes import FileContents, MetadataRecords
    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.kraft_conversion import KraftConversion
    from falkirk.logdir.locate import LogDir, NodeDirs
    from falkirk.protocol.messages import VotersRecord
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMetadata:
    """The metadata of the result: its records, feature levels, the release that reads it, and the voters.

    `voters`: of the log, where its kraft.version keeps them there.
    """

    records: MetadataRecords
    features: Mapping[str, int]
    metadata_version: MetadataVersion
    release: Release
    kraft: KraftConversion
    voters: VotersRecord | None


def metadata_changes(cluster: Cluster, new: NewMetadata) -> list[NodeChanges]:
    """Return the changes of every node's metadata files; the directory with the metadata partition comes first."""
    snapshot = NewSnapshot(
        records=new.records,
        epoch=cluster.epoch,
        timestamp=cluster.last_timestamp,
        kraft_version=new.kraft.after,
        voters=_voters(new),
    )
    return [_node_changes(cluster, node, new, snapshot) for node in cluster.nodes]


def snapshot_name(cluster: Cluster) -> str:
    """Return the file name of the result's snapshot, which ends where the log ended."""
    return format_snapshot_name(SnapshotName(id=SnapshotId(epoch=cluster.epoch, end_offset=cluster.end_offset)))


def _voters(new: NewMetadata) -> VotersRecord | None:
    return new.voters if new.kraft.after > 0 else None


def _node_changes(cluster: Cluster, node: NodeDirs, new: NewMetadata, snapshot: NewSnapshot) -> NodeChanges:
    has_bootstrap = any((log_dir.path / BOOTSTRAP_CHECKPOINT).is_file() for log_dir in node.log_dirs)
    changes = []
    for log_dir in sorted(node.log_dirs, key=lambda log_dir: log_dir is not node.metadata_dir):
        files: dict[str, FileContents | None] = {}
        if has_bootstrap or not new.release.bootstraps_from_snapshot:
            files[BOOTSTRAP_CHECKPOINT] = _bootstrap_checkpoint(cluster, log_dir, new)
        if log_dir is node.metadata_dir:
            partition = _metadata_partition(cluster, log_dir.path / METADATA_DIRECTORY, new, snapshot)
            files |= {f"{METADATA_DIRECTORY}/{name}": contents for name, contents in partition.items()}
        changes.append(LogDirChanges(log_dir.path, files))
    return NodeChanges(node.node_id, tuple(changes))


def _metadata_partition(
    cluster: Cluster, path: Path, new: NewMetadata, snapshot: NewSnapshot
) -> dict[str, FileContents | None]:
    """Return the changes of the metadata partition's directory: all but `partition.metadata` is new or removed."""
    files: dict[str, FileContents | None] = {
        entry.name: None for entry in sorted(path.iterdir()) if entry.name != PARTITION_METADATA and entry.is_file()
    }
    if cluster.end_offset:
        files[snapshot_name(cluster)] = snapshot
    elif new.kraft.after > 0 or new.release.bootstraps_from_snapshot:
        files[format_snapshot_name(BOOTSTRAP_SNAPSHOT)] = _bootstrap_snapshot(cluster, new)
    voters = cluster.voters.ids if cluster.voters is not None else frozenset()
    # A node may have voted and still have no log.
    file = path / QUORUM_STATE
    old = parse_quorum_state(read_bounded(PosixDisk(), str(file)), file=str(file)) if file.is_file() else None
    state = new.kraft.quorum_state(old, voters)
    if state is not None:
        files[QUORUM_STATE] = format_quorum_state(_without_settled_vote(state, cluster.epoch))
    return files


def _without_settled_vote(state: QuorumState, epoch: int) -> QuorumState:
    """Remove the vote of an election that has a winner: one whose leader is known, or whose epoch the log has reached.

    4.x keeps such votes. An older release takes the node's own vote for a candidacy in progress, and the node exits:
    with records of its epoch no candidate is answered (INVALID_REQUEST). Nor can another node win that epoch any more.
    """
    if state.leader_id == NO_LEADER and state.leader_epoch > epoch:
        return state
    return replace(state, voted_id=NO_VOTE, voted_directory_id=ZERO_UUID)


def _bootstrap_snapshot(cluster: Cluster, new: NewMetadata) -> bytes:
    """Return the snapshot that formatting writes for a node that never ran."""
    values = list(record_values(new.records)) if new.release.bootstraps_from_snapshot else []
    chunks = write_bootstrap_snapshot(
        values, clock=lambda: cluster.last_timestamp, kraft_version=new.kraft.after, voters=_voters(new)
    )
    return b"".join(chunks)


def _bootstrap_checkpoint(cluster: Cluster, log_dir: LogDir, new: NewMetadata) -> bytes:
    """Return a bootstrap.checkpoint at the target: every start reads it, and exits on an unknown level.

    Its records other than levels matter only to a cluster that never ran: there it is all the metadata there is.
    """
    if cluster.end_offset == 0:
        return b"".join(write_bootstrap_checkpoint(record_values(new.records), clock=lambda: 0))
    file = log_dir.path / BOOTSTRAP_CHECKPOINT
    old = read_bounded(PosixDisk(), str(file), CHECKPOINT_BYTES_MAX) if file.is_file() else None
    return bootstrap_at_levels(old, {METADATA_VERSION: new.metadata_version.level, **new.features}, file=str(file))


def bootstrap_at_levels(old: bytes | None, levels: Mapping[str, int], *, file: str) -> bytes:
    """Return a bootstrap.checkpoint with these feature levels, and with the other records of the old one.

    Raises CorruptFileError for the old one, which is `file`.
    """
    values = () if old is None else bootstrap_values(read_bootstrap_checkpoint(old, file=file))
    others = [value for value in values if not isinstance(decode_metadata_record(value)[0], FeatureLevelRecord)]
    features = [
        encode_metadata_record(FeatureLevelRecord(name=name, feature_level=level), 0)
        for name, level in levels.items()
        if name != KRAFT_VERSION
    ]
    return b"".join(write_bootstrap_checkpoint([*features, *others], clock=lambda: 0))


def bootstrap_levels(data: bytes, *, file: str) -> dict[str, int]:
    """Return the feature levels in a bootstrap.checkpoint. Raises CorruptFileError."""
    records = (
        decode_metadata_record(value)[0] for value in bootstrap_values(read_bootstrap_checkpoint(data, file=file))
    )
    return {each.name: each.feature_level for each in records if isinstance(each, FeatureLevelRecord)}
