"""Takes a downgraded cluster back up, with everything that is in the bundle; the cluster may have run since."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from falkirk.logdir.bundle import BundleError, read_bundle
from falkirk.logdir.bundle_change import check_was_made, later_changes
from falkirk.logdir.changes import ImageRecords, with_files
from falkirk.logdir.errors import TargetError
from falkirk.logdir.kraft_conversion import KraftConversion
from falkirk.logdir.metadata_changes import NewMetadata, metadata_changes
from falkirk.logdir.segment_rewrite import restore_records
from falkirk.logdir.undo_merge import merge_back
from falkirk.logdir.unknown_tags import put_back
from falkirk.logdir.write_tree import Progress, out_names, write_tree
from falkirk.metadata.levels.writer import LossReport, WriterOptions, assess, write_image
from falkirk.metadata.losses.loss import UNKNOWN_TAG
from falkirk.metadata.records.errors import MetadataError
from falkirk.metadata.records.record_key import object_key
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release, all_releases

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from falkirk.logdir.changes import MetadataRecords
    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.undo_merge import MergeResult
    from falkirk.metadata.undo.undo_bundle import Bundle, RemovedBatch
    from falkirk.protocol.messages import VotersRecord
    from falkirk.storage.disk import Disk


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoResult:
    """The result's place, how many objects and group records were restored, and what was not."""

    cluster_id: str
    before: MetadataVersion
    after: MetadataVersion
    out: Path
    restored_objects: int
    restored_records: int
    conflicts: tuple[str, ...]
    nodes: tuple[dict[str, Any], ...]  # Any: JSON values

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the document of `undo --json`."""
        return {
            "cluster_id": self.cluster_id,
            "from": {"level": self.before.level, "name": str(self.before)},
            "to": {"level": self.after.level, "name": str(self.after)},
            "out": str(self.out),
            "restored": {"objects": self.restored_objects, "group_records": self.restored_records},
            "conflicts": list(self.conflicts),
            "nodes": list(self.nodes),
        }


def undo(disk: Disk, cluster: Cluster, bundle_file: Path, out: Path, *, progress: Progress | None = None) -> UndoResult:
    """Write the cluster at its old level to `out`.

    Raises BundleError if the bundle is of another cluster or of a change that was never made, TargetError if the
    cluster is not below the bundle's level.
    """
    bundle = read_bundle(bundle_file)
    if bundle.cluster_id != cluster.cluster_id:
        raise BundleError(f"{bundle_file}: of cluster {bundle.cluster_id}, the directories are of {cluster.cluster_id}")
    check_was_made(cluster, bundle, bundle_file)
    now = cluster.image.features.metadata_version
    after = MetadataVersion.of_level(bundle.level_before)
    if now is None or now > after:
        raise TargetError(f"metadata.version is {now}, and the bundle leads back to {after}, which is below")
    later = later_changes(disk, cluster, bundle, bundle_file)
    merged = merge_back(cluster.image, bundle)
    records = _new_records(merged, after)
    groups = _restore_groups(disk, cluster, bundle)
    new = NewMetadata(
        records=records.records,
        features=dict(merged.image.features.finalized),
        metadata_version=after,
        release=_release_of(after, bundle),
        kraft=KraftConversion(
            before=cluster.kraft_version, after=max(bundle.kraft_version_before, cluster.kraft_version)
        ),
        voters=_voters(cluster, bundle),
    )
    nodes = with_files(metadata_changes(cluster, new), groups.files)
    places = {log_dir: out / place for log_dir, place in out_names(nodes).items()}
    result = UndoResult(
        cluster_id=cluster.cluster_id,
        before=now,
        after=after,
        out=out,
        restored_objects=merged.restored,
        restored_records=groups.restored,
        conflicts=(*later, *merged.conflicts, *records.conflicts, *groups.conflicts),
        nodes=tuple(
            {"node_id": node.node_id, "log_dirs": [str(places[each.log_dir]) for each in node.log_dirs]}
            for node in nodes
        ),
    )
    write_tree(nodes, out, beside={}, progress=progress or Progress())
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _NewRecords:
    records: MetadataRecords
    conflicts: tuple[str, ...]


def _new_records(merged: MergeResult, after: MetadataVersion) -> _NewRecords:
    options = WriterOptions(metadata_version=after)
    report = assess(merged.image, options)
    _check_going_up(after, report)
    tagged = _tagged_records(merged, options) if merged.unknown_tags else None
    lost = tuple(loss.detail for loss in report.losses if loss.kind == UNKNOWN_TAG)
    if tagged is None:
        return _NewRecords(records=ImageRecords(merged.image, options), conflicts=lost)
    return replace(tagged, conflicts=(*tagged.conflicts, *lost))


def _tagged_records(merged: MergeResult, options: WriterOptions) -> _NewRecords:
    """Write the image with the restored unknown tagged fields; those without a place are conflicts."""
    values, conflicts = [], []
    for record, version in write_image(merged.image, options, on_loss=lambda _: None):
        key = object_key(record)
        tags = merged.unknown_tags.get(key, ()) if key is not None else ()
        if key is not None and tags:
            record, unplaced = put_back(record, tags)  # noqa: PLW2901 (the same, with tags)
            conflicts += [f"{key.text()}: {tag.place} has no place any more" for tag in unplaced]
        values.append(encode_metadata_record(record, version))
    return _NewRecords(records=tuple(values), conflicts=tuple(conflicts))


def _check_going_up(after: MetadataVersion, report: LossReport) -> None:
    """Raise MetadataError if going up would lose something: then the bundle's levels are wrong."""
    for loss in report.losses:
        if loss.kind != UNKNOWN_TAG:
            raise MetadataError(f"going up to {after} would lose {loss.key_text}: {loss.detail}")


def _release_of(after: MetadataVersion, bundle: Bundle) -> Release:
    """Return the oldest release that runs the level and all restored features."""
    for release in all_releases():
        if release.tables.kraft is not None and not release.unsupported_features(bundle.features_before):
            return release
    return next(each for each in all_releases() if each.tables.kraft and each.latest_metadata_version >= after)


def _voters(cluster: Cluster, bundle: Bundle) -> VotersRecord | None:
    """Return the voters of the log, or those that left it."""
    now = None if cluster.log is None else cluster.log.voters
    return now if cluster.kraft_version > 0 else bundle.voters


@dataclass(frozen=True, slots=True, kw_only=True)
class _RestoredGroups:
    """New files of coordinator partitions by log directory, and how many records were restored, replicas apart."""

    files: dict[Path, dict[str, bytes]]
    restored: int
    conflicts: tuple[str, ...]


def _restore_groups(disk: Disk, cluster: Cluster, bundle: Bundle) -> _RestoredGroups:
    """Restore records of coordinator partitions."""
    files: dict[Path, dict[str, bytes]] = {}
    restored: dict[str, int] = {}
    conflicts = []
    for log_dir in (log_dir.path for node in cluster.nodes for log_dir in node.log_dirs):
        for name, removed in bundle.groups.items():
            directory = log_dir / name
            if not directory.is_dir():
                continue
            tombstones = bundle.tombstones.get(name, frozenset())
            restoration = restore_records(disk, str(directory), removed, tombstones)
            files.setdefault(log_dir, {}).update({f"{name}/{file}": data for file, data in restoration.files.items()})
            if restoration.unplaced:
                where = f"{directory}: no place any more for the records at offsets {[*restoration.unplaced]}"
                conflicts.append(f"{where}; what was written since stays")
            count = _record_count(removed) - len(restoration.unplaced)
            restored[name] = max(count, restored.get(name, 0))
    conflicts += [
        f"{name}: no replica of it is here any more; its {_record_count(removed)} group records stay in the bundle"
        for name, removed in bundle.groups.items()
        if name not in restored
    ]
    return _RestoredGroups(files=files, restored=sum(restored.values()), conflicts=tuple(conflicts))


def _record_count(removed: Iterable[RemovedBatch]) -> int:
    return sum(len(batch.offsets) for batch in removed)
