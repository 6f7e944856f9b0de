"""Each cluster's verdict on a target, as `falkirk logdir plan` concludes it, with the same exit status.

Except for changes that cost nothing: the plan counts them as losses (decision 0004).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from falkirk.metadata.losses.loss import Outcome
from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.downgrade_losses import CHANGED
from falkirk.pipeline.transforms.feature_targets import feature_targets
from falkirk.pipeline.transforms.level_names import level_name
from falkirk.pipeline.transforms.obstacles import obstacles
from falkirk.pipeline.transforms.required import require_columns
from falkirk.versions.features import KRAFT_VERSION

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from falkirk.pipeline.transforms.required import Tables, Transform
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release


def downgrade_verdicts(
    at: MetadataVersion, release: Release, *, losses: DataFrame, group_losses: DataFrame | None = None
) -> Transform:
    """Return a row for each cluster whose metadata was read.

    `losses` are those of `downgrade_losses` for the same target, `group_losses` those of its groups (cluster, kind),
    one row each. Columns: cluster, from_level, from_version, to_level, to_version, release, lossless, losses,
    changes and inaccessible (counts by kind), dropped_features, lowered_features (names), blockers, warnings,
    controller_quorum_voters (see `obstacles`), status: 1 if there is a blocker, else 3 if something would be lost, else
    0.
    """

    def transform(tables: Tables) -> DataFrame:
        rows = require_columns(tables, CLUSTERS, "metadata_version").join(
            _counted(losses, group_losses), CLUSTER, "left"
        )
        rows = rows.join(_features(tables, at, release), CLUSTER, "left")
        rows = rows.join(obstacles(at, release)(tables), CLUSTER, "left")
        lossless = sf.size(_counts("losses")) == 0
        is_blocked = sf.size("blockers") > 0
        return rows.select(
            CLUSTER,
            sf.col("metadata_version").alias("from_level"),
            level_name(sf.col("metadata_version")).alias("from_version"),
            sf.lit(int(at.level)).alias("to_level"),
            sf.lit(at.name).alias("to_version"),
            sf.lit(release.name).alias("release"),
            lossless.alias("lossless"),
            _counts("losses").alias("losses"),
            _counts("changes").alias("changes"),
            _counts("inaccessible").alias("inaccessible"),
            *(sf.coalesce(name, sf.array()).alias(name) for name in ("dropped_features", "lowered_features")),
            "blockers",
            "warnings",
            "controller_quorum_voters",
            sf.when(is_blocked, 1).when(lossless, 0).otherwise(3).alias("status"),
        )

    return transform


def _counted(losses: DataFrame, group_losses: DataFrame | None) -> DataFrame:
    """Count losses by cluster, outcome and kind, and collect the counts of each cluster into one row."""
    counted = losses.select(CLUSTER, "outcome", "kind")
    if group_losses is not None:
        counted = counted.unionAll(group_losses.select(CLUSTER, sf.lit(Outcome.LOST.value), "kind"))
    counts = counted.groupBy(CLUSTER, "outcome", "kind").agg(sf.count("*").alias("count"))

    def by_kind(outcome: str) -> Column:
        entry = sf.when(sf.col("outcome") == outcome, sf.struct("kind", "count"))
        return sf.map_from_entries(sf.array_sort(sf.collect_list(entry)))

    return counts.groupBy(CLUSTER).agg(
        by_kind(Outcome.LOST.value).alias("losses"),
        by_kind(CHANGED).alias("changes"),
        by_kind(Outcome.INACCESSIBLE.value).alias("inaccessible"),
    )


def _features(tables: Tables, at: MetadataVersion, release: Release) -> DataFrame:
    """Collect the features of each cluster that the target drops, and those that it has at a lower level."""
    kept, level = sf.col("kept_level"), sf.col("level")

    def names(are: Column) -> Column:
        return sf.array_sort(sf.collect_list(sf.when(are, sf.col("feature"))))

    # kraft.version is converted: the voters move into the configuration.
    targets = feature_targets(at, release)(tables).filter(sf.col("feature") != KRAFT_VERSION)
    return targets.groupBy(CLUSTER).agg(
        names(kept == 0).alias("dropped_features"), names((kept > 0) & (kept < level)).alias("lowered_features")
    )


def _counts(name: str) -> Column:
    return sf.coalesce(name, sf.create_map().cast("map<string,bigint>"))
