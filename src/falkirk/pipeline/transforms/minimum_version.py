"""The lowest metadata.version that holds each cluster's data, and what forces it: `metadata.levels.minimum_version`.

What is only written in another form forces nothing here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from falkirk.metadata.losses.loss import Outcome
from falkirk.metadata.losses.loss_catalogue import CATALOGUE
from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.metadata_state import BROKERS
from falkirk.pipeline.transforms.cluster_context import brokers_of, own_level
from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
from falkirk.pipeline.transforms.metadata_objects import METADATA_OBJECTS, place_column
from falkirk.pipeline.transforms.rule_matches import Matches, rule_matches
from falkirk.versions.metadata_version import FLOOR, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows

    Row = dict[str, Any]  # Any: values of columns

_RULES: Final = tuple(
    rule for rule in CATALOGUE if rule.outcome is Outcome.LOST and rule.level is not None and rule.level > FLOOR.level
)
_BECAUSE: Final = pa.struct(
    [
        pa.field("kind", pa.string()),
        pa.field("count", pa.int64()),
        pa.field("key", pa.string()),
        pa.field("record", pa.string()),
        pa.field("offset", pa.int64()),
        pa.field("source", pa.string()),
    ]
)
_COLUMNS: Final[dict[str, pa.DataType]] = {
    "level": pa.int32(),
    "metadata_version": pa.string(),
    "because_count": pa.int64(),
    "because": pa.list_(_BECAUSE),
}
_SCHEMA: Final = pa.schema(_COLUMNS)
_NEEDED: Final = (
    CLUSTERS,
    BROKERS,
    *(METADATA_OBJECTS[rule.record].table for rule in _RULES),
)


def minimum_version() -> ClusterQuestion:
    """Return for each cluster the lowest level, not below FLOOR, at which nothing is lost.

    Columns: cluster, level, metadata_version (its name), because_count (objects that a lower level cannot hold),
    because: for each kind of loss that forces the level, by its name, an array of (kind, count, key, record, offset,
    source), where key is the first of its objects. Nothing forces FLOOR itself, and what costs nothing forces no level.
    Nor do features: they are dropped by name. Unknown tagged fields are lost at all levels alike.
    """
    return ClusterQuestion(needed=_NEEDED, work=_minimum_of, schema=_SCHEMA)


def _minimum_of(rows: ClusterRows) -> pa.Table:
    clusters = rows.read(CLUSTERS, "metadata_version").num_rows
    own = own_level(rows)
    forcing: dict[str, list[Matches]] = {}
    rules = [rule for rule in _RULES if rule.has_meaning(own)] if clusters else []
    for matches in rule_matches(rows, rules, brokers_of(rows)):
        if len(costly := matches.select(~matches.costs_nothing)):
            forcing.setdefault(matches.rule.kind, []).append(costly)
    highest = max((found[0].rule.level or 0 for found in forcing.values()), default=int(FLOOR.level))
    because = [_because(found) for _, found in sorted(forcing.items()) if found[0].rule.level == highest]
    row = {
        "level": highest,
        "metadata_version": MetadataVersion.of_level(highest).name,
        "because_count": sum(each["count"] for each in because),
        "because": because,
    }
    return pa.Table.from_pylist([row] * clusters, _SCHEMA)


def _because(matches: Sequence[Matches]) -> Row:
    """Count the objects of one kind of loss, which come in parts, and name the first."""
    rule = matches[0].rule
    objects = METADATA_OBJECTS[rule.record]
    firsts = pa.Table.from_batches([each.rows.slice(objects.first(each.rows), 1) for each in matches])
    [rows] = firsts.combine_chunks().to_batches()
    first = rows.slice(objects.first(rows), 1)
    place = first[place_column(rule)][0].as_py() or {}
    return {
        "kind": rule.kind,
        "count": sum(map(len, matches)),
        "key": objects.key_text(first)[0].as_py(),
        "record": place.get("record") or rule.record,
        "offset": place.get("offset"),
        "source": place.get("source"),
    }
