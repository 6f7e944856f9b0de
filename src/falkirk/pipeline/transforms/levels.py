"""Each cluster's finalized levels, and the releases that run them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from falkirk.pipeline.fleet import TAGS
from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.feature_targets import finalized_levels
from falkirk.pipeline.transforms.level_names import level_name
from falkirk.pipeline.transforms.required import require_columns
from falkirk.versions.errors import IncompleteReleaseError
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import Release, all_releases

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from falkirk.pipeline.transforms.required import Tables, Transform
    from falkirk.versions.supported_range import SupportedRange


def levels() -> Transform:
    """Return a row for each cluster whose metadata was read.

    Columns: cluster, cluster_id, level (null: no metadata.version is finalized), metadata_version (its name), releases
    (those that run the level, `3.9`), features (the other finalized levels by name), last_timestamp, and its TAGS.
    """

    def transform(tables: Tables) -> DataFrame:
        others = finalized_levels(tables).filter(sf.col("feature") != METADATA_VERSION)
        features = others.groupBy(CLUSTER).agg(
            sf.map_from_entries(sf.array_sort(sf.collect_list(sf.struct("feature", "level")))).alias("features")
        )
        clusters = require_columns(tables, CLUSTERS, "cluster_id", "metadata_version", "last_timestamp", *TAGS)
        level = sf.col("metadata_version").cast("int")
        return clusters.join(features, CLUSTER, "left").select(
            CLUSTER,
            "cluster_id",
            level.alias("level"),
            level_name(level).alias("metadata_version"),
            _releases(level).alias("releases"),
            sf.coalesce("features", sf.create_map().cast("map<string,int>")).alias("features"),
            "last_timestamp",
            *TAGS,
        )

    return transform


def _releases(level: Column) -> Column:
    running = [
        sf.when(level.between(supported.lowest, supported.highest), release.word)
        for release in all_releases()
        if (supported := _supported(release)) is not None
    ]
    return sf.array_compact(sf.array(*running))


def _supported(release: Release) -> SupportedRange | None:
    try:
        return release.supported_features()[METADATA_VERSION]
    except IncompleteReleaseError:
        return None
