"""Answers of a fleet as a report's folder has them, made without Spark, and what is true of them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from falkirk.pipeline.reports.answers import Answers
from falkirk.pipeline.tables.trends import TRENDS

if TYPE_CHECKING:
    from pathlib import Path

TIME = pa.timestamp("us", "UTC")
COUNTS = pa.map_(pa.string(), pa.int64())
TYPES = pa.map_(pa.int16(), pa.int64())
FINDINGS = pa.list_(pa.struct([("kind", pa.string()), ("fields", pa.string()), ("text", pa.string())]))


def _columns(texts="", **others):
    return {"cluster": pa.string()} | dict.fromkeys(texts.split(), pa.string()) | others


SCHEMAS = {
    "verdicts": _columns(
        "controller_quorum_voters", from_level=pa.int32(), losses=COUNTS, changes=COUNTS, inaccessible=COUNTS,
        dropped_features=pa.list_(pa.string()), lowered_features=pa.list_(pa.string()), blockers=FINDINGS,
        warnings=FINDINGS,
    ),
    "levels": _columns(
        "cluster_id metadata_version owner team region environment", level=pa.int32(),
        releases=pa.list_(pa.string()), last_timestamp=TIME,
    ),
    "feature_levels": _columns(
        "feature", from_level=pa.int32(), to_level=pa.int32(), offset=pa.int64(), timestamp=TIME
    ),
    "losses": _columns("outcome kind key record source detail", offset=pa.int64()),
    "minimum_versions": _columns("metadata_version", level=pa.int32()),
    "points_of_no_return": _columns(
        "kind record key", from_level=pa.int32(), to_level=pa.int32(), upgrade_offset=pa.int64(),
        upgrade_timestamp=TIME, offset=pa.int64(), timestamp=TIME,
    ),
    "blockers": _columns(
        "role feature what_to_do", node_id=pa.int32(), level=pa.int32(), min_supported=pa.int32(),
        max_supported=pa.int32(), fenced_since=TIME, is_ghost=pa.bool_(),
    ),
    "forgotten_finalisations": _columns("feature", finalized_level=pa.int32(), highest_level=pa.int32()),
    "groups": _columns(
        "group type verdict detail", members_by_protocol=COUNTS, committed_offsets=pa.int64()
    ),
    "group_partitions": _columns(
        "first_failing_reason", partition=pa.int32(), load_fails=pa.bool_(), skipped=TYPES, orphaned=TYPES,
        unknown_types=TYPES, tombstones=pa.int64(), needs_attention=pa.bool_(),
    ),
    "api_usage": _columns(
        "software_name software_version api", api_version=pa.int32(), requests=pa.int64(), is_inter_broker=pa.bool_(),
        is_forwarded=pa.bool_(),
    ),
    "client_changes": _columns(
        "software_name software_version client_id principal api detail what_to_do", api_key=pa.int32(),
        api_version=pa.int32(), is_blocker=pa.bool_(),
    ),
    "feature_use": _columns(
        "feature used_by unit", level=pa.int32(), needed_level=pa.int32(), count=pa.int64(), last_timestamp=TIME
    ),
    "client_days": _columns(
        "software_name software_version", day=pa.date32(), requests=pa.int64(), client_ids=pa.int64(),
        connections=pa.int64(),
    ),
    "trends": {"cluster": pa.string()} | {field.name: field.type for field in TRENDS.schema},
    "problems": _columns("source kind detail", position=pa.int64(), count=pa.int64()),
}  # fmt: skip
"""Answer -> its columns, those that a report reads."""


def write_answers(folder: Path, rows: dict[str, list[dict]]) -> Answers:
    """Write answers with these rows, the others without any; a row may leave columns out."""
    for name, columns in SCHEMAS.items():
        (folder / name).mkdir(parents=True)
        table = pa.Table.from_pylist(rows.get(name, []), pa.schema(columns))
        parquet.write_table(table, folder / name / "part.parquet")
    return Answers(folder)


@dataclass
class MadeFleet:
    """`rows` are those of the answers; the others say what is true of the fleet."""

    rows: dict[str, list[dict]] = field(default_factory=dict)
    losses: Counter = field(default_factory=Counter)
    changes: Counter = field(default_factory=Counter)
    words: dict[str, str] = field(default_factory=dict)
    teams: dict[str, str] = field(default_factory=dict)

    def add(self, answer: str, **row) -> None:
        """Add a row to an answer."""
        self.rows.setdefault(answer, []).append(row)


# Each is a name that a careless page would run, or close a tag with.
HOSTILE = (
    "<script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "</style></script><b>bold",
    '=HYPERLINK("http://example.com","x")',
    "../../../evil",
    "{{ 7 * 7 }}",
    "a\u202eb\n\tc & d",
)
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def made_fleet(clusters: int, seed: int = 1) -> MadeFleet:
    """Make up the answers of a fleet for a move to 3.9; the last clusters have hostile names."""
    chance = random.Random(seed)
    fleet = MadeFleet()
    for number in range(clusters):
        hostile = clusters - number
        name = HOSTILE[hostile - 1] if clusters > 2 and hostile <= len(HOSTILE) else f"cluster-{number:05}"
        _add_cluster(fleet, name, chance)
    return fleet


def _add_cluster(fleet: MadeFleet, cluster: str, chance: random.Random) -> None:
    lost, changed = chance.choice([0, 0, 0, 7]), chance.choice([0, 3])
    is_blocked, is_noticed = chance.random() < 0.1, chance.random() < 0.3
    level = 25 if lost else 29
    fleet.words[cluster] = "blocked" if is_blocked else "lossy" if lost else "clear"
    fleet.losses.update({"cidr_deny_acl": lost})
    fleet.changes.update({"elr_to_isr": changed})
    of = {"cluster": cluster}
    fleet.add(
        "verdicts", **of, from_level=level, losses=[("cidr_deny_acl", lost)] if lost else [],
        changes=[("elr_to_isr", changed)] if changed else [], inaccessible=[], dropped_features=[],
        lowered_features=[], blockers=[], warnings=[],
    )  # fmt: skip
    team = fleet.teams[cluster] = f"team {len(fleet.teams) % 3}"
    fleet.add(
        "levels", **of, cluster_id="x" * 22, level=level, releases=["4.0", "4.2"], last_timestamp=BEGIN, team=team
    )
    fleet.add("minimum_versions", **of, metadata_version="3.7-IV0", level=15)
    day = BEGIN + timedelta(days=chance.randrange(200))
    for before, after, at in ((None, 21, BEGIN), (21, level, day)):
        fleet.add(
            "feature_levels",
            **of,
            feature="metadata.version",
            from_level=before,
            to_level=after,
            offset=5,
            timestamp=at,
        )
    for kind, outcome, count in (("cidr_deny_acl", "lost", lost), ("elr_to_isr", "changed", changed)):
        for index in range(count):
            fleet.add(
                "losses", **of, outcome=outcome, kind=kind, key=f"object {index} of {cluster}",
                record="PartitionRecord", offset=index, source="f", detail=f"what happens to {cluster}",
            )  # fmt: skip
    if is_blocked:
        fleet.add(
            "blockers", **of, role="broker", node_id=3, feature="metadata.version", level=21, min_supported=7,
            max_supported=20, is_ghost=False, what_to_do="put a newer release on it",
        )  # fmt: skip
    if is_noticed:
        fleet.add(
            "client_changes", **of, software_name="librdkafka", software_version="2.3.0", client_id=cluster,
            api="Fetch", api_key=1, api_version=18, is_blocker=False, detail="x", what_to_do="nothing",
        )  # fmt: skip
    for index, verdict in enumerate(["readable"] * 4 + ["appears_empty"]):
        fleet.add(
            "groups", **of, group=f"{cluster}-{index}", type="consumer", verdict=verdict, detail="x",
            members_by_protocol=[("classic", 2)], committed_offsets=3,
        )  # fmt: skip
    fleet.add("problems", **of, source=f"/data/{cluster}", kind="torn tail", position=7, count=1, detail="x")
