"""Each cluster's verdict: clear, lossy or blocked, and the reason in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from falkirk.ledger.findings import Blocker, BlockerKind, LedgerWarning
from falkirk.pipeline.reports.words import api_text, level_text, loss_words
from falkirk.versions.metadata_version import MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Row = dict[str, Any]  # Any: values of columns

CLEAR: Final = "clear"
LOSSY: Final = "lossy"
BLOCKED: Final = "blocked"
STATUSES: Final = {CLEAR: 0, LOSSY: 3, BLOCKED: 1}
"""Verdict -> exit status."""
_REASONS_MAX: Final = 3
_F = TypeVar("_F", Blocker, LedgerWarning)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One cluster's way to the target. `losses` and `changes` count by kind; changes cost nothing."""

    cluster: str
    from_level: int | None
    target: MetadataVersion
    losses: Mapping[str, int] = field(default_factory=dict)
    changes: Mapping[str, int] = field(default_factory=dict)
    blockers: Sequence[Blocker] = ()
    warnings: Sequence[LedgerWarning] = ()
    dropped_features: Sequence[str] = ()
    lowered_features: Sequence[str] = ()
    controller_quorum_voters: str | None = None

    @property
    def direction(self) -> str:
        """`up`, `down`, `there` (already at the target), or `unknown`."""
        if self.from_level is None:
            return "unknown"
        if self.from_level == self.target.level:
            return "there"
        return "up" if self.from_level < self.target.level else "down"

    @property
    def word(self) -> str:
        """`clear`, `lossy` or `blocked`."""
        if self.blockers:
            return BLOCKED
        return LOSSY if self.losses else CLEAR

    @property
    def summary(self) -> str:
        """The verdict in a sentence."""
        if self.blockers:
            more = len(self.blockers) - _REASONS_MAX
            reasons = "; ".join(blocker.text for blocker in self.blockers[:_REASONS_MAX])
            return f"blocked: {reasons}" + (f"; and {more} more" if more > 0 else "")
        if self.losses:
            kinds = "; ".join(f"{loss_words(kind).title} ({count:,})" for kind, count in sorted(self.losses.items()))
            return f"would lose: {kinds}"
        return {"there": "is there already", "up": "can go up"}.get(self.direction, "loses nothing")

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the verdict in the form of the report's JSON."""
        level = None if self.from_level is None else MetadataVersion.of_level(self.from_level)
        return {
            "cluster": self.cluster,
            "verdict": self.word,
            "status": STATUSES[self.word],
            "from": None if level is None else {"level": level.level, "name": str(level)},
            "direction": self.direction,
            "summary": self.summary,
            "losses": dict(sorted(self.losses.items())),
            "changes": dict(sorted(self.changes.items())),
            "blockers": [blocker.as_json() for blocker in self.blockers],
            "warnings": [warning.as_json() for warning in self.warnings],
            "dropped_features": list(self.dropped_features),
            "lowered_features": list(self.lowered_features),
            "controller_quorum_voters": self.controller_quorum_voters,
        }


def make_verdicts(
    target: MetadataVersion,
    verdicts: Iterable[Row],
    node_blockers: Iterable[Row],
    client_changes: Iterable[Row],
    problems: Mapping[str, int],
) -> list[Verdict]:
    """Combine the findings on stopped directories, running nodes and clients; sorted by cluster.

    For a cluster below the target only its nodes and clients count: nothing is written at a lower level. A directory
    that could not be read may belong to an unknown cluster: that blocks too. `problems` counts them by cluster.
    """
    by_nodes = _by_cluster((row["cluster"], _node_blocker(row)) for row in node_blockers if row["feature"] is not None)
    by_clients = _by_cluster((row["cluster"], _client_blocker(row)) for row in client_changes if row["is_blocker"])
    found = []
    for row in verdicts:
        cluster, level = row["cluster"], row["from_level"]
        is_up = level is not None and level < target.level
        blocking = [*by_nodes.pop(cluster, ()), *by_clients.pop(cluster, ())]
        found.append(
            Verdict(
                cluster=cluster,
                from_level=level,
                target=target,
                losses={} if is_up else row["losses"],
                changes={} if is_up else _changes(row),
                blockers=[*([] if is_up else _read_findings(row["blockers"], Blocker)), *blocking],
                warnings=_read_findings(row["warnings"], LedgerWarning),
                dropped_features=[] if is_up else row["dropped_features"],
                lowered_features=[] if is_up else row["lowered_features"],
                controller_quorum_voters=row["controller_quorum_voters"],
            )
        )
    known = {verdict.cluster for verdict in found}
    unread = {cluster: count for cluster, count in problems.items() if cluster not in known}
    for cluster in sorted({*unread, *by_clients} - known):
        blocking = [*by_clients.get(cluster, ())]
        if cluster in unread:
            blocking.append(_unreadable(unread[cluster]))
        found.append(Verdict(cluster=cluster, from_level=None, target=target, blockers=blocking))
    return sorted(found, key=lambda verdict: verdict.cluster)


def _changes(row: Row) -> dict[str, int]:
    counts = {**row["changes"], **row["inaccessible"]}
    for kind, features in (("feature_dropped", row["dropped_features"]), ("feature_lowered", row["lowered_features"])):
        if features:
            counts[kind] = len(features)
    return counts


def _read_findings(rows: Iterable[Row], kind: type[_F]) -> list[_F]:
    return [msgspec.convert({**row, "fields": msgspec.json.decode(row["fields"])}, kind) for row in rows]


def _by_cluster(found: Iterable[tuple[str, Blocker]]) -> dict[str, list[Blocker]]:
    by_cluster: dict[str, list[Blocker]] = {}
    for cluster, blocker in found:
        of_cluster = by_cluster.setdefault(cluster, [])
        if blocker not in of_cluster:
            of_cluster.append(blocker)
    return by_cluster


def _node_blocker(row: Row) -> Blocker:
    node, feature = f"{row['role']} {row['node_id']}", row["feature"]
    level, lowest, highest = (level_text(feature, row[name]) for name in ("level", "min_supported", "max_supported"))
    text = f"{node} supports {feature} {lowest} to {highest}, and {level} is needed"
    if highest is None:
        text = f"{node} does not know {feature}, and level {level} is needed"
    names = ("role", "node_id", "feature", "level", "min_supported", "max_supported")
    return Blocker(kind=BlockerKind.UNSUPPORTING_NODE, fields={name: row[name] for name in names}, text=text)


def _client_blocker(row: Row) -> Blocker:
    client = row["software_name"] or row["client_id"] or row["principal"] or "a client"
    return Blocker(
        kind=BlockerKind.UNSUPPORTED_CLIENT,
        fields={"client": client, "api": row["api"], "api_version": row["api_version"]},
        text=f"{client} stops working: it uses {api_text(row['api'], row['api_key'], row['api_version'])}",
    )


def _unreadable(count: int) -> Blocker:
    return Blocker(
        kind=BlockerKind.UNREADABLE_METADATA,
        fields={"problems": count},
        text=f"{count:,} problem{'' if count == 1 else 's'}, and no metadata was read",
    )
