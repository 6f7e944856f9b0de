"""The lowest metadata.version that holds each cluster's data, and what forces it: `metadata.levels.minimum_version`.

What is only written in another form forces nothing here.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from falkirk.metadata.losses.loss import Outcome
from falkirk.metadata.losses.loss_catalogue import CATALOGUE
from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.cluster_context import (
    costs_nothing,
    has_meaning,
    with_log_dirs,
    with_own_level,
    with_stopped_brokers,
)
from falkirk.pipeline.transforms.level_names import level_name
from falkirk.pipeline.transforms.metadata_objects import METADATA_OBJECTS
from falkirk.pipeline.transforms.required import require_columns
from falkirk.pipeline.transforms.rule_matches import of_rule, rule_matches, rule_place
from falkirk.versions.metadata_version import FLOOR

if TYPE_CHECKING:
    from falkirk.metadata.losses.loss import LossRule
    from falkirk.pipeline.transforms.metadata_objects import MetadataObjects
    from falkirk.pipeline.transforms.required import Tables, Transform

_RULES = tuple(
    rule for rule in CATALOGUE if rule.outcome is Outcome.LOST and rule.level is not None and rule.level > FLOOR.level
)


def minimum_version() -> Transform:
    """Return for each cluster the lowest level, not below FLOOR, at which nothing is lost.

    Columns: cluster, level, metadata_version (its name), because_count (objects that a lower level cannot hold),
    because: for each kind of loss that forces the level, by its name, an array of (kind, count, key, record, offset,
    source), where key is the first of its objects. Nothing forces FLOOR itself, and what `costs_nothing` forces no
    level. Nor do features: they are dropped by name. Unknown tagged fields are lost at all levels alike.
    """

    def transform(tables: Tables) -> DataFrame:
        forcing = []
        for record, objects in METADATA_OBJECTS.items():
            rules = [rule for rule in _RULES if rule.record == record]
            if rules:
                forcing.append(_forcing(tables, objects, rules))
        found = functools.reduce(DataFrame.unionAll, forcing)
        because = sf.struct("kind", "count", "key", "record", "offset", "source")
        by_level = found.groupBy(CLUSTER, "level").agg(
            sf.sum("count").alias("because_count"), sf.array_sort(sf.collect_list(because)).alias("because")
        )
        highest = by_level.groupBy(CLUSTER).agg(sf.max(sf.struct("level", "because_count", "because")).alias("found"))
        clusters = require_columns(tables, CLUSTERS, "cluster_id").join(highest, CLUSTER, "left")
        level = sf.coalesce("found.level", sf.lit(int(FLOOR.level)))
        return clusters.select(
            CLUSTER,
            level.alias("level"),
            level_name(level).alias("metadata_version"),
            sf.coalesce("found.because_count", sf.lit(0)).alias("because_count"),
            sf.coalesce("found.because", sf.array()).alias("because"),
        )

    return transform


def _forcing(tables: Tables, objects: MetadataObjects, rules: list[LossRule]) -> DataFrame:
    """Count the objects by cluster, level and kind, and name the first of each."""
    rows = with_own_level(require_columns(tables, objects.table), rules, tables)
    rows = with_log_dirs(rows, [rule.condition for rule in rules], tables)
    rows = with_stopped_brokers(rows, rules, tables)
    matches = rule_matches(rows, [(rule, has_meaning(rule) & ~costs_nothing(rule)) for rule in rules])
    found = matches.select(
        CLUSTER,
        *objects.key_columns,
        of_rule(rules, lambda rule: rule.level).alias("level"),
        of_rule(rules, lambda rule: rule.kind).alias("kind"),
        of_rule(rules, lambda rule: rule.record).alias("record"),
        rule_place(rules).alias("place"),
    )
    kept = sf.struct(*objects.key_columns, "place")
    first = found.groupBy(CLUSTER, "level", "kind", "record").agg(
        sf.count("*").alias("count"), sf.min_by(kept, objects.order()).alias("first")
    )
    named = first.select(CLUSTER, "level", "kind", "count", "record", "first.*")
    return named.select(
        CLUSTER,
        "level",
        "kind",
        "count",
        objects.key_text().alias("key"),
        sf.coalesce("place.record", "record").alias("record"),
        sf.col("place.offset").alias("offset"),
        sf.col("place.source").alias("source"),
    )
