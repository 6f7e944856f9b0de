"""What a release's coordinators would load of all groups of a fleet (KIP-915), as `falkirk logdir plan` does.

    answers = {GROUP_ANSWERS.name: group_answers(Release.parse("3.9"))(tables).persist()}
    group_readiness()(tables | answers)
    group_losses()(tables | answers)
    partition_readiness()(tables | answers)

A cluster is judged by one worker, a large one in shares of its partitions. Coordinators are those that the release runs
by default, because server.properties are not in the tables.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as sf

from falkirk.coordinator.records.written_records import ALWAYS_WRITTEN, WRITING_RULES
from falkirk.metadata.losses.loss import Outcome
from falkirk.pipeline.state.groups.group_answers import GROUP_ANSWERS, RECORD_COLUMNS, cluster_answers
from falkirk.pipeline.tables.groups import GROUP_MEMBERS, GROUP_RECORDS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
from falkirk.pipeline.transforms.downgrade_losses import LOSS_COLUMNS
from falkirk.pipeline.transforms.feature_targets import finalized_levels
from falkirk.pipeline.transforms.required import require_columns
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from falkirk.pipeline.transforms.required import Tables, Transform
    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows

_BY_PROTOCOL = "members_by_protocol"
_PARTITION_COLUMNS = (
    "records",
    "tombstones",
    "load_fails",
    "failing_records",
    "first_failing_offset",
    "first_failing_reason",
    "skipped",
    "orphaned",
    "unknown_types",
    "without_type",
    "unknown_tags",
    "needs_attention",
)
_STRANGE = ("skipped", "orphaned", "unknown_types")
_NO_ANSWERS = GROUP_ANSWERS.schema.empty_table()


def group_answers(release: Release) -> ClusterQuestion:
    """Judge each partition of `__consumer_offsets` by a release: the table GROUP_ANSWERS, for the other transforms."""
    # Workers look the name up again: the releases' tables are not pickled.
    work = functools.partial(_answers, release=release.name)
    return ClusterQuestion(needed=[GROUP_RECORDS], work=work, schema=GROUP_ANSWERS.schema, shared=True)


def group_readiness() -> Transform:
    """Return a row for each group: cluster, partition, group, type, members by protocol and the outcome.

    Columns: members, committed_offsets, pending_offsets; members_by_protocol (`classic` -> 2); verdict (`readable`,
    `appears_empty`, `unreadable`); lost (what -> how many, none if readable); detail, a clause; conversion, a sentence
    if a tombstone is removed so that the offsets are served.
    """

    def transform(tables: Tables) -> DataFrame:
        answers = require_columns(tables, GROUP_ANSWERS, "partition", "group").filter(sf.col("group").isNotNull())
        groups = answers.select(CLUSTER, "partition", "group.*")
        members = require_columns(tables, GROUP_MEMBERS, "group", "protocol").filter(sf.col("protocol").isNotNull())
        counts = members.groupBy(CLUSTER, "group", "protocol").agg(sf.count("*").alias("count"))
        by_protocol = counts.groupBy(CLUSTER, "group").agg(
            sf.map_from_entries(sf.sort_array(sf.collect_list(sf.struct("protocol", "count")))).alias(_BY_PROTOCOL)
        )
        none = sf.create_map().cast("map<string,bigint>")
        joined = groups.join(by_protocol, [CLUSTER, "group"], "left")
        return joined.withColumn(_BY_PROTOCOL, sf.coalesce(_BY_PROTOCOL, none))

    return transform


def group_losses() -> Transform:
    """Return the losses of groups in the columns of metadata's losses (LOSS_COLUMNS); `source` is the partition."""

    def transform(tables: Tables) -> DataFrame:
        losses = require_columns(tables, GROUP_ANSWERS, "loss").filter(sf.col("loss").isNotNull())
        lost = losses.select(CLUSTER, sf.lit(Outcome.LOST.value).alias("outcome"), "loss.*")
        return lost.select(*LOSS_COLUMNS)

    return transform


def partition_readiness() -> Transform:
    """Return a row for each partition of `__consumer_offsets`: whether it would load, and what it holds.

    Columns: records, tombstones (not cleaned yet); load_fails, failing_records, and offset and reason of the first one;
    skipped (records that the target skips, by type); orphaned (records with a value that coordinators do not write at
    the cluster's levels, by type: `coordinator.records.written_records`); unknown_types (by type), without_type (keys
    too short for one), unknown_tags; needs_attention: it would not load, or has records of one of these kinds.
    """

    def transform(tables: Tables) -> DataFrame:
        answers = require_columns(tables, GROUP_ANSWERS, "partition", "load").filter(sf.col("load").isNotNull())
        loads = answers.select(CLUSTER, "partition", "load.*")
        levels = finalized_levels(tables).groupBy(CLUSTER)
        by_feature = levels.agg(sf.map_from_entries(sf.collect_list(sf.struct("feature", "level"))).alias("levels"))
        joined = loads.join(sf.broadcast(by_feature), CLUSTER, "left")
        orphaned = sf.map_filter("values", lambda type_, _: ~_is_written(type_))
        found = joined.withColumn("orphaned", orphaned).withColumn("load_fails", sf.col("failing_records") > 0)
        strange = functools.reduce(operator.or_, (sf.coalesce(sf.size(name) > 0, sf.lit(False)) for name in _STRANGE))
        return found.withColumn("needs_attention", sf.col("load_fails") | strange).select(
            CLUSTER, "partition", *_PARTITION_COLUMNS
        )

    return transform


def _answers(rows: ClusterRows, *, release: str) -> pa.Table:
    found = []
    for part in rows.parts(GROUP_RECORDS):
        wanted = np.asarray(part.read("partition")["partition"]) % rows.shares == rows.share
        if wanted.any():
            records = part.read(*RECORD_COLUMNS)
            found.append(records if wanted.all() else records.filter(pa.array(wanted)))
    return cluster_answers(Release.parse(release), pa.Table.from_batches(found)) if found else _NO_ANSWERS


def _is_written(type_: Column) -> Column:
    """Whether coordinators write a type of record at the levels in the column `levels`."""

    def level(feature: str) -> Column:
        return sf.coalesce(sf.try_element_at("levels", sf.lit(feature)), sf.lit(0))

    written = type_.isin(sorted(ALWAYS_WRITTEN))
    for rule in WRITING_RULES:
        applies = type_.isin(sorted(rule.types)) & (level(rule.feature) > 0)
        if rule.metadata_version_below is not None:
            applies &= level(METADATA_VERSION) < rule.metadata_version_below
        written |= applies
    return written
