"""How the results of `falkirk logdir` look: text for people; their JSON documents come with the results."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import RenderableType

    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.inspect import Inspection
    from falkirk.logdir.plan import Plan
    from falkirk.logdir.undo import UndoResult
    from falkirk.logdir.verify import Verification
    from falkirk.metadata.difference import Difference

# Of each kind of loss, unless all are asked for.
_SHOWN_PER_KIND = 5


@dataclass(frozen=True, slots=True)
class InspectionView:
    """What directories hold."""

    inspection: Inspection

    def text(self) -> Iterator[str | RenderableType]:
        """Print levels, counts, groups and problems."""
        found = self.document()
        at, minimum = found["metadata_version"], found["minimum_version"]
        yield f"Cluster {found['cluster_id']}"
        for node in found["nodes"]:
            places = ", ".join(log_dir["path"] for log_dir in node["log_dirs"])
            mark = "  (its log counts)" if node["chosen"] else ""
            yield f"  node {node['node_id']} [{', '.join(node['roles']) or 'no role'}]: {places}{mark}"
        yield f"Metadata up to offset {found['end_offset']}, epoch {found['epoch']}"
        yield f"metadata.version {at['name']} (level {at['level']})" if at else "no metadata.version is finalized"
        others = [f"{name} {level}" for name, level in found["features"].items() if name != "metadata.version"]
        yield f"Features: {', '.join(others) or 'none'}"
        counts = dict(found["counts"])
        groups = counts.pop("groups")
        yield "Counts: " + ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)
        yield "Groups: " + (", ".join(f"{count} {kind}" for kind, count in groups.items() if count) or "none")
        yield from _groups(f"To Kafka {found['release'].rpartition('.')[0]}", found["groups"])
        yield from _ledger("Of the groups it would lose", found["group_losses"], everything=False)
        yield f"Held without loss from {minimum['name']} (level {minimum['level']}) on"
        for because in minimum["because"][:_SHOWN_PER_KIND]:
            yield f"  {because['key']}: {because['kind'].replace('_', ' ')}"
        more = minimum["because_count"] - min(len(minimum["because"]), _SHOWN_PER_KIND)
        if more > 0:
            yield f"  and {more} more"
        yield from _listed("Problems", found["problems"])

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Give `inspect --json`."""
        return self.inspection.as_json()


@dataclass(frozen=True, slots=True)
class PlanView:
    """The ledger: what a downgrade would lose, convert and drop."""

    plan: Plan
    everything: bool = False

    def text(self) -> Iterator[str | RenderableType]:
        """Print the way, the ledger, and what comes of it."""
        plan, found = self.plan, self.document()
        yield f"Cluster {found['cluster_id']}: metadata.version {found['from']['name']} -> {_target(found)}"
        yield from _ledger("Would be lost", found["losses"], everything=self.everything)
        yield from _listed("Converted", _shortened(found["conversions"], everything=self.everything))
        yield from _listed("Dropped features", found["features"]["reasons"])
        left = [str(loss["detail"]) for loss in found["inaccessible"]]
        yield from _listed("Kept, but of no effect there", _shortened(left, everything=self.everything))
        yield from _groups("Groups that look different afterwards", found["groups"])
        yield from _listed("Good to know", found["warnings"])
        yield from _listed("In the way", found["blockers"])
        if plan.blockers:
            yield "Blocked."
        elif plan.is_lossless:
            yield "Nothing would be lost."
        else:
            yield f"{len(found['losses'])} things would be lost; `--unsafe` goes on, and keeps them in the undo bundle."

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Give `plan --json`."""
        return self.plan.as_json()


@dataclass(frozen=True, slots=True)
class DowngradeView:
    """What a downgrade did, and what is left to do on each node."""

    found: dict[str, Any]  # Any: JSON values
    in_place: bool
    everything: bool = False

    def text(self) -> Iterator[str | RenderableType]:
        """Print the ledger of what was done, and where everything is."""
        found = self.found
        yield f"Cluster {found['cluster_id']}: metadata.version {found['from']['name']} -> {_target(found)}, done"
        yield from _ledger("Lost, and kept in the undo bundle", found["losses"], everything=self.everything)
        yield from _listed("Converted", _shortened(found["conversions"], everything=self.everything))
        yield from _listed("Dropped features", found["features"]["reasons"])
        yield from _groups("Groups that look different afterwards", found["groups"])
        yield from _listed("Good to know", found["warnings"])
        for node in found["nodes"]:
            places = ",".join(log_dir["path"] for log_dir in node["log_dirs"])
            yield f"node {node['node_id']}: log.dirs={places}"
            if "controller.quorum.voters" in node:
                yield f"        controller.quorum.voters={node['controller.quorum.voters']}"
        if self.in_place:
            yield "The files that were replaced are beside each log directory, in <name>.falkirk-backup"
        yield f"Ledger: {found['ledger']}"
        yield f"Undo bundle: {found['bundle']}"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Give `downgrade --json`, which is the ledger."""
        return self.found


@dataclass(frozen=True, slots=True)
class VerificationView:
    """What a check found."""

    found: Verification

    def text(self) -> Iterator[str | RenderableType]:
        """Print problems, notes, and how much was checked."""
        document = self.document()
        checked = document["checked"]
        for problem in document["problems"]:
            yield f"{problem['kind']}: {problem['path']}: {problem['detail']}"
        yield from _listed("Good to know", document["notes"])
        yield (
            f"Checked for Kafka {document['release']}: {checked['metadata_records']:,} metadata records, "
            f"{checked['segments']:,} segments, {checked['batches']:,} batches, {checked['data_bytes']:,} bytes of data"
        )
        count = len(document["problems"])
        yield "All is well." if document["ok"] else f"{count} {'problem' if count == 1 else 'problems'}."

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Give `verify --json`."""
        return self.found.as_json()


@dataclass(frozen=True, slots=True)
class UndoView:
    """What an undo brought back."""

    result: UndoResult

    def text(self) -> Iterator[str | RenderableType]:
        """Print what came back, what did not, and where everything is."""
        found = self.document()
        restored = found["restored"]
        yield f"Cluster {found['cluster_id']}: metadata.version {found['from']['name']} -> {found['to']['name']}, done"
        yield f"Brought back: {restored['objects']} objects, {restored['group_records']} group records"
        yield from _listed("Newer, and left as it is", found["conflicts"])
        for node in found["nodes"]:
            yield f"node {node['node_id']}: log.dirs={','.join(node['log_dirs'])}"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Give `undo --json`."""
        return self.result.as_json()


@dataclass(frozen=True, slots=True)
class DifferenceView:
    """What differs between two clusters' metadata."""

    found: list[Difference]
    a: Cluster
    b: Cluster

    def text(self) -> Iterator[str | RenderableType]:
        """Print a block per kind: + new, - gone, ~ changed."""
        for kind, items in groupby(sorted(self.found, key=lambda item: item.kind), key=lambda item: item.kind):
            yield f"{kind.replace('_', ' ')}:"
            for item in items:
                yield f"  {_sign(item)} {item.key_text}{_change(item)}"
        if self.a.kraft_version != self.b.kraft_version:
            yield f"kraft.version: {self.a.kraft_version} -> {self.b.kraft_version}"
        if not self.found:
            yield "The metadata is the same."

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Give `diff --json`."""
        return {
            "a": _identity(self.a),
            "b": _identity(self.b),
            "same": not self.found,
            "counts": dict(Counter(item.kind for item in self.found)),
            "differences": [
                {
                    "kind": item.kind,
                    "key": item.key_text,
                    "key_fields": item.key.fields(),
                    "before": None if item.before is None else dict(item.before),
                    "after": None if item.after is None else dict(item.after),
                }
                for item in self.found
            ],
        }


def _identity(cluster: Cluster) -> dict[str, Any]:  # Any: JSON values
    at = cluster.image.features.metadata_version
    return {
        "cluster_id": cluster.cluster_id,
        "metadata_version": None if at is None else str(at),
        "kraft_version": cluster.kraft_version,
        "epoch": cluster.epoch,
        "end_offset": cluster.end_offset,
    }


def _sign(item: Difference) -> str:
    if item.before is None:
        return "+"
    return "-" if item.after is None else "~"


def _change(item: Difference) -> str:
    if item.before is None or item.after is None:
        return ""
    return ": " + ", ".join(f"{name} {item.before.get(name)} -> {value}" for name, value in item.after.items())


def _listed(title: str, items: Iterable[str]) -> Iterator[str]:
    items = list(items)
    if items:
        yield f"{title}:"
        yield from (f"  {item}" for item in items)


def _shortened(items: list[str], *, everything: bool) -> list[str]:
    shown = len(items) if everything else 2 * _SHOWN_PER_KIND
    more = len(items) - shown
    return items[:shown] + ([f"and {more} more (--all lists them)"] if more > 0 else [])


def _target(found: dict[str, Any]) -> str:  # Any: JSON values
    return f"{found['to']['name']} (Kafka {found['to']['release'].rpartition('.')[0]})"


def _ledger(title: str, losses: list[dict[str, Any]], *, everything: bool) -> Iterator[str]:  # Any: JSON values
    """Give the losses by kind: what it means, then each object and where it was written."""
    if not losses:
        return
    yield f"{title}: {len(losses)}"
    by_kind = sorted(losses, key=lambda loss: str(loss["kind"]))
    for kind, group in groupby(by_kind, key=lambda loss: str(loss["kind"])):
        items = list(group)
        meaning = _meaning(items[0])
        yield f"  {kind.replace('_', ' ')} ({len(items)}): {meaning}"
        shown = items if everything else items[:_SHOWN_PER_KIND]
        width = max(len(str(loss["key"])) for loss in shown)
        for loss in shown:
            where = "" if loss["offset"] is None else f" at offset {loss['offset']}"
            yield f"    {loss['key']!s:{width}}  {loss['record']}{where}"
            if _meaning(loss) != meaning:
                yield f"      {_meaning(loss)}"
        if len(shown) < len(items):
            yield f"    and {len(items) - len(shown)} more (--all lists them)"


def _meaning(loss: dict[str, Any]) -> str:  # Any: JSON values
    """Give what a loss means without the object's name in front."""
    return str(loss["detail"]).removeprefix(str(loss["key"])).lstrip(": ")


def _groups(title: str, groups: list[dict[str, Any]]) -> Iterator[str]:  # Any: JSON values
    """Give the groups that a release sees otherwise than they are."""
    changed = [group for group in groups if group.get("verdict") not in (None, "readable")]
    yield from _listed(
        title,
        [f"{group['group']} ({group['type']}): {group['detail']}" for group in changed],
    )
