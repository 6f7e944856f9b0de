"""A node's disk as `storage format` leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.levels.writer import WriterOptions, write_values
from falkirk.protocol.messages import FeatureLevelRecord, VotersRecord
from falkirk.protocol.messages.voters_record import Endpoint, KRaftVersionFeature, Voter
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.simulation.plans.scenario import CLUSTER_ID
from falkirk.storage.bootstrap_checkpoint import (
    BOOTSTRAP_SNAPSHOT,
    FILE_NAME,
    write_bootstrap_checkpoint,
    write_bootstrap_snapshot,
)
from falkirk.storage.meta_properties import FILE_NAME as META_PROPERTIES
from falkirk.storage.meta_properties import format_meta_properties, make_meta_properties
from falkirk.storage.partition_directory import METADATA_DIRECTORY
from falkirk.storage.quorum_state import FILE_NAME as QUORUM_STATE
from falkirk.storage.quorum_state import QuorumState, format_quorum_state
from falkirk.storage.snapshot_file import SnapshotId, SnapshotName, format_snapshot_name
from falkirk.storage.snapshot_writer import write_snapshot
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.simulation.plans.rehearsed_cluster import RehearsedNode
    from falkirk.simulation.plans.scenario import Scenario
    from falkirk.storage.disk import Disk
    from falkirk.versions.release import Release


def format_controller_disk(
    disk: Disk,
    log_dir: str,
    scenario: Scenario,
    node_id: int,
    directory_id: bytes,
    *,
    release: Release,
    now_ms: int,
    voters: Mapping[int, bytes] | None = None,
) -> None:
    """Write meta.properties and the bootstrap records of the metadata log, in the form of the node's release.

    The level is that of the scenario, or the release's own if that is lower: a node that gets a new disk much later
    may run an older release, and reads the level from the log.

    `voters`: directory ids of the first voters of a dynamic quorum, by node id; None for a static quorum, and for a
    controller that joins a dynamic one later.
    """
    format_broker_disk(disk, log_dir, node_id, directory_id, now_ms=now_ms)
    version = min(scenario.metadata_version, release.latest_metadata_version)
    levels = {METADATA_VERSION: version.level, **scenario.first_features}
    records = [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items()]
    values = [encode_metadata_record(record, 0) for record in records]
    has_records_in_snapshot = release.bootstraps_from_snapshot
    if not has_records_in_snapshot:
        disk.write(f"{log_dir}/{FILE_NAME}", write_bootstrap_checkpoint(values, clock=lambda: now_ms))
    if has_records_in_snapshot or voters:
        partition = f"{log_dir}/{METADATA_DIRECTORY}"
        disk.make_directory(partition)
        chunks = write_bootstrap_snapshot(
            values if has_records_in_snapshot else [],
            clock=lambda: now_ms,
            kraft_version=int(scenario.has_dynamic_voters),
            voters=_voters(scenario, voters) if voters else None,
        )
        disk.write(f"{partition}/{format_snapshot_name(BOOTSTRAP_SNAPSHOT)}", chunks)


def format_broker_disk(disk: Disk, log_dir: str, node_id: int, directory_id: bytes, *, now_ms: int) -> None:
    """Write meta.properties."""
    meta = make_meta_properties(cluster_id=CLUSTER_ID, node_id=node_id, directory_id=directory_id, now_ms=now_ms)
    disk.make_directory(log_dir)
    disk.write(f"{log_dir}/{META_PROPERTIES}", [format_meta_properties(meta)])


def format_rehearsed_disk(
    disk: Disk, log_dirs: Sequence[str], scenario: Scenario, node: RehearsedNode, *, now_ms: int
) -> None:
    """Write meta.properties and the metadata of a rehearsed cluster as one snapshot."""
    for log_dir, directory_id in zip(log_dirs, node.directory_ids, strict=True):
        format_broker_disk(disk, log_dir, node.node_id, directory_id, now_ms=now_ms)
    cluster = scenario.rehearsed
    assert cluster is not None, "the node is of it"
    kraft_version, provenance = int(cluster.has_dynamic_voters), cluster.image.provenance
    voters = {each.node_id: each.directory_ids[0] for each in cluster.nodes if each.is_controller}
    partition = f"{log_dirs[0]}/{METADATA_DIRECTORY}"
    disk.make_directory(partition)
    snapshot = SnapshotName(id=SnapshotId(end_offset=provenance.end_offset, epoch=provenance.epoch))
    chunks = write_snapshot(
        write_values(cluster.image, WriterOptions(metadata_version=cluster.metadata_version)),
        epoch=provenance.epoch,
        last_contained_log_timestamp=provenance.timestamp,
        clock=lambda: now_ms,
        kraft_version=kraft_version,
        voters=_voters(scenario, voters) if kraft_version else None,
    )
    disk.write(f"{partition}/{format_snapshot_name(snapshot)}", chunks)
    state = QuorumState(
        data_version=kraft_version,
        leader_epoch=provenance.epoch,
        current_voters=() if kraft_version else tuple(voters),
    )
    disk.write(f"{partition}/{QUORUM_STATE}", [format_quorum_state(state)])


def _voters(scenario: Scenario, directory_ids: Mapping[int, bytes]) -> VotersRecord:
    endpoints = scenario.controllers
    return VotersRecord(
        voters=[
            Voter(
                voter_id=node_id,
                voter_directory_id=directory_id,
                endpoints=[Endpoint("CONTROLLER", endpoints[node_id].host, endpoints[node_id].port)],
                kraft_version_feature=KRaftVersionFeature(0, 1),
            )
            for node_id, directory_id in directory_ids.items()
        ]
    )
