"""The record that makes each upgrade of metadata.version irreversible without loss.

That is the first record behind an upgrade that the level before it cannot hold: `LossRule.bearers` in the loss
catalogue. Later records may have overwritten it; `downgrade_losses` has what would be lost now. Records of an aborted
metadata transaction count like any other.
"""

from __future__ import annotations

import functools
import operator
from functools import partial
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sf

from falkirk.metadata.losses.loss import Outcome
from falkirk.metadata.losses.loss_catalogue import CATALOGUE
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS, METADATA_RECORDS
from falkirk.pipeline.tables.metadata_state import TOPICS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.cluster_context import with_log_dirs
from falkirk.pipeline.transforms.conditions import RowColumns, condition_column
from falkirk.pipeline.transforms.record_fields import TYPED, record_field, record_key_text, with_parsed
from falkirk.pipeline.transforms.required import require_columns
from falkirk.pipeline.transforms.rule_matches import RULE, each_match, of_rule
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from falkirk.metadata.losses.loss import LossRule
    from falkirk.pipeline.transforms.required import Tables, Transform

# A loss at every level does not make one upgrade irreversible.
_RULES: Final = tuple(rule for rule in CATALOGUE if rule.outcome is Outcome.LOST and rule.level is not None)
_BEARERS: Final = tuple(dict.fromkeys(record for rule in _RULES for record in rule.bearers))


def point_of_no_return() -> Transform:
    """Return a row for each upgrade of metadata.version that is still in the log.

    Columns: cluster, from_level, to_level, upgrade_offset, upgrade_timestamp, and of the record that makes it
    irreversible kind (of loss), record (its type), key, offset, timestamp: null if there is none up to the end of the
    log, or up to where the level was lowered again.
    """

    def transform(tables: Tables) -> DataFrame:
        upgrades = _upgrades(tables)
        level = of_rule(_RULES, lambda rule: rule.level)
        by_meaning = of_rule(_RULES, lambda rule: rule.by_meaning)
        behind = _bearing(tables, upgrades).filter(
            (sf.col("offset") > sf.col("upgrade_offset"))
            & (sf.col("offset") < sf.coalesce("until", sf.col("offset") + 1))
            & (level > sf.col("from_level"))
            & (~by_meaning | (_level_at(sf.col("offset")) >= level))
        )
        record = sf.struct("offset", RULE, "record", "timestamp", "key", "topic_id", "partition_id")
        first = behind.groupBy(CLUSTER, "upgrade_offset").agg(
            sf.min_by(record, sf.struct("offset", RULE)).alias("first")
        )
        found = upgrades.join(first, [CLUSTER, "upgrade_offset"], "left").select(
            CLUSTER, "from_level", "to_level", "upgrade_offset", "upgrade_timestamp", "first.*"
        )
        topics = require_columns(tables, TOPICS, "topic_id", "name")
        # Few rows look for a name among many: those few are hashed, and the many not sorted.
        return (
            found.hint("shuffle_hash")
            .join(topics, [CLUSTER, "topic_id"], "left")
            .select(
                CLUSTER,
                "from_level",
                "to_level",
                "upgrade_offset",
                "upgrade_timestamp",
                of_rule(_RULES, lambda rule: rule.kind).alias("kind"),
                "record",
                _key().alias("key"),
                "offset",
                "timestamp",
            )
        )

    return transform


def _upgrades(tables: Tables) -> DataFrame:
    """Return the upgrades, with `changes` (all of the cluster's, by offset) and `until`, where it was taken back."""
    levels = require_columns(tables, FEATURE_LEVELS, "feature", "from_level", "to_level", "offset", "timestamp")
    moves = levels.filter((sf.col("feature") == METADATA_VERSION) & sf.col("offset").isNotNull())
    changes = moves.groupBy(CLUSTER).agg(
        sf.array_sort(sf.collect_list(sf.struct("offset", "to_level"))).alias("changes")
    )
    upgrades = moves.filter((sf.col("from_level") > 0) & (sf.col("to_level") > sf.col("from_level")))
    back = sf.filter(
        "changes",
        lambda change: (change["offset"] > sf.col("upgrade_offset")) & (change["to_level"] <= sf.col("from_level")),
    )
    return (
        upgrades.select(
            CLUSTER,
            "from_level",
            "to_level",
            sf.col("offset").alias("upgrade_offset"),
            sf.col("timestamp").alias("upgrade_timestamp"),
        )
        .join(changes, CLUSTER)
        .withColumn("until", sf.try_element_at(back, sf.lit(1))["offset"])
    )


def _bearing(tables: Tables, upgrades: DataFrame) -> DataFrame:
    """Return each record behind an upgrade that a lower level cannot hold, once for each upgrade and rule."""
    columns = ("is_snapshot", "offset", "timestamp", "record_name", "key", "json", *TYPED.values())
    only = {"is_snapshot": [False], "record_name": _BEARERS}
    records = require_columns(tables, METADATA_RECORDS, *columns, only=only)
    # Most clusters have no upgrade in their log, and are skipped.
    since = upgrades.groupBy(CLUSTER).agg(sf.min("upgrade_offset").alias("since"))
    records = records.join(sf.broadcast(since), CLUSTER).filter(sf.col("offset") > sf.col("since"))
    records = with_log_dirs(with_parsed(records, _BEARERS), [rule.condition for rule in _RULES], tables)
    borne = each_match(records, [_is_borne(rule) for rule in _RULES]).select(
        CLUSTER,
        "offset",
        "timestamp",
        sf.col("record_name").alias("record"),
        "key",
        sf.coalesce("partition.topic_id", "partition_change.topic_id").alias("topic_id"),
        sf.coalesce("partition.partition_id", "partition_change.partition_id").alias("partition_id"),
        RULE,
    )
    return borne.join(sf.broadcast(upgrades), CLUSTER)


def _is_borne(rule: LossRule) -> Column:
    borne = (
        (sf.col("record_name") == record) & condition_column(condition, RowColumns(value=partial(record_field, record)))
        for record, condition in rule.bearers.items()
    )
    return functools.reduce(operator.or_, borne)


def _level_at(offset: Column) -> Column:
    """Return the metadata.version at which a record was written."""
    before = sf.filter("changes", lambda change: change["offset"] < offset)
    return sf.try_element_at(before, sf.lit(-1))["to_level"]


def _key() -> Column:
    keys = sf.lit(None).cast("string")
    for record in _BEARERS:
        keys = sf.when(sf.col("record") == record, record_key_text(record, sf.col("name"))).otherwise(keys)
    return keys
