"""All nodes that block a target while the cluster runs, and what to do about each.

A feature level is finalized only if every registered node supports it, fenced ones too; so a node that is long gone,
but was never unregistered, blocks like any other. Source: KIP-584, KIP-1155.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sf

from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.feature_targets import feature_targets
from falkirk.pipeline.transforms.registered_nodes import registered_nodes
from falkirk.pipeline.transforms.required import require_columns
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from falkirk.pipeline.transforms.required import Tables, Transform
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release

GHOST_AFTER: Final = timedelta(days=7)
"""Longer than an outage that is still being worked on."""


def blockers(at: MetadataVersion, release: Release, *, ghost_after: timedelta = GHOST_AFTER) -> Transform:
    """Return a row for each node and each feature level of the target that it does not support.

    The levels are metadata.version's and those of the other features that would stay finalized. Ghosts (brokers that
    have been fenced for `ghost_after` or longer at the end of the metadata) that support all levels have one row
    without a feature: they block the next move. Columns: cluster, role, node_id, feature, level, min_supported,
    max_supported (null: it does not know the feature), fenced_since, is_ghost, what_to_do.
    """

    def transform(tables: Tables) -> DataFrame:
        nodes = registered_nodes(tables).join(sf.broadcast(_wanted(tables, at, release)), CLUSTER)
        age = sf.unix_millis("last_timestamp") - sf.unix_millis("fenced_since")
        ghost = sf.coalesce(age >= int(ghost_after / timedelta(milliseconds=1)), sf.lit(False))
        lacking = sf.filter("wanted", lambda wanted: ~sf.exists("features", lambda feature: _supports(feature, wanted)))
        rows = nodes.select("*", ghost.alias("is_ghost"), sf.explode_outer(lacking).alias("lacks"))
        rows = rows.filter(sf.col("is_ghost") | sf.col("lacks").isNotNull())
        known = sf.filter("features", lambda feature: feature["name"] == sf.col("lacks.feature"))
        rows = rows.withColumn("known", sf.try_element_at(known, sf.lit(1)))
        return rows.select(
            CLUSTER,
            "role",
            "node_id",
            "lacks.feature",
            "lacks.level",
            sf.col("known.min_supported_version").alias("min_supported"),
            sf.col("known.max_supported_version").alias("max_supported"),
            "fenced_since",
            "is_ghost",
            _what_to_do().alias("what_to_do"),
        )

    return transform


def _wanted(tables: Tables, at: MetadataVersion, release: Release) -> DataFrame:
    """Return cluster, last_timestamp, wanted: the levels that all nodes must support at the target."""
    kept = feature_targets(at, release)(tables).filter(sf.col("kept_level") > 0)
    wanted = kept.groupBy(CLUSTER).agg(
        sf.collect_list(sf.struct("feature", sf.col("kept_level").alias("level"))).alias("kept")
    )
    target = sf.array(sf.struct(sf.lit(METADATA_VERSION).alias("feature"), sf.lit(int(at.level)).alias("level")))
    clusters = require_columns(tables, CLUSTERS, "last_timestamp").join(wanted, CLUSTER, "left")
    return clusters.select(
        CLUSTER, "last_timestamp", sf.concat(target, sf.coalesce("kept", sf.array())).alias("wanted")
    )


def _supports(feature: Column, wanted: Column) -> Column:
    lowest, highest = feature["min_supported_version"], feature["max_supported_version"]
    return (feature["name"] == wanted["feature"]) & wanted["level"].between(lowest, highest)


def _what_to_do() -> Column:
    node_id = sf.col("node_id").cast("string")
    unregister = sf.concat(sf.lit("kafka-cluster.sh unregister --bootstrap-server HOST:PORT --id "), node_id)
    is_too_low = sf.col("lacks.level") < sf.col("known.min_supported_version")
    another = sf.when(is_too_low, "an older").otherwise("a newer")
    move = sf.concat(sf.lit("put "), another, sf.lit(" release on it"))
    return (
        sf.when(sf.col("is_ghost"), unregister)
        .when(sf.col("fenced"), sf.concat(move, sf.lit(", or if it is gone for good: "), unregister))
        .otherwise(move)
    )
