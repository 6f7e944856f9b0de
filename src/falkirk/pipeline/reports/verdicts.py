"""What becomes of each cluster: clear, lossy or blocked, and why, in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from falkirk.versions.metadata_version import MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Row = dict[str, Any]  # Any: values of columns

CLEAR: Final = "clear"
LOSSY: Final = "lossy"
BLOCKED: Final = "blocked"
STATUSES: Final = {CLEAR: 0, LOSSY: 3, BLOCKED: 1}
"""Word -> exit status."""
_REASONS_MAX: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One cluster on its way to the target. `losses` counts by kind; `blockers` are sentences."""

    cluster: str
    from_level: int | None
    target: MetadataVersion
    losses: Mapping[str, int] = field(default_factory=dict)
    blockers: Sequence[str] = ()
    warnings: Sequence[str] = ()
    dropped_features: Sequence[str] = ()
    controller_quorum_voters: str | None = None

    @property
    def direction(self) -> str:
        """Say where the target lies: `up`, `down`, `there` (already at it), or `unknown`."""
        if self.from_level is None:
            return "unknown"
        if self.from_level == self.target.level:
            return "there"
        return "up" if self.from_level < self.target.level else "down"

    @property
    def word(self) -> str:
        """Say whether the cluster is clear, lossy or blocked."""
        if self.blockers:
            return BLOCKED
        return LOSSY if self.losses else CLEAR

    @property
    def summary(self) -> str:
        """Say it in a sentence."""
        if self.blockers:
            more = len(self.blockers) - _REASONS_MAX
            told = "; ".join(self.blockers[:_REASONS_MAX])
            return f"blocked: {told}" + (f"; and {more} more" if more > 0 else "")
        if self.losses:
            kinds = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in sorted(self.losses.items()))
            return f"would lose {sum(self.losses.values()):,}: {kinds}"
        return {"there": "is there already", "up": "can go up"}.get(self.direction, "loses nothing")

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Give it as the report's JSON has it."""
        level = None if self.from_level is None else MetadataVersion.of_level(self.from_level)
        return {
            "cluster": self.cluster,
            "verdict": self.word,
            "status": STATUSES[self.word],
            "from": None if level is None else {"level": level.level, "name": str(level)},
            "direction": self.direction,
            "summary": self.summary,
            "losses": dict(sorted(self.losses.items())),
            "blockers": list(self.blockers),
            "warnings": list(self.warnings),
            "dropped_features": list(self.dropped_features),
            "controller_quorum_voters": self.controller_quorum_voters,
        }


def make_verdicts(
    target: MetadataVersion,
    verdicts: Iterable[Row],
    node_blockers: Iterable[Row],
    client_changes: Iterable[Row],
    problems: Mapping[str, int],
) -> list[Verdict]:
    """Bring together what stopped directories, running nodes and clients say; by cluster.

    Where the target is above a cluster, what counts is its nodes and clients: nothing is written at a lower level. A
    directory that could not be read may be of a cluster that nobody knows: that blocks too. `problems` counts them by
    cluster.
    """
    by_nodes = _sentences(node_blockers, _node_sentence)
    by_clients = _sentences((row for row in client_changes if row["is_blocker"]), _client_sentence)
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
                blockers=[*([] if is_up else row["blockers"]), *blocking],
                warnings=row["warnings"],
                dropped_features=[] if is_up else row["dropped_features"],
                controller_quorum_voters=row["controller_quorum_voters"],
            )
        )
    known = {verdict.cluster for verdict in found}
    found += [
        Verdict(cluster=cluster, from_level=None, target=target, blockers=[*by_clients.get(cluster, ()), *told])
        for cluster, told in sorted(_unreadable(problems, known, by_clients).items())
    ]
    return sorted(found, key=lambda verdict: verdict.cluster)


def _sentences(rows: Iterable[Row], sentence: Any) -> dict[str, list[str]]:  # Any: a function of a row
    found: dict[str, list[str]] = {}
    for row in rows:
        told = sentence(row)
        of_cluster = found.setdefault(row["cluster"], [])
        if told is not None and told not in of_cluster:
            of_cluster.append(told)
    return found


def _node_sentence(row: Row) -> str | None:
    if row["feature"] is None:
        return None  # a ghost that is in nobody's way yet
    node, feature, level = f"{row['role']} {row['node_id']}", row["feature"], row["level"]
    if row["max_supported"] is None:
        return f"{node} does not know {feature}, and level {level} is needed"
    return f"{node} supports {feature} {row['min_supported']} to {row['max_supported']}, and {level} is needed"


def _client_sentence(row: Row) -> str | None:
    who = row["software_name"] or row["client_id"] or row["principal"] or "a client"
    return f"{who} stops working: it uses {row['api']} {row['api_version']}"


def _unreadable(problems: Mapping[str, int], known: set[str], by_clients: Mapping[str, object]) -> dict[str, list[str]]:
    """Give clusters of which no metadata was read, with what is told of them."""
    found: dict[str, list[str]] = {cluster: [] for cluster in by_clients if cluster not in known}
    for cluster, count in problems.items():
        if cluster not in known:
            found[cluster] = [f"{count:,} problem{'' if count == 1 else 's'}, and no metadata was read"]
    return found
