"""The output of `falkirk lift status`, and the lines that `run` prints as it goes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from falkirk.operations.lift_findings import level_name
from falkirk.versions.metadata_version import MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.lift.journal import Entry
    from falkirk.lift.lift import LiftStatus


@dataclass(frozen=True, slots=True)
class StatusView:
    """A `Result` of `lift status`."""

    status: LiftStatus

    def text(self) -> Iterator[str]:
        """Yield where the lift is, the level, the voters, and the steps so far."""
        found = self.status
        if found.originals is None:
            yield "The lift has not begun."
            return
        events = {entry.event for entry in found.entries}
        state = "has ended" if "finished" in events else "was given up" if found.is_over else "is under way"
        yield f"Cluster {found.originals.cluster_id}: the lift to {found.originals.target} {state}."
        yield from _what_to_do(found)
        yield f"metadata.version: {found.level or 'not known: no broker answers'}"
        if found.quorum is None:
            yield "quorum: no controller answers as its leader"
        else:
            voters = ", ".join(map(str, sorted(found.quorum.voters)))
            yield f"quorum: leader {found.quorum.leader_id}, epoch {found.quorum.leader_epoch}, voters {voters}"
        before = ", ".join(str(voter.node_id) for voter in found.originals.voters)
        yield f"voters before the lift: {before}"
        yield from _roll_lines(found)
        for entry in found.entries:
            yield entry_text(entry)

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `lift status --json`."""
        found = self.status
        quorum = found.quorum
        return {
            "begun": found.originals is not None,
            "over": found.is_over,
            "level": found.level,
            "quorum": None
            if quorum is None
            else {
                "leader_id": quorum.leader_id,
                "leader_epoch": quorum.leader_epoch,
                "voters": sorted(quorum.voters),
                "observers": sorted(quorum.observers),
            },
            "originals": msgspec.to_builtins(found.originals),
            "nodes": [
                {"node_id": node.node_id, "highest_level": node.highest_level, "on_target": node.is_on_target}
                for node in found.nodes
            ],
            "entries": msgspec.to_builtins(found.entries),
        }


def _what_to_do(found: LiftStatus) -> Iterator[str]:
    """Yield what goes on with a lift that no command works on."""
    if found.is_over:
        return
    assert found.originals is not None, "it is under way"
    level = None if found.level is None else MetadataVersion.parse(found.level)
    if found.quorum is None:
        yield (
            "No controller leads: brokers serve data, but nothing can be created or elected. `falkirk lift run` starts "
            "what is missing and goes on."
        )
    elif level is not None and level <= MetadataVersion.parse(found.originals.target):
        yield "The level is low: `falkirk lift run` goes on."
    else:
        yield "`falkirk lift run` goes on; `falkirk lift abort` gives the quorum back as it was."


def _roll_lines(found: LiftStatus) -> Iterator[str]:
    for node in found.nodes:
        if node.highest_level is None:
            yield f"node {node.node_id}: does not answer"
        else:
            what = "older binaries" if node.is_on_target else "newer binaries"
            yield f"node {node.node_id}: {what}, up to metadata.version {level_name(node.highest_level)}"


def entry_text(entry: Entry) -> str:
    """Return one line for an entry of the journal, with its time in UTC."""
    at = datetime.fromtimestamp(entry.at_ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
    what = entry.event if entry.step is None else f"{entry.step} {entry.event}"
    return f"{at} {what}{_details(entry)}"


def _details(entry: Entry) -> str:
    fields = entry.fields
    match entry.event:
        case "done":
            silent = fields.get("longest_interruption_s")
            outage = "" if silent is None else f", longest time without a metadata write {silent} s"
            return f" after {fields.get('duration_s')} s{outage}"
        case "originals":
            voters = ", ".join(str(voter["node_id"]) for voter in fields["voters"])
            text = f"cluster {fields['cluster_id']}, voters {voters}, to {fields['target']}"
        case "hook-begun":
            text = f"{fields['hook']} of node {fields['node_id']}"
        case "to-roll":
            nodes = ", ".join(map(str, fields["nodes"]))
            text = (
                f"restart with Kafka {fields['release']}, one by one when all partitions are in sync, each after "
                f"`falkirk lift prepare`: {nodes}; `falkirk lift status` shows which are done"
            )
        case "level-lowered":
            text = f"{len(fields['losses'])} losses"
        case _:
            text = next((fields[name] for name in ("reason", "path", "text") if fields.get(name)), "")
    return f": {text}" if text else ""
