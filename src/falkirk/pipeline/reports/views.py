"""The tables of the report: which rows of an answer, in which order, and what is shown of each.

Each is shown twice: for the fleet, with the cluster in front, and on the page of each cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow.compute as pc

from falkirk.coordinator.prediction.groups import GroupVerdict
from falkirk.metadata.losses.loss import Outcome
from falkirk.pipeline.reports.words import api_text, level_text, loss_words, record_types_text
from falkirk.pipeline.transforms.downgrade_losses import CHANGED
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.pipeline.reports.answers import Order

    Row = dict[str, Any]  # Any: values of columns
    Cells = tuple[Any, ...]  # Any: same

_UNKNOWN: Final = "unknown"
_LOSS_COLUMNS: Final = ("what", "where", "what it means", "record", "offset")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A table made of an answer. `cells` returns what is shown of a row, in the order of `columns`."""

    name: str
    answer: str
    title: str
    text: str
    columns: Sequence[str]
    cells: Callable[[Row], Cells]
    order: Order = ()
    # Of a fleet, where an order across clusters serves better.
    fleet_order: Order = ()
    where: pc.Expression | None = None
    # Shown if there are no rows.
    nothing: str = "Nothing."
    # Columns by whose values the reader can choose.
    chosen_by: Sequence[str] = field(default_factory=tuple)


def software_text(name: str | None, version: str | None) -> str:
    """Return a client's software as people name it."""
    return _UNKNOWN if name is None else f"{name} {version or ''}".strip()


def day_text(time: datetime | str | None) -> str | None:
    """Return a time to the minute, in UTC."""
    known = datetime.fromisoformat(time) if isinstance(time, str) else time
    return None if known is None else known.strftime("%Y-%m-%d %H:%M")


def _loss(row: Row) -> Cells:
    return loss_words(row["kind"]).title, row["key"], row["detail"], row["record"], row["offset"]


def _levels(row: Row) -> Cells:
    feature = row["feature"]
    before, after = (level_text(feature, row[name]) for name in ("from_level", "to_level"))
    return feature, before, after, row["offset"], day_text(row["timestamp"])


def _trend(row: Row) -> Cells:
    level, lowest, supported_min, supported_max = (
        level_text(METADATA_VERSION, row[name])
        for name in ("metadata_version", "lowest_level", "supported_min", "supported_max")
    )
    lost = "; ".join(f"{loss_words(each['kind']).title} ({each['count']:,})" for each in row["losses"])
    supported = supported_max and f"{supported_min} to {supported_max}"
    return row["day"].isoformat(), level, lowest, lost, supported, row["partitions"], row["fenced_brokers"]


def _return(row: Row) -> Cells:
    before, after = (level_text(METADATA_VERSION, row[name]) for name in ("from_level", "to_level"))
    first = row["kind"] and loss_words(row["kind"]).title
    return (
        before,
        after,
        day_text(row["upgrade_timestamp"]),
        first,
        row["key"],
        row["offset"],
        day_text(row["timestamp"]),
    )


def _node(row: Row) -> Cells:
    feature = row["feature"]
    lowest, highest = (level_text(feature, row[name]) for name in ("min_supported", "max_supported"))
    return (
        f"{row['role']} {row['node_id']}",
        feature,
        level_text(feature, row["level"]),
        None if highest is None else f"{lowest} to {highest}",
        day_text(row["fenced_since"]),
        row["is_ghost"],
        row["what_to_do"],
    )


def _group(row: Row) -> Cells:
    members = ", ".join(f"{count} {protocol}" for protocol, count in row["members_by_protocol"].items())
    verdict = row["verdict"].replace("_", " ")
    return row["group"], row["type"], members, row["committed_offsets"], verdict, row["detail"]


def _partition(row: Row) -> Cells:
    types = (record_types_text(row[name]) for name in ("skipped", "orphaned", "unknown_types"))
    return row["partition"], row["load_fails"], row["first_failing_reason"], *types, row["tombstones"]


def _client(row: Row) -> Cells:
    return (
        row["is_blocker"],
        software_text(row["software_name"], row["software_version"]),
        row["client_id"],
        row["principal"],
        api_text(row["api"], row["api_key"], row["api_version"]),
        row["detail"],
        row["what_to_do"],
    )


def _feature(row: Row) -> Cells:
    feature = row["feature"]
    much = f"{row['count']:,} {row['unit']}" if row["count"] is not None else None
    levels = (level_text(feature, row[name]) for name in ("level", "needed_level"))
    return feature, *levels, row["used_by"], much, day_text(row["last_timestamp"])


def _problem(row: Row) -> Cells:
    return row["kind"], row["source"], row["position"], row["count"], row["detail"]


LOSSES: Final = View(
    name="losses",
    answer="losses",
    title="Losses, one by one",
    text="What the target cannot hold, and the record that wrote it last.",
    columns=_LOSS_COLUMNS,
    cells=_loss,
    order=("kind", "key"),
    where=pc.field("outcome") == Outcome.LOST.value,
    nothing="Nothing would be lost.",
    chosen_by=("what",),
)
CHANGES: Final = View(
    name="changes",
    answer="losses",
    title="Changes, one by one",
    text="What is written in another form, switched off, or stays without effect. No data and no right is lost by it.",
    columns=_LOSS_COLUMNS,
    cells=_loss,
    order=("kind", "key"),
    where=pc.field("outcome").isin([CHANGED, Outcome.INACCESSIBLE.value, Outcome.FEATURE.value]),
    nothing="Nothing would change.",
    chosen_by=("what",),
)
NODES: Final = View(
    name="nodes",
    answer="blockers",
    title="Nodes in the way",
    text="Registered nodes that do not support a level of the target, and brokers that have long been gone.",
    columns=("node", "feature", "needed", "has", "fenced since", "gone", "what to do"),
    cells=_node,
    order=("node_id", "role", "feature"),
    nothing="Every registered node supports the target.",
    chosen_by=("feature", "gone"),
)
CLIENTS: Final = View(
    name="clients",
    answer="client_changes",
    title="Clients that notice",
    text="Versions in use that the target's release does not offer, as the release tables have it. A client that asks "
    "for a node's versions falls back by itself, unless the API needs a feature that the target drops; the others "
    "stop working.",
    columns=("stops working", "client software", "client id", "principal", "uses", "there", "what to do"),
    cells=_client,
    order=(("is_blocker", "descending"), "api", "api_version"),
    fleet_order=(("is_blocker", "descending"), "cluster", "api", "api_version"),
    nothing="No client in the request logs would notice.",
    chosen_by=("stops working", "client software"),
)
GROUPS: Final = View(
    name="groups",
    answer="groups",
    title="Groups that change",
    text="What the target's group coordinator would load of each group (KIP-915); listed are those that change.",
    columns=("group", "type", "members", "offsets", "at the target", "what that means"),
    cells=_group,
    order=("group",),
    where=pc.field("verdict") != GroupVerdict.READABLE.value,
    nothing="No group changes.",
    chosen_by=("type", "at the target"),
)
PARTITIONS: Final = View(
    name="group_partitions",
    answer="group_partitions",
    title="Partitions of __consumer_offsets",
    text="Partitions that the target would not load, or with records that it steps over, that nobody writes at the "
    "cluster's levels, or that no release knows.",
    columns=("partition", "load fails", "why", "stepped over", "orphaned", "unknown", "tombstones"),
    cells=_partition,
    order=("partition",),
    where=pc.field("needs_attention"),
    nothing="Every partition loads, and nothing in it is strange.",
)
FEATURES: Final = View(
    name="feature_use",
    answer="feature_use",
    title="Features in use",
    text="The users of each feature, from groups, transactions, partitions, voters and request logs.",
    columns=("feature", "finalized", "needed", "used by", "how much", "last"),
    cells=_feature,
    order=("feature", "used_by"),
    nothing="No use is known.",
    chosen_by=("feature",),
)
FORGOTTEN: Final = View(
    name="forgotten_finalisations",
    answer="forgotten_finalisations",
    title="Forgotten finalisations",
    text="Features that every node supports at a higher level than is finalized.",
    columns=("feature", "finalized", "could be"),
    cells=lambda row: (
        row["feature"],
        *(level_text(row["feature"], row[name]) for name in ("finalized_level", "highest_level")),
    ),
    order=("feature",),
    nothing="Everything is finalized as high as it can be.",
    chosen_by=("feature", "could be"),
)
LEVELS: Final = View(
    name="feature_levels",
    answer="feature_levels",
    title="How the levels got there",
    text="Every change of a feature level, as far back as logs and snapshots go.",
    columns=("feature", "from", "to", "offset", "when"),
    cells=_levels,
    order=("feature", "offset"),
    where=~pc.field("from_level").is_null(),
    nothing="No log has a change of a level: the levels come from the oldest snapshots.",
    chosen_by=("feature",),
)
TRENDS: Final = View(
    name="trends",
    answer="trends",
    title="How it went",
    text="How each cluster stood on the days of its ingests: its level, the lowest one that loses nothing, what levels "
    "below its own would lose, and what its nodes support. On the days between it stood as before.",
    columns=("day", "level", "lowest without loss", "lower levels lose", "nodes support", "partitions", "fenced"),
    cells=_trend,
    order=(("day", "descending"),),
    fleet_order=(("day", "descending"), "cluster"),
    nothing="No ingest has left a mark yet.",
)
CLIENT_DAYS: Final = View(
    name="client_days",
    answer="client_days",
    title="Clients by day",
    text="Client software in the request logs, day by day (UTC). Traffic between nodes is left out.",
    columns=("day", "client software", "requests", "client ids", "connections"),
    cells=lambda row: (
        row["day"].isoformat() if row["day"] else None,
        software_text(row["software_name"], row["software_version"]),
        row["requests"],
        row["client_ids"],
        row["connections"],
    ),
    order=(("day", "descending"), ("requests", "descending")),
    fleet_order=(("day", "descending"), "cluster", ("requests", "descending")),
    nothing="No request log is here.",
    chosen_by=("client software",),
)
RETURNS: Final = View(
    name="points_of_no_return",
    answer="points_of_no_return",
    title="Points of no return",
    text="For each upgrade the first record behind it that the level before cannot hold. Without one the upgrade can "
    "still be taken back.",
    columns=("from", "to", "upgraded", "first loss", "where", "offset", "when"),
    cells=_return,
    order=("upgrade_offset",),
    nothing="No log has an upgrade.",
    chosen_by=("first loss",),
)
PROBLEMS: Final = View(
    name="problems",
    answer="problems",
    title="Problems in files",
    text="Bytes without rows, and facts that make rows doubtful.",
    columns=("kind", "file", "byte", "how many", "what is wrong"),
    cells=_problem,
    order=("source", "position"),
    nothing="All files were read to their ends.",
    chosen_by=("kind",),
)
VIEWS: Final = (
    LOSSES,
    CHANGES,
    NODES,
    CLIENTS,
    GROUPS,
    PARTITIONS,
    FEATURES,
    FORGOTTEN,
    LEVELS,
    RETURNS,
    TRENDS,
    CLIENT_DAYS,
    PROBLEMS,
)
"""In the order of the pages."""
