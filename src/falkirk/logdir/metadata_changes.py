"""The metadata files of the result: one snapshot for all nodes, quorum-state and bootstrap files that the target reads.

An empty log and a snapshot are a start that every release takes: the snapshot stands where the log ended, so that a
node that comes back with an older log fetches it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from falkirk.logdir.changes import LogDirChanges, NodeChanges
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
from falkirk.storage.partition_metadata import FILE_NAME as PARTITION_METADATA
from falkirk.storage.quorum_state import FILE_NAME as QUORUM_STATE
from falkirk.storage.quorum_state import NO_LEADER, NO_VOTE, QuorumState, format_quorum_state, parse_quorum_state
from falkirk.storage.snapshot_file import SnapshotId, SnapshotName, format_snapshot_name
from falkirk.storage.snapshot_writer import write_snapshot
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.kraft_conversion import KraftConversion
    from falkirk.logdir.locate import LogDir, NodeDirs
    from falkirk.protocol.messages import VotersRecord
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMetadata:
    """What the result's metadata is: its records as values, its levels, the release that reads it, who votes.

    `values` makes them anew each time; that is put off until the files are written.
    """

    values: Callable[[], Iterable[bytes]]
    features: dict[str, int]
    metadata_version: MetadataVersion
    release: Release
    kraft: KraftConversion
    # Of the log, where its kraft.version has them there.
    voters: VotersRecord | None


def metadata_changes(cluster: Cluster, new: NewMetadata) -> list[NodeChanges]:
    """Give the changes of every node's metadata files; the directory with the metadata partition comes first."""
    # One for all nodes.
    snapshot = functools.cache(lambda: _snapshot_chunks(cluster, new))
    return [_node_changes(cluster, node, new, snapshot) for node in cluster.nodes]


def snapshot_name(cluster: Cluster) -> str:
    """Name the result's snapshot: it holds all that the log held."""
    return format_snapshot_name(SnapshotName(id=SnapshotId(epoch=cluster.epoch, end_offset=cluster.end_offset)))


def _snapshot_chunks(cluster: Cluster, new: NewMetadata) -> list[bytes]:
    return list(
        write_snapshot(
            new.values(),
            epoch=cluster.epoch,
            last_contained_log_timestamp=cluster.last_timestamp,
            # All nodes get the same bytes, and get them again if it is done again.
            clock=lambda: cluster.last_timestamp,
            kraft_version=new.kraft.after,
            voters=_voters(new),
        )
    )


def _voters(new: NewMetadata) -> VotersRecord | None:
    return new.voters if new.kraft.after > 0 else None


def _node_changes(
    cluster: Cluster, node: NodeDirs, new: NewMetadata, snapshot: Callable[[], list[bytes]]
) -> NodeChanges:
    dirs = sorted(node.log_dirs, key=lambda log_dir: log_dir is not node.metadata_dir)
    changes = NodeChanges(node.node_id, [LogDirChanges(log_dir.path) for log_dir in dirs])
    has_bootstrap = any((log_dir.path / BOOTSTRAP_CHECKPOINT).is_file() for log_dir in node.log_dirs)
    for log_dir, each in zip(dirs, changes.log_dirs, strict=True):
        if has_bootstrap or not new.release.bootstraps_from_snapshot:
            _change_bootstrap(cluster, log_dir, each, new)
        if log_dir is node.metadata_dir:
            _change_metadata_partition(cluster, node, each, new, snapshot)
    return changes


def _change_metadata_partition(
    cluster: Cluster, node: NodeDirs, changes: LogDirChanges, new: NewMetadata, snapshot: Callable[[], list[bytes]]
) -> None:
    path = node.metadata_path
    assert path is not None
    if cluster.end_offset:
        changes.write(f"{METADATA_DIRECTORY}/{snapshot_name(cluster)}", snapshot)
    elif new.kraft.after > 0 or new.release.bootstraps_from_snapshot:
        _keep_bootstrap_snapshot(cluster, changes, new)
    voters = cluster.voters.ids if cluster.voters is not None else frozenset()
    # A node may have voted and still have no log.
    file = path / QUORUM_STATE
    old = parse_quorum_state(file.read_bytes(), file=str(file)) if file.is_file() else None
    state = new.kraft.quorum_state(old, voters)
    if state is not None:
        settled = _without_settled_vote(state, cluster.epoch)
        changes.write_bytes(f"{METADATA_DIRECTORY}/{QUORUM_STATE}", format_quorum_state(settled))
    for entry in sorted(path.iterdir()):
        if entry.name != PARTITION_METADATA and entry.is_file():
            changes.remove(f"{METADATA_DIRECTORY}/{entry.name}")


def _without_settled_vote(state: QuorumState, epoch: int) -> QuorumState:
    """Leave out a vote of an election that has a winner: one whose leader is known, or whose epoch the log has reached.

    4.x keeps such votes. A release before it takes the node's own one for a candidacy that goes on, and the node ends:
    with records of its epoch no candidate is heard (INVALID_REQUEST). Nor can anybody else win that epoch any more.
    """
    if state.leader_id == NO_LEADER and state.leader_epoch > epoch:
        return state
    return replace(state, voted_id=NO_VOTE, voted_directory_id=ZERO_UUID)


def _keep_bootstrap_snapshot(cluster: Cluster, changes: LogDirChanges, new: NewMetadata) -> None:
    """Write what formatting writes for a node that never ran."""
    values = list(new.values()) if new.release.bootstraps_from_snapshot else []
    chunks = write_bootstrap_snapshot(
        values, clock=lambda: cluster.last_timestamp, kraft_version=new.kraft.after, voters=_voters(new)
    )
    changes.write_bytes(f"{METADATA_DIRECTORY}/{format_snapshot_name(BOOTSTRAP_SNAPSHOT)}", b"".join(chunks))


def _change_bootstrap(cluster: Cluster, log_dir: LogDir, changes: LogDirChanges, new: NewMetadata) -> None:
    """Write a bootstrap.checkpoint at the target: every start reads it, and exits on a level that it does not know.

    What it holds besides levels is of use only to a cluster that never ran: there it is all the metadata there is.
    """
    if cluster.end_offset == 0:
        changes.write_bytes(BOOTSTRAP_CHECKPOINT, b"".join(write_bootstrap_checkpoint(new.values(), clock=lambda: 0)))
        return
    file = log_dir.path / BOOTSTRAP_CHECKPOINT
    others: list[bytes] = []
    if file.is_file():
        for value in bootstrap_values(read_bootstrap_checkpoint(file.read_bytes(), file=str(file))):
            record, _ = decode_metadata_record(value)
            if not isinstance(record, FeatureLevelRecord):
                others.append(value)
    levels = {METADATA_VERSION: new.metadata_version.level, **new.features}
    features = [
        encode_metadata_record(FeatureLevelRecord(name=name, feature_level=level), 0)
        for name, level in levels.items()
        if name != "kraft.version"
    ]
    data = b"".join(write_bootstrap_checkpoint([*features, *others], clock=lambda: 0))
    changes.write_bytes(BOOTSTRAP_CHECKPOINT, data)
