"""Facts about a whole cluster for rules of the loss catalogue: one small row for each, joined if a rule needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sf

from falkirk.metadata.losses.loss_catalogue import ELR_TO_ISR
from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.metadata_state import BROKERS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.conditions import SINGLE_LOG_DIR_BROKERS, SINGLE_LOG_DIRS, needs_brokers
from falkirk.pipeline.transforms.feature_targets import finalized_levels, kept_level
from falkirk.pipeline.transforms.required import require_columns
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from falkirk.versions.metadata_version import METADATA_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import Column, DataFrame

    from falkirk.metadata.losses.condition import Condition
    from falkirk.metadata.losses.loss import LossRule
    from falkirk.pipeline.transforms.required import Tables
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release

_OWN_LEVEL: Final = "own_level"
_ELR_ENABLED: Final = "elr_enabled"
_STOPPED_BROKERS: Final = "stopped_brokers"


def with_log_dirs(rows: DataFrame, conditions: Iterable[Condition], tables: Tables) -> DataFrame:
    """Join the columns about brokers (`conditions.RowColumns`), if a condition needs them."""
    if not any(needs_brokers(condition) for condition in conditions):
        return rows
    brokers = require_columns(tables, BROKERS, "broker_id", "log_dirs").filter(sf.size("log_dirs") == 1)
    single = brokers.groupBy(CLUSTER).agg(
        sf.collect_list("broker_id").alias(SINGLE_LOG_DIR_BROKERS),
        sf.collect_list(sf.col("log_dirs")[0]).alias(SINGLE_LOG_DIRS),
    )
    return rows.join(sf.broadcast(single), CLUSTER, "left")


def with_own_level(rows: DataFrame, rules: Iterable[LossRule], tables: Tables) -> DataFrame:
    """Join the cluster's own level, if a rule depends on it (see `has_meaning`)."""
    if not any(rule.by_meaning for rule in rules):
        return rows
    clusters = require_columns(tables, CLUSTERS, "metadata_version")
    own = clusters.select(CLUSTER, sf.col("metadata_version").alias(_OWN_LEVEL))
    return rows.join(sf.broadcast(own), CLUSTER, "left")


def has_meaning(rule: LossRule) -> Column:
    """Whether a matching record means something at the cluster's own level, as `LossRule.has_meaning`."""
    if not rule.by_meaning or rule.level is None:
        return sf.lit(True)
    # A cluster without a level may hold anything.
    return sf.coalesce(_OWN_LEVEL, sf.lit(int(METADATA_VERSIONS[-1].level))) >= rule.level


def with_elr_enabled(
    rows: DataFrame, rules: Iterable[LossRule], tables: Tables, at: MetadataVersion, release: Release
) -> DataFrame:
    """Join whether the cluster uses eligible leader replicas at a target, if a rule depends on that."""
    if not any(depends_on_elr(rule, at) for rule in rules):
        return rows
    feature = ELIGIBLE_LEADER_REPLICAS_VERSION
    known = release.features.get(feature)
    levels = [] if known is None else [int(level.level) for level in known.levels]
    kept = [level for level in levels if level and kept_level(feature, level, at, release)[0]]
    enabled = sf.col("level") >= min(kept) if kept else sf.lit(False)
    finalized = finalized_levels(tables).filter((sf.col("feature") == feature) & enabled)
    return rows.join(sf.broadcast(finalized.select(CLUSTER, sf.lit(True).alias(_ELR_ENABLED))), CLUSTER, "left")


def with_stopped_brokers(rows: DataFrame, rules: Iterable[LossRule], tables: Tables) -> DataFrame:
    """Join the brokers that were stopped cleanly, if a rule depends on them (see `costs_nothing`)."""
    if not any(rule.kind == ELR_TO_ISR for rule in rules):
        return rows
    brokers = require_columns(tables, BROKERS, "broker_id", "fenced", "in_controlled_shutdown")
    stopped = brokers.filter(sf.col("fenced") & sf.col("in_controlled_shutdown"))
    found = stopped.groupBy(CLUSTER).agg(sf.collect_list("broker_id").alias(_STOPPED_BROKERS))
    return rows.join(sf.broadcast(found), CLUSTER, "left")


def costs_nothing(rule: LossRule) -> Column:
    """Whether what a rule matches is only written in another form, and nothing is gone with it.

    Eligible leader replicas have every committed message, and become in-sync. Those of brokers that were stopped
    cleanly still have them when they start; after a crash the controller has to know that they are eligible only.
    """
    if rule.kind != ELR_TO_ISR:
        return sf.lit(False)
    stopped = sf.coalesce(_STOPPED_BROKERS, sf.array().cast("array<int>"))
    return sf.size(sf.array_except("eligible_leader_replicas", stopped)) == 0


def depends_on_elr(rule: LossRule, at: MetadataVersion) -> bool:
    """Return whether a rule applies at a level only if eligible leader replicas are disabled."""
    return rule.applies(at, elr_enabled=False) and not rule.applies(at, elr_enabled=True)


def elr_disabled() -> Column:
    """Whether the cluster has no eligible leader replicas at the target of `with_elr_enabled`."""
    return sf.col(_ELR_ENABLED).isNull()
