"""Features in use, and their users: what KIP-584 leaves as future work.

Groups, transactional ids, partitions and voters are in the tables; request logs show clients. For metadata.version
`minimum_version` names the records that need a level.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as sf

from falkirk.coordinator.records.record_type import GroupType
from falkirk.coordinator.records.written_records import FEATURE_OF_GROUPS
from falkirk.pipeline.state.conditions import list_lengths
from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.groups import GROUPS, TRANSACTIONS
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.tables.metadata_state import PARTITIONS
from falkirk.pipeline.tables.table import CLUSTER, TIMESTAMP
from falkirk.pipeline.transforms.api_usage import known_usage
from falkirk.pipeline.transforms.cluster_context import finalized_features
from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
from falkirk.pipeline.transforms.required import require_columns
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION, KRAFT_VERSION, TRANSACTION_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from falkirk.pipeline.transforms.required import Tables, Transform
    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows

    Row = dict[str, Any]  # Any: values of columns

API_FEATURES: Final = {
    (68, 0): (FEATURE_OF_GROUPS[GroupType.CONSUMER], 1),
    (76, 0): (FEATURE_OF_GROUPS[GroupType.SHARE], 1),
    (78, 0): (FEATURE_OF_GROUPS[GroupType.SHARE], 1),
    (79, 0): (FEATURE_OF_GROUPS[GroupType.SHARE], 1),
    (88, 0): (FEATURE_OF_GROUPS[GroupType.STREAMS], 1),
    (26, 5): (TRANSACTION_VERSION, 2),
}
"""APIs that a client sends with the feature alone: key, first version that needs it -> feature, level.

Clients of transaction.version 1 send nothing that tells them apart; those of 2 end transactions with version 5
(KIP-890).
"""
_COLUMNS: Final[dict[str, pa.DataType]] = {
    "feature": pa.string(),
    "level": pa.int32(),
    "needed_level": pa.int32(),
    "used_by": pa.string(),
    "kind": pa.string(),
    "name": pa.string(),
    "count": pa.int64(),
    "unit": pa.string(),
    "last_timestamp": TIMESTAMP,
}
_USERS: Final = pa.schema(_COLUMNS)
USE_COLUMNS: Final = (CLUSTER, *_COLUMNS)
"""The feature, its finalized level (0: none), and the level that the use needs; the user as a phrase, and as kind
(`consumer group`, `transactional id`, `topic`, `voter`, `client`) and name; how many of what unit (members,
transactions, partitions, voters, requests), and the last time, if known.
"""


def feature_users() -> ClusterQuestion:
    """Return a row for each feature and user that is a group, a transactional id, a topic or a voter (USE_COLUMNS)."""
    needed = [GROUPS, TRANSACTIONS, PARTITIONS, CLUSTERS, FEATURE_LEVELS]
    return ClusterQuestion(needed=needed, work=_users_of, schema=_USERS)


def client_users() -> Transform:
    """Return a row for each feature and client, by client.id and software, that request logs show (USE_COLUMNS)."""

    def transform(tables: Tables) -> DataFrame:
        levels = require_columns(tables, FEATURE_LEVELS, "feature", "to_level", "is_current")
        current = levels.filter(sf.col("is_current") & (sf.col("to_level") > 0))
        finalized = current.select(CLUSTER, "feature", sf.col("to_level").cast("int").alias("level"))
        found = _clients(tables).join(sf.broadcast(finalized), [CLUSTER, "feature"], "left")
        return found.withColumn("level", sf.coalesce("level", sf.lit(0))).select(*USE_COLUMNS)

    return transform


def _users_of(rows: ClusterRows) -> pa.Table:
    levels = finalized_features(rows)
    found = [*_groups(rows), *_transactional_ids(rows), *_topics(rows), *_voters(rows)]
    for row in found:
        row |= {"level": levels.get(row["feature"], 0), "used_by": f"{row['kind']} {row['name']}"}
    return pa.Table.from_pylist(found, _USERS)


def _groups(rows: ClusterRows) -> Iterator[Row]:
    features = {group_type.value: feature for group_type, feature in FEATURE_OF_GROUPS.items()}
    for part in rows.parts(GROUPS):
        groups = part.read("type", "group", "members", "last_timestamp")
        for group in groups.filter(pc.is_in(groups["type"], pa.array(list(features)))).to_pylist():
            yield {
                "feature": features[group["type"]],
                "needed_level": 1,
                "kind": f"{group['type']} group",
                "name": group["group"],
                "count": group["members"],
                "unit": "members",
                "last_timestamp": group["last_timestamp"],
            }


def _transactional_ids(rows: ClusterRows) -> Iterator[Row]:
    """Yield ids whose records are flexible (level 1), and clients that use level 2."""
    columns = ("transactional_id", "client_transaction_version", "value_version", "last_update_timestamp")
    for part in rows.parts(TRANSACTIONS):
        ids = part.read(*columns)
        for row in ids.filter(pc.greater(ids["value_version"], pa.scalar(0))).to_pylist():
            yield {
                "feature": TRANSACTION_VERSION,
                "needed_level": max(row["client_transaction_version"] or 0, row["value_version"]),
                "kind": "transactional id",
                "name": row["transactional_id"],
                "count": 1,
                "unit": "transactional ids",
                "last_timestamp": row["last_update_timestamp"],
            }


def _topics(rows: ClusterRows) -> Iterator[Row]:
    """Yield the topics whose partitions have eligible or last known leader replicas."""
    found: Counter[str] = Counter()
    for part in rows.parts(PARTITIONS):
        topics, elr, last_known = part.read("topic", "eligible_leader_replicas", "last_known_elr").columns
        have = pa.array((list_lengths(elr) > 0) | (list_lengths(last_known) > 0))
        found.update(map(str, topics.filter(have).to_pylist()))
    for topic, count in found.items():
        yield {
            "feature": ELIGIBLE_LEADER_REPLICAS_VERSION,
            "needed_level": 1,
            "kind": "topic",
            "name": topic,
            "count": count,
            "unit": "partitions",
            "last_timestamp": None,
        }


def _voters(rows: ClusterRows) -> Iterator[Row]:
    """Yield the voters in the log; with level 0 they are in the configuration."""
    for row in rows.read(CLUSTERS, "kraft_version", "voters").to_pylist():
        for voter in row["voters"] or () if (row["kraft_version"] or 0) > 0 else ():
            yield {
                "feature": KRAFT_VERSION,
                "needed_level": row["kraft_version"],
                "kind": "voter",
                "name": str(voter),
                "count": 1,
                "unit": "voters",
                "last_timestamp": None,
            }


def _clients(tables: Tables) -> DataFrame:
    usage = known_usage(tables).filter(~sf.col("is_inter_broker") & ~sf.col("is_forwarded"))
    uses = sf.array(
        *(
            sf.when(
                (sf.col("api_key") == api_key) & (sf.col("api_version") >= version),
                sf.struct(sf.lit(feature).alias("feature"), sf.lit(level).alias("needed_level")),
            )
            for (api_key, version), (feature, level) in API_FEATURES.items()
        )
    )
    found = usage.select("*", sf.explode(sf.array_compact(uses)).alias("use"))
    software = sf.concat_ws(" ", "software_name", "software_version")
    named = sf.when(software == "", sf.coalesce("client_id", sf.lit("(no client.id)"))).otherwise(
        sf.concat(sf.coalesce("client_id", sf.lit("(no client.id)")), sf.lit(" ("), software, sf.lit(")"))
    )
    by_client = found.groupBy(CLUSTER, "use", named.alias("name")).agg(
        sf.sum("requests").alias("requests"), sf.max("last_timestamp").alias("last_timestamp")
    )
    return by_client.select(
        CLUSTER,
        "use.feature",
        sf.col("use.needed_level").cast("int").alias("needed_level"),
        sf.concat(sf.lit("client "), "name").alias("used_by"),
        sf.lit("client").alias("kind"),
        "name",
        sf.col("requests").alias("count"),
        sf.lit("requests").alias("unit"),
        "last_timestamp",
    )
