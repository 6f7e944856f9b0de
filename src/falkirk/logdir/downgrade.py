"""Carries a plan out: a complete new tree (or a change in place), its ledger, and the bundle that undoes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import msgspec

from falkirk.logdir import bundle as undo_bundle
from falkirk.logdir.bundle import LEDGER_FILE, write_bundle
from falkirk.logdir.errors import LogDirError
from falkirk.logdir.in_place import change_in_place
from falkirk.logdir.metadata_changes import NewMetadata, metadata_changes
from falkirk.logdir.segment_rewrite import append_batches, remove_records
from falkirk.logdir.unknown_tags import kept_tag
from falkirk.logdir.write_tree import out_names, write_file, write_tree
from falkirk.metadata.undo_bundle import Bundle, RemovedBatch
from falkirk.metadata.undo_objects import object_changes
from falkirk.metadata.writer import write_values
from falkirk.storage.log_dir_names import UNDO_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from falkirk.logdir.changes import NodeChanges
    from falkirk.logdir.locate import NodeDirs
    from falkirk.logdir.plan import Plan
    from falkirk.metadata.loss import Loss
    from falkirk.metadata.undo_bundle import KeptTag
    from falkirk.storage.disk import Disk


class DataWouldBeLostError(LogDirError):
    """SAFE refuses: the plan says what would be lost."""

    would_lose_data = True

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        count = len(plan.losses)
        super().__init__(
            f"{count} {'thing' if count == 1 else 'things'} would be lost on the way to {plan.target}; nothing was "
            "changed. --unsafe goes on; what is dropped can be brought back with `falkirk logdir undo`"
        )


class BlockedError(LogDirError):
    """Something must be settled first."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        super().__init__("\n".join(plan.blockers))


class Progress:
    """Is told how far the copying is; does nothing by itself."""

    def begin(self, total_bytes: int) -> None:
        """Say how much there is to copy."""

    def advance(self, copied_bytes: int) -> None:
        """Say that some of it is done."""


@dataclass(frozen=True, kw_only=True)  # without slots, for the sake of the cached property
class DowngradeResult:
    """Where everything is. `nodes` has, for each node, its new log directories and what to configure."""

    plan: Plan
    out: Path
    bundle: Path
    ledger: Path
    nodes: tuple[dict[str, Any], ...]  # Any: JSON values

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Give the document of `downgrade --json`, which is the ledger too."""
        return self._document

    @cached_property
    def _document(self) -> dict[str, Any]:  # Any: same
        return self.plan.as_json() | {
            "out": str(self.out),
            "bundle": str(self.bundle),
            "ledger": str(self.ledger),
            "nodes": list(self.nodes),
        }


def downgrade(
    disk: Disk, plan: Plan, out: Path, *, unsafe: bool = False, progress: Progress | None = None
) -> DowngradeResult:
    """Write the result to `out`, which must not exist or be an empty folder; the source is only read.

    Raises BlockedError, DataWouldBeLostError (not with `unsafe`), OutputError, CorruptFileError.
    """
    _refuse(plan, unsafe=unsafe)
    progress = progress or Progress()
    nodes, bundle = _prepare(disk, plan)
    places = {log_dir: out / place for log_dir, place in out_names(nodes).items()}
    result = _result(plan, out, nodes, places)

    write_tree(nodes, out, more=_add_ledger(bundle, result), begin=progress.begin, advance=progress.advance)
    return result


def downgrade_in_place(disk: Disk, plan: Plan, out: Path | None = None, *, unsafe: bool = False) -> DowngradeResult:
    """Change the directories themselves, atomically; what is replaced goes to a backup beside each.

    Ledger and bundle go to `out`, by default beside the first metadata directory. Raises as `downgrade` does.
    """
    _refuse(plan, unsafe=unsafe)
    nodes, bundle = _prepare(disk, plan)
    folder = out or undo_folder(plan.cluster.nodes)
    result = _result(plan, folder, nodes, {each.log_dir: each.log_dir for node in nodes for each in node.log_dirs})
    change_in_place(nodes, folder, _add_ledger(bundle, result))
    return result


def undo_folder(nodes: Sequence[NodeDirs]) -> Path:
    """Say where a downgrade in place leaves ledger and bundle: beside the first node's metadata directory."""
    first = (nodes[0].metadata_dir or nodes[0].log_dirs[0]).path.resolve()
    return first.with_name(first.name + UNDO_SUFFIX)


def read_ledger(folder: Path) -> dict[str, Any]:  # Any: JSON values
    """Give the document that a downgrade left. Raises OSError, or LogDirError if it is damaged."""
    file = folder / LEDGER_FILE
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Any])  # Any: same
    except msgspec.MsgspecError as error:
        raise LogDirError(f"{file}: not a ledger: {error}") from error


def _add_ledger(bundle: Bundle, result: DowngradeResult) -> Callable[[Path], None]:
    def add(folder: Path) -> None:
        write_bundle(bundle, folder / undo_bundle.FILE_NAME)
        write_file(folder / LEDGER_FILE, _ledger(result))

    return add


def _refuse(plan: Plan, *, unsafe: bool) -> None:
    if plan.blockers:
        raise BlockedError(plan)
    if not plan.is_lossless and not unsafe:
        raise DataWouldBeLostError(plan)


def _prepare(disk: Disk, plan: Plan) -> tuple[list[NodeChanges], Bundle]:
    """Work out all changes, and what undoes them."""
    new = NewMetadata(
        values=partial(write_values, plan.cluster.image, plan.options),
        features=_features(plan),
        metadata_version=plan.target.metadata_version,
        release=plan.target.release,
        kraft=plan.kraft,
        voters=None if plan.cluster.log is None else plan.cluster.log.voters,
    )
    nodes = metadata_changes(plan.cluster, new)
    removed = _change_group_records(disk, plan, nodes)
    return nodes, _bundle(plan, removed)


def _features(plan: Plan) -> dict[str, int]:
    skipped = {"metadata.version", "kraft.version"}
    return {name: level for name, level in plan.features_after.items() if name not in skipped}


def _change_group_records(disk: Disk, plan: Plan, nodes: list[NodeChanges]) -> dict[str, tuple[RemovedBatch, ...]]:
    """Rewrite each replica that holds records to go or gets tombstones; give what was taken out, by directory name."""
    removed: dict[str, tuple[RemovedBatch, ...]] = {}
    for node in nodes:
        for changes in node.log_dirs:
            going, coming = plan.groups.removed_offsets(changes.log_dir), plan.tombstones.of(changes.log_dir)
            for name in sorted(going.keys() | coming.keys()):
                directory = str(changes.log_dir / name)
                files: dict[str, bytes] = {}
                if name in going:
                    rewrite = remove_records(disk, directory, going[name])
                    files |= rewrite.files
                    # Replicas hold the same batches; the longest one tells of all.
                    if len(rewrite.removed) > len(removed.get(name, ())):
                        removed[name] = rewrite.removed
                if name in coming:
                    files |= append_batches(disk, directory, coming[name], files)
                for file, data in files.items():
                    changes.write_bytes(f"{name}/{file}", data)
    return removed


def _with_orphans(
    removed: dict[str, tuple[RemovedBatch, ...]], orphans: Mapping[str, tuple[RemovedBatch, ...]]
) -> dict[str, tuple[RemovedBatch, ...]]:
    """Give what undo puts back: records that go, and those that a cleaner takes because of tombstones."""
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
    return DowngradeResult(
        plan=plan,
        out=out,
        bundle=out / undo_bundle.FILE_NAME,
        ledger=out / LEDGER_FILE,
        nodes=tuple(_node_result(plan, node, places) for node in nodes),
    )


def _node_result(plan: Plan, node: NodeChanges, places: dict[Path, Path]) -> dict[str, Any]:  # Any: JSON values
    found: dict[str, Any] = {  # Any: same
        "node_id": node.node_id,
        "log_dirs": [
            {"source": str(changes.log_dir), "path": str(places[changes.log_dir])} for changes in node.log_dirs
        ],
    }
    if plan.kraft.quorum_voters is not None:
        found["controller.quorum.voters"] = plan.kraft.quorum_voters
    return found


def _ledger(result: DowngradeResult) -> tuple[bytes]:
    return (msgspec.json.format(msgspec.json.encode(result.as_json()), indent=2) + b"\n",)
