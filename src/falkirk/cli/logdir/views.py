"""The output of `falkirk logdir`: text for people; the JSON documents come with the results."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from falkirk.cli.console.ledger_text import (
    SHOWN_PER_KIND,
    blocker_lines,
    change_lines,
    group_lines,
    listed,
    loss_lines,
    shortened,
    target_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.inspect import Inspection
    from falkirk.logdir.ledger import DowngradeLedger, PlanLedger
    from falkirk.logdir.plan import Plan
    from falkirk.logdir.undo import UndoResult
    from falkirk.logdir.verify import Verification
    from falkirk.metadata.image.difference import Difference


@dataclass(frozen=True, slots=True)
class InspectionView:
    """A `Result` of `inspect`."""

    inspection: Inspection

    def text(self) -> Iterator[str]:
        """Yield levels, counts, groups and problems."""
        found = self.inspection
        document = self.document()
        at, minimum = document["metadata_version"], document["minimum_version"]
        yield f"Cluster {document['cluster_id']}"
        for node in document["nodes"]:
            places = ", ".join(log_dir["path"] for log_dir in node["log_dirs"])
            mark = "  (its log counts)" if node["chosen"] else ""
            yield f"  node {node['node_id']} [{', '.join(node['roles']) or 'no role'}]: {places}{mark}"
        yield f"Metadata up to offset {document['end_offset']}, epoch {document['epoch']}"
        yield f"metadata.version {at['name']} (level {at['level']})" if at else "no metadata.version is finalized"
        others = [f"{name} {level}" for name, level in document["features"].items() if name != "metadata.version"]
        yield f"Features: {', '.join(others) or 'none'}"
        counts = dict(document["counts"])
        groups = counts.pop("groups")
        yield "Counts: " + ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)
        yield "Groups: " + (", ".join(f"{count} {kind}" for kind, count in groups.items() if count) or "none")
        yield from group_lines(f"To Kafka {found.release.word}", found.groups.reported())
        yield from loss_lines("Of the groups it would lose", found.groups.losses(), everything=False)
        yield f"Held without loss from {minimum['name']} (level {minimum['level']}) on"
        for because in minimum["because"][:SHOWN_PER_KIND]:
            yield f"  {because['key']}: {because['kind'].replace('_', ' ')}"
        more = minimum["because_count"] - min(len(minimum["because"]), SHOWN_PER_KIND)
        if more > 0:
            yield f"  and {more} more"
        yield from listed("Problems", found.problems)

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `inspect --json`."""
        return self.inspection.as_json()


@dataclass(frozen=True, slots=True)
class PlanView:
    """A `Result` of `plan`: what a downgrade would lose, convert and drop."""

    plan: Plan
    everything: bool = False

    def text(self) -> Iterator[str]:
        """Yield the levels, the ledger, and the verdict."""
        found = self.plan.ledger
        yield f"Cluster {found.cluster_id}: metadata.version {found.before.name} -> {target_text(found)}"
        yield from loss_lines("Would be lost", found.losses, everything=self.everything)
        yield from change_lines(found, everything=self.everything)
        left = [loss.detail for loss in found.inaccessible]
        yield from listed("Kept, but of no effect there", shortened(left, everything=self.everything))
        yield from group_lines("Groups that look different afterwards", found.groups)
        yield from listed("Good to know", found.warnings)
        yield from blocker_lines(found.blockers)
        if found.blockers:
            yield "Blocked."
        elif found.lossless:
            yield "Nothing would be lost."
        else:
            yield f"{len(found.losses)} things would be lost; `--unsafe` goes on, and keeps them in the undo bundle."

    def document(self) -> PlanLedger:
        """Return `plan --json`."""
        return self.plan.ledger


@dataclass(frozen=True, slots=True)
class DowngradeView:
    """A `Result` of `downgrade`: what was done, and what is left to do on each node."""

    found: DowngradeLedger
    in_place: bool
    everything: bool = False

    def text(self) -> Iterator[str]:
        """Yield the ledger, and the places of the result."""
        found = self.found
        yield f"Cluster {found.cluster_id}: metadata.version {found.before.name} -> {target_text(found)}, done"
        yield from loss_lines("Lost, and kept in the undo bundle", found.losses, everything=self.everything)
        yield from change_lines(found, everything=self.everything)
        yield from group_lines("Groups that look different afterwards", found.groups)
        yield from listed("Good to know", found.warnings)
        for node in found.nodes:
            yield f"node {node.node_id}: log.dirs={','.join(log_dir.path for log_dir in node.log_dirs)}"
            if node.quorum_voters is not None:
                yield f"        controller.quorum.voters={node.quorum_voters}"
        if self.in_place:
            yield "The files that were replaced are beside each log directory, in <name>.falkirk-backup"
        yield f"Ledger: {found.ledger}"
        yield f"Undo bundle: {found.bundle}"

    def document(self) -> DowngradeLedger:
        """Return `downgrade --json`, which is the ledger."""
        return self.found


@dataclass(frozen=True, slots=True)
class VerificationView:
    """A `Result` of `verify`."""

    found: Verification

    def text(self) -> Iterator[str]:
        """Yield problems, notes, and how much was checked."""
        document = self.document()
        checked = document["checked"]
        for problem in document["problems"]:
            yield f"{problem['kind']}: {problem['path']}: {problem['detail']}"
        yield from listed("Good to know", document["notes"])
        yield (
            f"Checked for Kafka {document['release']}: {checked['metadata_records']:,} metadata records, "
            f"{checked['segments']:,} segments, {checked['batches']:,} batches, {checked['data_bytes']:,} bytes of data"
        )
        count = len(document["problems"])
        yield "All is well." if document["ok"] else f"{count} {'problem' if count == 1 else 'problems'}."

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `verify --json`."""
        return self.found.as_json()


@dataclass(frozen=True, slots=True)
class UndoView:
    """A `Result` of `undo`."""

    result: UndoResult

    def text(self) -> Iterator[str]:
        """Yield what was restored, what was not, and the places of the result."""
        found = self.document()
        restored = found["restored"]
        yield f"Cluster {found['cluster_id']}: metadata.version {found['from']['name']} -> {found['to']['name']}, done"
        yield f"Brought back: {restored['objects']} objects, {restored['group_records']} group records"
        yield from listed("Newer, and left as it is", found["conflicts"])
        for node in found["nodes"]:
            yield f"node {node['node_id']}: log.dirs={','.join(node['log_dirs'])}"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `undo --json`."""
        return self.result.as_json()


@dataclass(frozen=True, slots=True)
class DifferenceView:
    """A `Result` of `diff`: what differs between two clusters' metadata."""

    found: list[Difference]
    a: Cluster
    b: Cluster

    def text(self) -> Iterator[str]:
        """Yield a block per kind: + new, - gone, ~ changed."""
        for kind, items in groupby(sorted(self.found, key=lambda item: item.kind), key=lambda item: item.kind):
            yield f"{kind.replace('_', ' ')}:"
            for item in items:
                yield f"  {_sign(item)} {item.key_text}{_change(item)}"
        if self.a.kraft_version != self.b.kraft_version:
            yield f"kraft.version: {self.a.kraft_version} -> {self.b.kraft_version}"
        if not self.found:
            yield "The metadata is the same."

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `diff --json`."""
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
