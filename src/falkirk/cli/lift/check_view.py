"""The output of `falkirk lift check`: the verdict first, then what it rests on, then the way."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from falkirk.cli.console.ledger_text import blocker_lines, change_lines, group_lines, listed, loss_lines, shortened
from falkirk.operations.lift_findings import level_name
from falkirk.versions.release import TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.operations.lift_check import LiftCheck
    from falkirk.operations.lift_way import Step


@dataclass(frozen=True, slots=True)
class CheckView:
    """A `Result` of `lift check`. `is_kept`: the fetched logs stay."""

    check: LiftCheck
    is_kept: bool
    everything: bool = False

    def text(self) -> Iterator[str]:
        """Yield the verdict, what is in the way, the losses, the cluster, the way, and what was not seen."""
        found = self.check
        yield f"Cluster {found.observation.cluster_id}: metadata.version {found.level or 'not known'} -> {found.target}"
        yield self._verdict()
        yield from blocker_lines(found.blockers)
        yield from self._ledger()
        yield from listed("Good to know", found.warnings)
        document = found.as_json()
        yield from _quorum(document["quorum"])
        yield from _nodes(document["nodes"])
        yield from self._groups()
        yield from self._way()
        yield from listed("Not seen", found.observation.unseen)
        yield from listed("Missing for `falkirk lift run`", found.observation.missing_rights)
        if self.is_kept and found.observation.directory is not None:
            yield f"Fetched logs: {found.observation.directory}"

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `lift check --json`."""
        document = self.check.as_json()
        return document if self.is_kept else document | {"directory": None}

    def _verdict(self) -> str:
        found = self.check
        if found.blockers:
            count = len(found.blockers)
            return f"Blocked: {count} {'thing is' if count == 1 else 'things are'} in the way."
        if found.is_lossless:
            return "Nothing is in the way, and nothing would be lost."
        assert found.logs is not None, "what is not known is in the way"
        count = len(found.logs.plan.losses) + len(found.cut_off)
        return f"Nothing is in the way; {count} {'thing' if count == 1 else 'things'} would be lost."

    def _ledger(self) -> Iterator[str]:
        logs = self.check.logs
        if logs is None:
            return
        ledger = logs.plan.ledger
        yield from loss_lines("Would be lost", ledger.losses, everything=self.everything)
        cut_off = [loss.detail for loss in self.check.cut_off]
        yield from listed("Would be cut off", shortened(cut_off, everything=self.everything))
        yield from change_lines(ledger, everything=self.everything)
        left = [loss.detail for loss in ledger.inaccessible]
        yield from listed("Kept, but of no effect there", shortened(left, everything=self.everything))
        yield from group_lines("Groups that look different afterwards", ledger.groups)
        shown = [
            f"{each.transactional_id}: {each.state} ({TRANSACTION_STATE}-{each.partition})"
            for each in logs.transactions
        ]
        yield from listed("Open transactions", shortened(shown, everything=self.everything))

    def _groups(self) -> Iterator[str]:
        groups = self.check.observation.groups
        counts = Counter(f"{group.type or 'group'} {group.state or ''}".strip().lower() for group in groups)
        shown = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        yield f"Groups: {shown or 'none'}"

    def _way(self) -> Iterator[str]:
        way = self.check.way
        if way is None:
            return
        for number, each in enumerate(way.possible):
            yield f"{'Possible, too' if number else 'The way'}: {each.kind}"
            yield f"  needs {each.needs}"
            if each.place is not None:
                yield f"  `falkirk lift run` goes it with `place: {each.place}`, in these steps:"
            yield from _steps(each.steps)
        yield from listed("Not possible", way.refused)


def _steps(steps: Iterable[Step]) -> Iterator[str]:
    for number, step in enumerate(steps, start=1):
        yield f"  {number}. {step.action}"
        yield f"     interruption: {step.interruption}"


def _quorum(quorum: dict[str, Any] | None) -> Iterator[str]:  # Any: JSON values
    if quorum is None:
        return
    yield (
        f"Quorum: kraft.version {quorum['kraft_version']}, leader {quorum['leader_id']}, "
        f"epoch {quorum['leader_epoch']}, high watermark {quorum['high_watermark']}"
    )
    for voter in quorum["voters"]:
        directory = "" if voter["directory_id"] is None else f", directory {voter['directory_id']}"
        yield f"  voter {voter['node_id']} at {voter['endpoint'] or 'an unknown address'}{directory}"
    yield f"  observers {', '.join(map(str, quorum['observers'])) or 'none'}"


def _nodes(nodes: list[dict[str, Any]]) -> Iterator[str]:  # Any: JSON values
    yield "Nodes:"
    for node in nodes:
        roles = " and ".join(role for role in ("broker", "controller") if node[role])
        levels = node["metadata_version"]
        supported = "does not answer" if not node["answers"] else "no metadata.version"
        if levels is not None:
            supported = f"{level_name(levels[0])} to {level_name(levels[1])}"
        marks = "".join(
            f", {mark}" for mark, holds in (("fenced", node["fenced"]), ("bootstrap", node["at_bootstrap"])) if holds
        )
        yield f"  {node['node_id']} {roles} at {node['endpoint'] or 'an unknown address'}: {supported}{marks}"
