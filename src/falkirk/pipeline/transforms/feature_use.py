"""Features in use, and their users: what KIP-584 leaves as future work.

Groups, transactional ids, partitions and voters are in the tables; request logs show clients. For metadata.version
`minimum_version` names the records that need a level.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from falkirk.coordinator.records.record_type import GroupType
from falkirk.coordinator.records.written_records import FEATURE_OF_GROUPS
from falkirk.pipeline.state.conditions import list_lengths
from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.groups import GROUPS, TRANSACTIONS
from falkirk.pipeline.tables.metadata_state import PARTITIONS
from falkirk.pipeline.tables.table import CLUSTER, TIMESTAMP
from falkirk.pipeline.transforms.api_usage import known_usage
from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
from falkirk.pipeline.transforms.feature_targets import finalized_levels
from falkirk.pipeline.transforms.required import require_columns
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION, KRAFT_VERSION, TRANSACTION_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

    from falkirk.pipeline.transforms.required import Tables, Transform
    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows

    Row = dict[str, Any]  # Any: values of columns

USE_COLUMNS: Final = (
    CLUSTER,
    "feature",
    "level",
    "needed_level",
    "used_by",
    "kind",
    "name",
    "count",
    "unit",
    "last_timestamp",
)
"""The feature, its finalized level (0: none), and the level that the use needs; the user as a phrase, and as kind
(`consumer group`, `transactional id`, `topic`, `voter`, `client`) and name; how many of what unit (members,
transactions, partitions, voters, requests), and the last time, if known.
"""
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
FEATURE_USERS: Final = "feature_users"
_COLUMNS: Final[dict[str, pa.DataType]] = {
    "feature": pa.string(),
    "needed_level": pa.int32(),
    "kind": pa.string(),
    "name": pa.string(),
    "count": pa.int64(),
    "unit": pa.string(),
    "last_timestamp": TIMESTAMP,
}
_USERS: Final = pa.schema(_COLUMNS)
_TYPES: Final = {"needed_level": "int", "count": "bigint", "last_timestamp": "timestamp"}


def feature_use() -> Transform:
    """Return a row for each feature and user (USE_COLUMNS); clients by client.id and software."""

    def transform(tables: Tables) -> DataFrame:
        used = functools.reduce(DataFrame.unionByName, [use(tables) for use in _USES])
        levels = finalized_levels(tables)
        phrase = sf.concat_ws(" ", "kind", "name")
        found = used.join(sf.broadcast(levels), [CLUSTER, "feature"], "left").withColumn("used_by", phrase)
        return found.withColumn("level", sf.coalesce("level", sf.lit(0))).select(*USE_COLUMNS)

    return transform


def _known_users(tables: Tables) -> DataFrame:
    return tables[FEATURE_USERS] if FEATURE_USERS in tables else feature_users()(tables)


def feature_users() -> ClusterQuestion:
    """Return what `feature_use` does for groups, transactional ids and topics, without the finalized levels.

    As a table FEATURE_USERS it spares `feature_use` this work.
    """
    return ClusterQuestion(needed=[GROUPS, TRANSACTIONS, PARTITIONS], work=_users_of, schema=_USERS)


def _users_of(rows: ClusterRows) -> pa.Table:
    return pa.Table.from_pylist([*_groups(rows), *_transactional_ids(rows), *_topics(rows)], _USERS)


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


def _by_voters(tables: Tables) -> DataFrame:
    """Return the voters in the log; with level 0 they are in the configuration."""
    clusters = require_columns(tables, CLUSTERS, "kraft_version", "voters")
    voters = clusters.filter(sf.col("kraft_version") > 0)
    return _uses(
        voters.select(CLUSTER, "kraft_version", sf.explode("voters").alias("voter")),
        feature=sf.lit(KRAFT_VERSION),
        needed_level=sf.col("kraft_version"),
        kind=sf.lit("voter"),
        name=sf.col("voter").cast("string"),
        count=sf.lit(1),
        unit=sf.lit("voters"),
        last_timestamp=sf.lit(None),
    )


def _by_clients(tables: Tables) -> DataFrame:
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
    return _uses(
        by_client,
        feature=sf.col("use.feature"),
        needed_level=sf.col("use.needed_level"),
        kind=sf.lit("client"),
        name=sf.col("name"),
        count=sf.col("requests"),
        unit=sf.lit("requests"),
        last_timestamp=sf.col("last_timestamp"),
    )


_USES: Final = (_known_users, _by_voters, _by_clients)


def _uses(rows: DataFrame, **columns: Column) -> DataFrame:
    return rows.select(
        CLUSTER, *(column.cast(_TYPES.get(name, "string")).alias(name) for name, column in columns.items())
    )
