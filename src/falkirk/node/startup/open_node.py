"""Opens a node's directories. Nothing is written before everything is found to be in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.metadata.records.batch import MetadataBatch
from falkirk.metadata.records.errors import RecordError
from falkirk.node.config.role_settings import kraft_version_max, log_settings
from falkirk.node.effects import Fact
from falkirk.node.errors import StartupError
from falkirk.node.metadata_log.bootstrap import default_bootstrap, read_bootstrap
from falkirk.node.metadata_log.release_gate import ReleaseGate
from falkirk.node.startup.log_directories import open_log_directories
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.raft.output import ElectionState
from falkirk.storage.bootstrap_checkpoint import BOOTSTRAP_SNAPSHOT
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.metadata_log import MetadataLog
from falkirk.storage.partition_directory import METADATA_DIRECTORY
from falkirk.storage.partition_log import list_partition, read_segments
from falkirk.storage.quorum_state import FILE_NAME as QUORUM_STATE
from falkirk.storage.quorum_state import NO_LEADER, NO_VOTE, parse_quorum_state
from falkirk.storage.snapshot_file import SnapshotState, format_snapshot_name, read_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.node.config.node_config import NodeConfig
    from falkirk.node.metadata_log.bootstrap import BootstrapMetadata
    from falkirk.node.startup.log_directories import LogDirectories
    from falkirk.protocol.chance import Chance
    from falkirk.storage.disk import Disk
    from falkirk.storage.quorum_state import QuorumState

_FORMATTED: Final = format_snapshot_name(BOOTSTRAP_SNAPSHOT)
"""The checkpoint in which 4.4 and later leave the records of formatting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Startup:
    """The opened directories and their contents.

    `unread_bootstrap`: why the records of formatting were not read, where the log has left them behind.
    """

    directories: "LogDirectories"
    bootstrap: "BootstrapMetadata"
    gate: ReleaseGate
    log: MetadataLog
    election_state: ElectionState
    unread_bootstrap: str | None = None


def open_node(config: NodeConfig, disk: Disk, random: Chance) -> Startup:
    """Open the directories as the release would.

    Raises StartupError, having written nothing, for a directory that is not formatted, belongs to another cluster or
    node, is damaged, or holds what the release cannot read.
    """
    gate = ReleaseGate(
        config.release, is_controller=config.is_controller, unstable=config.unstable_feature_versions_enable
    )
    try:
        directories = open_log_directories(config, disk, random)
        bootstrap, unread_bootstrap = _read_bootstrap(config, disk, gate)
        partition = f"{config.metadata_log_dir}/{METADATA_DIRECTORY}"
        if disk.exists(partition):
            check_quorum_state(config, disk, f"{partition}/{QUORUM_STATE}")
            has_records = False
            for batch in metadata_batches(disk, partition):
                gate.check((batch,))
                has_records |= bool(batch.values) and not str(batch.source).endswith(_FORMATTED)
            if unread_bootstrap is not None and not has_records:
                raise StartupError(unread_bootstrap)
        elif unread_bootstrap is not None:
            raise StartupError(unread_bootstrap)
        directories = directories.write_ids(disk, config)
        log = MetadataLog(disk, config.metadata_log_dir, log_settings(config))
    except (RecordError, RemoteProtocolError) as error:
        raise StartupError(str(error)) from error
    except OSError as os_error:
        raise StartupError(f"Unable to open the log directories: {os_error}") from os_error
    return Startup(
        directories=directories,
        bootstrap=bootstrap,
        gate=gate,
        log=log,
        election_state=_election_state(log.quorum_state),
        unread_bootstrap=unread_bootstrap,
    )


def _read_bootstrap(config: NodeConfig, disk: Disk, gate: ReleaseGate) -> tuple[BootstrapMetadata, str | None]:
    """Return the records of formatting, and why they cannot be read: those of the release stand for them then.

    Differs from Kafka below 4.4, which ends though a log that has records never takes those of formatting again.
    """
    try:
        return read_bootstrap(config, disk, gate), None
    except StartupError as error:
        return default_bootstrap(config.release), str(error)


def startup_facts(config: NodeConfig, startup: Startup) -> Iterator[Fact]:
    """Yield the log events of the start."""
    recovery, roles = startup.log.recovery, ",".join(sorted(config.process_roles))
    fields = {"node_id": config.node_id, "cluster_id": startup.directories.cluster_id, "roles": roles}
    yield Fact("info", "node-starts", {**fields, "release": str(config.release)})
    if startup.unread_bootstrap is not None:
        yield Fact("warning", "bootstrap-checkpoint-not-read", {"reason": startup.unread_bootstrap})
    for log_dir, reason in startup.directories.offline.items():
        yield Fact("error", "log-directory-offline", {"log_dir": log_dir, "reason": reason})
    if recovery.torn is not None:
        yield Fact("warning", "torn-write-cut-off", {"file": recovery.torn.file, "reason": str(recovery.torn.tail)})
    snapshot = recovery.truncated_to
    if snapshot is not None:
        yield Fact("warning", "log-replaced-by-snapshot", {"end_offset": snapshot.offset, "epoch": snapshot.epoch})


def check_quorum_state(config: NodeConfig, disk: Disk, file: str) -> None:
    """Raise StartupError if the release does not know the file's version: below 3.9 there is only version 0."""
    if not disk.exists(file):
        return
    version = parse_quorum_state(disk.read(file), file=file).data_version
    if version > kraft_version_max(config):
        raise StartupError(f"{file}: data_version is {version}, release {config.release} knows 0 alone")


def metadata_batches(disk: Disk, partition: str) -> Iterator[MetadataBatch]:
    """Yield the data batches of the newest snapshot and of the log after it, committed or not.

    Raises CorruptFileError for damage other than a torn tail.
    """
    complete = [
        name for name in list_partition(disk, partition).metadata_snapshots if name.state is SnapshotState.COMPLETE
    ]
    newest = max(complete, key=lambda name: name.id, default=None)
    if newest is not None:
        file = f"{partition}/{format_snapshot_name(newest)}"
        snapshot = read_snapshot(disk.view(file), file=file)
        if not snapshot.is_complete:
            raise CorruptFileError("snapshot has no footer: it was never finished", offset=disk.size(file), file=file)
        for batch in snapshot.data_batches:
            yield MetadataBatch.of(batch, file)
    for reader in read_segments(disk, partition, contiguous=True, cuts_bad_end=True):
        for batch in reader:
            if not batch.is_control and (newest is None or batch.end_offset > newest.id.end_offset):
                yield MetadataBatch.of(batch, reader.file)


def _election_state(state: QuorumState | None) -> ElectionState:
    if state is None:
        return ElectionState(epoch=0)
    return ElectionState(
        epoch=state.leader_epoch,
        leader_id=None if state.leader_id == NO_LEADER else state.leader_id,
        voted_id=None if state.voted_id == NO_VOTE else state.voted_id,
        voted_directory_id=state.voted_directory_id,
        kraft_version=state.data_version,
        voters=state.current_voters or (),
    )
