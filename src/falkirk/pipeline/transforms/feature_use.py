"""Features in use, and their users: what KIP-584 leaves as future work.

Groups, transactional ids, partitions and voters are in the tables; request logs show clients. For metadata.version
`minimum_version` names the records that need a level.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from falkirk.coordinator.records.record_type import GroupType
from falkirk.coordinator.records.written_records import FEATURE_OF_GROUPS
from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.groups import GROUPS, TRANSACTIONS
from falkirk.pipeline.tables.metadata_state import PARTITIONS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.api_usage import known_usage
from falkirk.pipeline.transforms.feature_targets import finalized_levels
from falkirk.pipeline.transforms.required import require_columns
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION, KRAFT_VERSION, TRANSACTION_VERSION

if TYPE_CHECKING:
    from pyspark.sql import Column

    from falkirk.pipeline.transforms.required import Tables, Transform

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


def _by_groups(tables: Tables) -> DataFrame:
    groups = require_columns(tables, GROUPS, "group", "type", "members", "last_timestamp")
    features = {group_type.value: feature for group_type, feature in FEATURE_OF_GROUPS.items()}
    return _uses(
        groups.filter(sf.col("type").isin(*features)),
        feature=_chosen(sf.col("type"), features),
        needed_level=sf.lit(1),
        kind=sf.concat("type", sf.lit(" group")),
        name=sf.col("group"),
        count=sf.col("members"),
        unit=sf.lit("members"),
        last_timestamp=sf.col("last_timestamp"),
    )


def _by_transactions(tables: Tables) -> DataFrame:
    """Return ids whose records are flexible (level 1), and clients that use level 2."""
    columns = ("transactional_id", "client_transaction_version", "value_version", "last_update_timestamp")
    ids = require_columns(tables, TRANSACTIONS, *columns)
    needed = sf.greatest(sf.coalesce("client_transaction_version", sf.lit(0)), sf.col("value_version"))
    return _uses(
        ids.filter(sf.col("value_version") > 0),
        feature=sf.lit(TRANSACTION_VERSION),
        needed_level=needed,
        kind=sf.lit("transactional id"),
        name=sf.col("transactional_id"),
        count=sf.lit(1),
        unit=sf.lit("transactional ids"),
        last_timestamp=sf.col("last_update_timestamp"),
    )


def _by_partitions(tables: Tables) -> DataFrame:
    columns = ("topic", "eligible_leader_replicas", "last_known_elr")
    partitions = require_columns(tables, PARTITIONS, *columns)
    has = (sf.size("eligible_leader_replicas") > 0) | (sf.size("last_known_elr") > 0)
    topics = partitions.filter(has).groupBy(CLUSTER, "topic").agg(sf.count("*").alias("partitions"))
    return _uses(
        topics,
        feature=sf.lit(ELIGIBLE_LEADER_REPLICAS_VERSION),
        needed_level=sf.lit(1),
        kind=sf.lit("topic"),
        name=sf.col("topic"),
        count=sf.col("partitions"),
        unit=sf.lit("partitions"),
        last_timestamp=sf.lit(None),
    )


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


_USES: Final = (_by_groups, _by_transactions, _by_partitions, _by_voters, _by_clients)


def _uses(rows: DataFrame, **columns: Column) -> DataFrame:
    return rows.select(
        CLUSTER, *(column.cast(_TYPES.get(name, "string")).alias(name) for name, column in columns.items())
    )


def _chosen(column: Column, values: dict[str, str]) -> Column:
    pairs = [sf.lit(text) for pair in values.items() for text in pair]
    return sf.try_element_at(sf.create_map(*pairs), column)
