"""Takes a downgraded cluster back up, with everything that the bundle kept; the cluster may have run since."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from falkirk.logdir.bundle import BundleError, read_bundle
from falkirk.logdir.downgrade import Progress
from falkirk.logdir.errors import TargetError
from falkirk.logdir.kraft_conversion import KraftConversion
from falkirk.logdir.metadata_changes import NewMetadata, metadata_changes
from falkirk.logdir.segment_rewrite import restore_records
from falkirk.logdir.undo_merge import merge_back
from falkirk.logdir.unknown_tags import put_back
from falkirk.logdir.write_tree import out_names, write_tree
from falkirk.metadata.errors import MetadataError
from falkirk.metadata.loss import UNKNOWN_TAG
from falkirk.metadata.record_key import object_key
from falkirk.metadata.writer import LossReport, WriterOptions, assess, write_image, write_values
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release, all_releases

if TYPE_CHECKING:
    from pathlib import Path

    from falkirk.logdir.changes import NodeChanges
    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.undo_merge import MergeResult
    from falkirk.metadata.undo_bundle import Bundle
    from falkirk.protocol.messages import VotersRecord
    from falkirk.storage.disk import Disk


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoResult:
    """Where the result is, how many objects and group records came back, and what did not."""

    cluster_id: str
    before: MetadataVersion
    after: MetadataVersion
    out: Path
    restored_objects: int
    restored_records: int
    conflicts: tuple[str, ...]
    nodes: tuple[dict[str, Any], ...]  # Any: JSON values

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Give the document of `undo --json`."""
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

    Raises BundleError if the bundle is of another cluster, TargetError if the cluster is not below the bundle's level.
    """
    progress = progress or Progress()
    bundle = read_bundle(bundle_file)
    if bundle.cluster_id != cluster.cluster_id:
        raise BundleError(f"{bundle_file}: of cluster {bundle.cluster_id}, the directories are of {cluster.cluster_id}")
    now = cluster.image.features.metadata_version
    after = MetadataVersion.of_level(bundle.level_before)
    if now is None or now > after:
        raise TargetError(f"metadata.version is {now}, and the bundle leads back to {after}, which is below")
    merged = merge_back(cluster.image, bundle)
    nodes = metadata_changes(cluster, _new_metadata(cluster, bundle, merged, after))
    restored = _restore_groups(disk, nodes, bundle, merged)
    places = {log_dir: out / place for log_dir, place in out_names(nodes).items()}
    result = UndoResult(
        cluster_id=cluster.cluster_id,
        before=now,
        after=after,
        out=out,
        restored_objects=merged.restored,
        restored_records=restored,
        conflicts=tuple(merged.conflicts),
        nodes=tuple(
            {"node_id": node.node_id, "log_dirs": [str(places[each.log_dir]) for each in node.log_dirs]}
            for node in nodes
        ),
    )
    write_tree(nodes, out, more=lambda _: None, begin=progress.begin, advance=progress.advance)
    return result


def _new_metadata(cluster: Cluster, bundle: Bundle, merged: MergeResult, after: MetadataVersion) -> NewMetadata:
    release = _release_of(after, bundle)
    options = WriterOptions(metadata_version=after)
    report = assess(merged.image, options)
    _check_going_up(after, report)
    tagged = _tagged_values(merged, options) if merged.unknown_tags else None
    merged.conflicts += [loss.detail for loss in report.losses if loss.kind == UNKNOWN_TAG]
    kraft_after = max(bundle.kraft_version_before, cluster.kraft_version)
    return NewMetadata(
        values=partial(write_values, merged.image, options) if tagged is None else lambda: tagged,
        features=dict(merged.image.features.finalized),
        metadata_version=after,
        release=release,
        kraft=KraftConversion(before=cluster.kraft_version, after=kraft_after),
        voters=_voters(cluster, bundle),
    )


def _tagged_values(merged: MergeResult, options: WriterOptions) -> list[bytes]:
    """Write the image with the unknown tagged fields that come back; those without a place are conflicts."""
    values = []
    for record, version in write_image(merged.image, options, on_loss=lambda _: None):
        key = object_key(record)
        tags = merged.unknown_tags.get(key, ()) if key is not None else ()
        if key is not None and tags:
            record, homeless = put_back(record, tags)  # noqa: PLW2901 (the same, with tags)
            merged.conflicts += [f"{key.text()}: {tag.place} has no place any more" for tag in homeless]
        values.append(encode_metadata_record(record, version))
    return values


def _check_going_up(after: MetadataVersion, report: LossReport) -> None:
    """Raise MetadataError if going up would lose something: then the levels are not what they say."""
    for loss in report.losses:
        if loss.kind != UNKNOWN_TAG:
            raise MetadataError(f"going up to {after} would lose {loss.key_text}: {loss.detail}")


def _release_of(after: MetadataVersion, bundle: Bundle) -> Release:
    """Give the oldest release that runs the level and all features that come back."""
    for release in all_releases():
        if release.tables.kraft is not None and not release.unsupported_features(bundle.features_before):
            return release
    return next(each for each in all_releases() if each.tables.kraft and each.latest_metadata_version >= after)


def _voters(cluster: Cluster, bundle: Bundle) -> VotersRecord | None:
    """Give the voters of the log, or those that left it."""
    now = None if cluster.log is None else cluster.log.voters
    return now if cluster.kraft_version > 0 else bundle.voters


def _restore_groups(disk: Disk, nodes: list[NodeChanges], bundle: Bundle, merged: MergeResult) -> int:
    """Put records of coordinator partitions back; give how many, counted once for all replicas."""
    restored: dict[str, int] = {}
    for node in nodes:
        for changes in node.log_dirs:
            for name, removed in bundle.groups.items():
                directory = changes.log_dir / name
                if not directory.is_dir():
                    continue
                gone = bundle.tombstones.get(name, frozenset())
                files, unplaced = restore_records(disk, str(directory), removed, gone)
                if unplaced:
                    where = f"{directory}: no place any more for the records at offsets {unplaced}"
                    merged.conflicts.append(f"{where}; what was written since stays")
                for file, data in files.items():
                    changes.write_bytes(f"{name}/{file}", data)
                count = sum(len(batch.offsets) for batch in removed) - len(unplaced)
                restored[name] = max(count, restored.get(name, 0))
    merged.conflicts += [
        f"{name}: no replica of it is here any more; its {sum(len(batch.offsets) for batch in removed)} group records "
        "stay in the bundle"
        for name, removed in bundle.groups.items()
        if name not in restored
    ]
    return sum(restored.values())
