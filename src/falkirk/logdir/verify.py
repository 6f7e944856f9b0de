"""Verifies directories: every checksum, and that all files are consistent and readable by a release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from falkirk.logdir.group_records import read_groups
from falkirk.logdir.placement import misplaced_partitions, partitions_of
from falkirk.logdir.small_files import small_file_damage
from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.metadata.records.errors import RecordError
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import METADATA_RECORDS
from falkirk.protocol.metadata_record import decode_frame
from falkirk.storage.bootstrap_checkpoint import FILE_NAME as BOOTSTRAP_CHECKPOINT
from falkirk.storage.bootstrap_checkpoint import bootstrap_values, read_bootstrap_checkpoint
from falkirk.storage.bounded_read import CHECKPOINT_BYTES_MAX, read_bounded
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.log.log_cut import CUT_SUFFIX
from falkirk.storage.partition_directory import DirectoryState, parse_partition_directory
from falkirk.storage.partition_log import list_partition, read_segments
from falkirk.storage.posix_disk import PosixDisk
from falkirk.storage.segment import valid_batches_within
from falkirk.storage.snapshot_file import SnapshotState, format_snapshot_name, read_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.errors import DamagedLogError
    from falkirk.logdir.locate import LogDir, NodeDirs
    from falkirk.logdir.metadata_log import MetadataLog
    from falkirk.storage.disk import Disk
    from falkirk.versions.release import Release


PROBLEM_KINDS: Final = {
    "checksum": "a file does not hold what its checksums or its form promise",
    "image": "a node's metadata is other than that of the others at the same offset",
    "record": "a metadata record that cannot be applied, or that the release does not read",
    "feature": "a finalized feature that the release does not run",
    "quorum-state": "quorum-state does not fit kraft.version or the voters",
    "partition": "a partition directory that the metadata does not place there, or one that is missing",
    "cut": "bytes that a starting broker cut off a log and kept",
    "group": "a record with which the release's coordinator would not load its partition",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One fault. `kind` is one of PROBLEM_KINDS."""

    kind: str
    path: str
    detail: str

    def as_json(self) -> dict[str, str]:
        """Return the object that commands print."""
        return {"kind": self.kind, "path": self.path, "detail": self.detail}


@dataclass(slots=True)
class Verification:
    """What was checked and found; `notes` are no faults."""

    release: Release
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    metadata_records: int = 0
    segments: int = 0
    batches: int = 0
    data_bytes: int = 0

    def add(self, kind: str, path: Path | str, detail: str) -> None:
        """Add a problem, unless it is known already."""
        assert kind in PROBLEM_KINDS
        problem = Problem(kind=kind, path=str(path), detail=detail)
        if problem not in self.problems:
            self.problems.append(problem)

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the document of `verify --json`."""
        return {
            "release": self.release.name,
            "ok": not self.problems,
            "problems": [problem.as_json() for problem in self.problems],
            "notes": self.notes,
            "checked": {
                "metadata_records": self.metadata_records,
                "segments": self.segments,
                "batches": self.batches,
                "data_bytes": self.data_bytes,
            },
        }


def verify(
    disk: Disk, cluster: Cluster, release: Release, *, advance: Callable[[int], None] = lambda _: None
) -> Verification:
    """Check everything for servers of `release`; `advance` is called with the bytes of data as they are read."""
    found = Verification(release, notes=[problem.text for problem in cluster.problems])
    for node in cluster.nodes:
        log = cluster.logs.get(node.node_id)
        if log is not None:
            _check_image(cluster, node, log, found)
            _check_records(log, found)
            _check_quorum_state(cluster, log, found)
        for path, detail in misplaced_partitions(disk, cluster, node):
            found.add("partition", path, detail)
    _check_files(disk, cluster.nodes, found, advance)
    _check_features(cluster, found)
    _check_groups(disk, cluster, found)
    return found


def verify_files(
    disk: Disk,
    nodes: Sequence[NodeDirs],
    release: Release,
    error: CorruptFileError | DamagedLogError | RecordError,
    *,
    advance: Callable[[int], None] = lambda _: None,
) -> Verification:
    """Check everything that does not need the metadata, which could not be read because of `error`."""
    found = Verification(release)
    match error:
        case CorruptFileError():
            found.add("checksum", error.file, str(error))
        case RecordError():
            found.add("record", error.source or "", str(error))
        case _:
            found.add("checksum", "", str(error))
    _check_files(disk, nodes, found, advance)
    return found


def _check_files(disk: Disk, nodes: Sequence[NodeDirs], found: Verification, advance: Callable[[int], None]) -> None:
    """Check the files that can be judged on their own."""
    for node in nodes:
        _check_snapshots(disk, node, found)
        _check_bootstrap(node, found)
        for log_dir in node.log_dirs:
            _check_segments(disk, log_dir, found, advance)
            _check_cuts(disk, log_dir, found)
            _note_strays(disk, log_dir, found)
            for error in small_file_damage(disk, log_dir):
                found.add("checksum", error.file, str(error))


def _check_snapshots(disk: Disk, node: NodeDirs, found: Verification) -> None:
    """Check every snapshot: a node starts from the newest, and does not start if that is damaged."""
    if node.metadata_path is None:
        return
    for name in list_partition(disk, str(node.metadata_path)).metadata_snapshots:
        if name.state is not SnapshotState.COMPLETE:
            continue
        file = str(node.metadata_path / format_snapshot_name(name))
        try:
            if not read_snapshot(disk.view(file), file=file).is_complete:
                found.add("checksum", file, "the snapshot has no footer: it was never finished")
        except CorruptFileError as error:
            found.add("checksum", file, str(error))


def _check_image(cluster: Cluster, node: NodeDirs, log: MetadataLog, found: Verification) -> None:
    """Compare a node's image with the one that counts."""
    if node.node_id == cluster.chosen:
        return
    if (log.epoch, log.end_offset) != (cluster.epoch, cluster.end_offset):
        found.notes.append(
            f"node {node.node_id}: its metadata ends at offset {log.end_offset} of epoch {log.epoch}, "
            f"that of node {cluster.chosen} at {cluster.end_offset} of {cluster.epoch}"
        )
        return
    loader = MetadataLoader()
    if log.snapshot is not None and log.snapshot_id is not None:
        end, timestamp = log.snapshot_id, log.snapshot.last_contained_log_timestamp
        loader.load_snapshot(log.snapshot_batches(), Provenance(end.end_offset, end.epoch, timestamp))
    image = loader.load_log(log.log_batches())
    if not image.has_same_content(cluster.image):
        found.add("image", log.directory, f"node {node.node_id} has other metadata than node {cluster.chosen}")
    if log.kraft_version != cluster.kraft_version:
        found.add("image", log.directory, f"kraft.version is {log.kraft_version}, elsewhere {cluster.kraft_version}")


def _check_records(log: MetadataLog, found: Verification) -> None:
    """Check that every metadata record has a type and version that the release reads."""
    for batch in log.metadata_batches():
        _check_values(batch.values, batch.source or str(log.directory), batch.base_offset, found)


def _check_values(values: Iterable[bytes], path: str, base_offset: int, found: Verification) -> None:
    records = found.release.kraft.metadata_records
    for offset, value in enumerate(values, base_offset):
        found.metadata_records += 1
        record_type, version, _ = decode_frame(value)
        name = METADATA_RECORDS.get(record_type, f"record of type {record_type}")
        support = records.get(record_type)
        if support is None:
            found.add("record", path, f"offset {offset}: Kafka {found.release.word} does not know {name}")
        elif version not in support.versions:
            found.add(
                "record",
                path,
                f"offset {offset}: {name} version {version}, Kafka {found.release.word} reads {support.versions}",
            )


def _check_features(cluster: Cluster, found: Verification) -> None:
    levels = cluster.image.features.levels(kraft_version=cluster.kraft_version)
    for unsupported in found.release.unsupported_features(levels):
        found.add("feature", cluster.nodes[0].log_dirs[0].path, str(unsupported))


def _check_quorum_state(cluster: Cluster, log: MetadataLog, found: Verification) -> None:
    state, path = log.quorum_state, log.directory / "quorum-state"
    if state is None:
        return
    if state.leader_epoch < log.epoch:
        found.notes.append(f"{path}: leader epoch {state.leader_epoch} is behind the log's, {log.epoch}")
    if cluster.kraft_version == 0 and state.data_version != 0:
        found.add("quorum-state", path, f"data_version {state.data_version}, and kraft.version is 0")
    # An observer that has not heard of any voter yet writes version 0 whatever the cluster's kraft.version.
    if cluster.kraft_version > 0 and state.data_version == 0 and state.current_voters:
        found.add(
            "quorum-state", path, f"data_version 0 with voters, and kraft.version is {cluster.kraft_version}"
        )  # fmt: skip
    voters = cluster.voters.ids if cluster.voters is not None else frozenset()
    if cluster.kraft_version == 0 and state.current_voters and frozenset(state.current_voters) != voters:
        found.add("quorum-state", path, f"voters {sorted(state.current_voters)}, elsewhere {sorted(voters)}")


def _check_bootstrap(node: NodeDirs, found: Verification) -> None:
    for log_dir in node.log_dirs:
        file = log_dir.path / BOOTSTRAP_CHECKPOINT
        if not file.is_file():
            continue
        try:
            values = bootstrap_values(
                read_bootstrap_checkpoint(read_bounded(PosixDisk(), str(file), CHECKPOINT_BYTES_MAX), file=str(file))
            )
            _check_values(values, str(file), 0, found)
        except RemoteProtocolError as error:
            found.add("checksum", file, str(error))


def _check_cuts(disk: Disk, log_dir: LogDir, found: Verification) -> None:
    for name, _, _ in partitions_of(disk, log_dir):
        directory = str(log_dir.path / name)
        for file in list_partition(disk, directory).other_files:
            if not file.endswith(CUT_SUFFIX):
                continue
            data = disk.view(f"{directory}/{file}")
            batches = list(valid_batches_within(data))
            detail = f"a start cut off {len(data)} bytes, no valid batch in them"
            if batches:
                records = sum(batch.record_count for batch in batches)
                first, last = batches[0].base_offset, batches[-1].last_offset
                detail = (
                    f"a start cut off {len(data)} bytes, {records} valid records of offsets {first} to {last} in them"
                )
            found.add("cut", f"{directory}/{file}", detail)


def _note_strays(disk: Disk, log_dir: LogDir, found: Verification) -> None:
    for name in disk.list(str(log_dir.path)):
        parsed = parse_partition_directory(name)
        if parsed is not None and parsed.state is DirectoryState.STRAY:
            found.notes.append(f"{log_dir.path / name}: a log that a start set aside")


def _check_segments(disk: Disk, log_dir: LogDir, found: Verification, advance: Callable[[int], None]) -> None:
    for name, _, _ in partitions_of(disk, log_dir):
        try:
            for reader in read_segments(disk, str(log_dir.path / name)):
                found.segments += 1
                found.batches += sum(1 for _ in reader)
                found.data_bytes += reader.end_position
                advance(reader.end_position)
                if reader.torn is not None:
                    found.notes.append(f"{reader.file}: {reader.torn}")
        except CorruptFileError as error:
            found.add("checksum", error.file, str(error))


def _check_groups(disk: Disk, cluster: Cluster, found: Verification) -> None:
    try:
        plan = read_groups(disk, cluster, found.release)
    except CorruptFileError as error:
        found.add("checksum", error.file, str(error))
        return
    for loss in plan.losses():
        if loss.kind == "group_record":
            found.add("group", str(loss.source), f"offset {loss.offset}: {loss.detail}")
