"""Features that could be raised: all registered nodes support more than is finalized."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.feature_targets import finalized_levels
from falkirk.pipeline.transforms.registered_nodes import registered_nodes
from falkirk.versions.features import KRAFT_VERSION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from falkirk.pipeline.transforms.required import Tables, Transform


def forgotten_finalisations() -> Transform:
    """Return a row for each cluster and feature: cluster, feature, finalized_level (0: not finalized), highest_level.

    The latter is the highest level that every node supports, fenced ones too: `blockers` names nodes that hold a
    feature back. Dependencies on other features are not checked. kraft.version is left out, because raising it changes
    the voters.
    """

    def transform(tables: Tables) -> DataFrame:
        nodes = registered_nodes(tables).select(CLUSTER, "role", "node_id", "features")
        counts = nodes.groupBy(CLUSTER).agg(sf.count("*").alias("nodes"))
        supported = nodes.select(CLUSTER, sf.explode("features").alias("feature")).select(CLUSTER, "feature.*")
        common = supported.groupBy(CLUSTER, sf.col("name").alias("feature")).agg(
            sf.count("*").alias("knowing"),
            sf.max("min_supported_version").cast("int").alias("lowest_level"),
            sf.min("max_supported_version").cast("int").alias("highest_level"),
        )
        known_to_all = common.join(counts, CLUSTER).filter(
            (sf.col("knowing") == sf.col("nodes"))
            & (sf.col("highest_level") >= sf.col("lowest_level"))
            & (sf.col("feature") != KRAFT_VERSION)
        )
        finalized = sf.coalesce("level", sf.lit(0))
        return (
            known_to_all.join(finalized_levels(tables), [CLUSTER, "feature"], "left")
            .select(CLUSTER, "feature", finalized.alias("finalized_level"), "highest_level")
            .filter(sf.col("highest_level") > sf.col("finalized_level"))
        )

    return transform
