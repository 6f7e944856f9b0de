"""Carries out a plan: a complete new tree (or a change in place), its ledger, and the bundle that undoes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from falkirk.logdir import bundle as undo_bundle
from falkirk.logdir.changes import ImageRecords, with_files
from falkirk.logdir.errors import LiveDirectoryError, LogDirError
from falkirk.logdir.in_place import change_in_place
from falkirk.logdir.ledger import LEDGER_FILE, DowngradeLedger, NewLogDir, NewNode
from falkirk.logdir.metadata_changes import NewMetadata, metadata_changes
from falkirk.logdir.segment_rewrite import rewrite_partition
from falkirk.logdir.unknown_tags import kept_tag
from falkirk.logdir.write_tree import Progress, out_names, write_tree
from falkirk.metadata.undo.undo_bundle import Bundle, RemovedBatch
from falkirk.metadata.undo.undo_objects import object_changes
from falkirk.storage.log_dir_names import UNDO_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from falkirk.logdir.changes import FileContents, NodeChanges
    from falkirk.logdir.locate import NodeDirs
    from falkirk.logdir.plan import Plan
    from falkirk.metadata.losses.loss import Loss
    from falkirk.metadata.undo.undo_bundle import KeptTag
    from falkirk.storage.disk import Disk


class DataWouldBeLostError(LogDirError):
    """SAFE refuses a plan with losses."""

    would_lose_data = True

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        count = len(plan.losses)
        super().__init__(
            f"{count} {'thing' if count == 1 else 'things'} would be lost on the way to {plan.target}; nothing was "
            "changed. --unsafe goes on; what is dropped can be brought back with `falkirk logdir undo`"
        )


class BlockedError(LogDirError):
    """A plan with blockers cannot be carried out."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        super().__init__("\n".join(blocker.text for blocker in plan.blockers))


@dataclass(frozen=True, slots=True, kw_only=True)
class DowngradeResult:
    """A downgrade that was done: its plan, and the ledger that it left in the folder `out`."""

    plan: Plan
    out: Path
    document: DowngradeLedger

    @property
    def bundle(self) -> Path:
        """Path of the undo bundle."""
        return self.out / undo_bundle.FILE_NAME

    @property
    def ledger(self) -> Path:
        """Path of the ledger."""
        return self.out / LEDGER_FILE

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the document of `downgrade --json`, which is the ledger too."""
        return self.document.as_json()


def downgrade(
    disk: Disk, plan: Plan, out: Path, *, unsafe: bool = False, progress: Progress | None = None
) -> DowngradeResult:
    """Write the result to `out`, which must not exist or be an empty folder; the source is only read.

    Raises BlockedError, DataWouldBeLostError (not with `unsafe`), OutputError, CorruptFileError.
    """
    _refuse(plan, unsafe=unsafe)
    nodes, bundle = _prepare(disk, plan)
    places = {log_dir: out / place for log_dir, place in out_names(nodes).items()}
    result = _result(plan, out, nodes, places)
    write_tree(nodes, out, beside=_beside(bundle, result), progress=progress or Progress())
    return result


def downgrade_in_place(disk: Disk, plan: Plan, out: Path | None = None, *, unsafe: bool = False) -> DowngradeResult:
    """Change the directories themselves, atomically; replaced files go to a backup beside each.

    Ledger and bundle go to `out`, by default beside the first metadata directory. Raises as `downgrade` does.
    """
    _refuse(plan, unsafe=unsafe)
    nodes, bundle = _prepare(disk, plan)
    folder = out or undo_folder(plan.cluster.nodes)
    result = _result(plan, folder, nodes, {each.log_dir: each.log_dir for node in nodes for each in node.log_dirs})
    change_in_place(nodes, folder, _beside(bundle, result))
    return result


def undo_folder(nodes: Sequence[NodeDirs]) -> Path:
    """Return where a downgrade in place puts ledger and bundle: beside the first node's metadata directory."""
    first = (nodes[0].metadata_dir or nodes[0].log_dirs[0]).path.resolve()
    return first.with_name(first.name + UNDO_SUFFIX)


def _beside(bundle: Bundle, result: DowngradeResult) -> dict[str, FileContents]:
    """Return the files that go beside the new directories, by name."""
    ledger = msgspec.json.format(msgspec.json.encode(result.document), indent=2) + b"\n"
    return {undo_bundle.FILE_NAME: bundle, LEDGER_FILE: ledger}


def _refuse(plan: Plan, *, unsafe: bool) -> None:
    for node in plan.cluster.nodes:
        if node.is_live:
            raise LiveDirectoryError(
                f"{node.log_dirs[0].path} was fetched from a running cluster: it can be inspected and planned with, "
                "and the directories to downgrade are those of the stopped nodes"
            )
    if plan.blockers:
        raise BlockedError(plan)
    if not plan.is_lossless and not unsafe:
        raise DataWouldBeLostError(plan)


def _prepare(disk: Disk, plan: Plan) -> tuple[list[NodeChanges], Bundle]:
    """Return all changes, and the bundle that undoes them."""
    new = NewMetadata(
        records=ImageRecords(plan.cluster.image, plan.options),
        features=_features(plan),
        metadata_version=plan.target.metadata_version,
        release=plan.target.release,
        kraft=plan.kraft,
        voters=None if plan.cluster.log is None else plan.cluster.log.voters,
    )
    groups = _rewrite_groups(disk, plan)
    return with_files(metadata_changes(plan.cluster, new), groups.files), _bundle(plan, groups.removed)


def _features(plan: Plan) -> dict[str, int]:
    skipped = {"metadata.version", "kraft.version"}
    return {name: level for name, level in plan.features_after.items() if name not in skipped}


@dataclass(frozen=True, slots=True, kw_only=True)
class _GroupRewrite:
    """New files of coordinator partitions by log directory, and the batches removed from each partition by its name."""

    files: dict[Path, dict[str, bytes]]
    removed: dict[str, tuple[RemovedBatch, ...]]


def _rewrite_groups(disk: Disk, plan: Plan) -> _GroupRewrite:
    """Rewrite each replica from which records are removed or that gets tombstones."""
    files: dict[Path, dict[str, bytes]] = {}
    removed: dict[str, tuple[RemovedBatch, ...]] = {}
    for log_dir in (log_dir.path for node in plan.cluster.nodes for log_dir in node.log_dirs):
        offsets, appended = plan.groups.removed_offsets(log_dir), plan.tombstones.of(log_dir)
        for name in sorted(offsets.keys() | appended.keys()):
            directory = str(log_dir / name)
            rewrite = rewrite_partition(disk, directory, offsets.get(name, frozenset()), appended.get(name, ()))
            # Replicas hold the same batches; the longest one stands for all.
            if len(rewrite.removed) > len(removed.get(name, ())):
                removed[name] = rewrite.removed
            files.setdefault(log_dir, {}).update({f"{name}/{file}": data for file, data in rewrite.files.items()})
    return _GroupRewrite(files=files, removed=removed)


def _with_orphans(
    removed: dict[str, tuple[RemovedBatch, ...]], orphans: Mapping[str, tuple[RemovedBatch, ...]]
) -> dict[str, tuple[RemovedBatch, ...]]:
    """Return what undo restores: removed records, and those that a cleaner removes because of tombstones."""
    merged = {}
    for name in sorted(removed.keys() | orphans.keys()):
        offsets: dict[bytes, frozenset[int]] = {}
        for batch in (*removed.get(name, ()), *orphans.get(name, ())):
            offsets[batch.data] = offsets.get(batch.data, frozenset()) | batch.offsets
        merged[name] = tuple(RemovedBatch(data=data, offsets=found) for data, found in offsets.items())
    return merged


def _bundle(plan: Plan, removed: dict[str, tuple[RemovedBatch, ...]]) -> Bundle:
    log = plan.cluster.log
    image = plan.cluster.image

    def kept(loss: Loss) -> KeptTag:
        return kept_tag(loss, plan.cluster.record_batches())

    return Bundle(
        cluster_id=plan.cluster.cluster_id,
        level_before=plan.before.level,
        level_after=plan.target.metadata_version.level,
        release_after=plan.target.release.name,
        features_before=image.features.levels(kraft_version=plan.kraft.before),
        kraft_version_before=plan.kraft.before,
        kraft_version_after=plan.kraft.after,
        voters=log.voters if log is not None and plan.kraft.before > 0 else None,
        objects=tuple(object_changes(image, plan.report, plan.options, kept)),
        groups=_with_orphans(removed, plan.tombstones.orphans),
        tombstones=plan.tombstones.offsets(),
    )


def _result(plan: Plan, out: Path, nodes: list[NodeChanges], places: dict[Path, Path]) -> DowngradeResult:
    document = DowngradeLedger(
        **msgspec.structs.asdict(plan.ledger),
        out=str(out),
        bundle=str(out / undo_bundle.FILE_NAME),
        ledger=str(out / LEDGER_FILE),
        nodes=tuple(
            NewNode(
                node.node_id,
                tuple(NewLogDir(str(each.log_dir), str(places[each.log_dir])) for each in node.log_dirs),
                plan.kraft.quorum_voters,
            )
            for node in nodes
        ),
    )
    return DowngradeResult(plan=plan, out=out, document=document)
