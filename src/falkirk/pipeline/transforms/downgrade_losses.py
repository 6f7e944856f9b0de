"""What each cluster's metadata loses at a target: the same losses, with the same places, as `falkirk logdir plan`.

What the plan counts as lost, and what costs nothing, has an outcome of its own here.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from falkirk.metadata.losses.loss import UNKNOWN_TAG, Outcome
from falkirk.metadata.losses.loss_catalogue import CATALOGUE, config_rules
from falkirk.pipeline.tables.metadata_state import UNKNOWN_TAGS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.cluster_context import (
    costs_nothing,
    depends_on_elr,
    elr_disabled,
    has_meaning,
    with_elr_enabled,
    with_log_dirs,
    with_own_level,
    with_stopped_brokers,
)
from falkirk.pipeline.transforms.feature_targets import feature_targets
from falkirk.pipeline.transforms.metadata_objects import METADATA_OBJECTS
from falkirk.pipeline.transforms.required import require_columns
from falkirk.pipeline.transforms.rule_matches import RULE, of_rule, rule_matches, rule_place
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.metadata_version import FLOOR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

    from falkirk.metadata.losses.loss import LossRule
    from falkirk.pipeline.transforms.metadata_objects import MetadataObjects
    from falkirk.pipeline.transforms.required import Tables, Transform
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release

CHANGED: Final = "changed"
"""Outcome of what `falkirk logdir plan` counts as lost and is only written in another form: see `costs_nothing`."""
LOSS_COLUMNS: Final = (
    CLUSTER,
    "outcome",
    "kind",
    "key",
    "key_fields",
    "record",
    "offset",
    "source",
    "detail",
)
"""Of each loss: outcome (`lost`, `changed`, `inaccessible`, `feature`), kind, the object as a phrase and as JSON, type,
offset and file of the record that wrote it last, and a sentence.
"""


def downgrade_losses(at: MetadataVersion, release: Release) -> Transform:
    """Return a row for each loss of the metadata (LOSS_COLUMNS) at a level that a release's nodes will read.

    `at` is not below FLOOR. Losses of groups are separate: `group_readiness.group_losses`.
    """
    assert at >= FLOOR, f"{at} is below {FLOOR}, and tables have not all that is lost there"

    def transform(tables: Tables) -> DataFrame:
        found = [_of_features(tables, at, release), _unknown_tags(tables)]
        # Whether eligible leader replicas are disabled depends on the cluster.
        rules = [rule for rule in CATALOGUE if rule.applies(at, elr_enabled=False)] + config_rules(at, release)
        for record, objects in METADATA_OBJECTS.items():
            of_record = [rule for rule in rules if rule.record == record]
            if of_record:
                rows = with_own_level(require_columns(tables, objects.table), of_record, tables)
                rows = with_log_dirs(rows, [rule.condition for rule in of_record], tables)
                rows = with_elr_enabled(rows, of_record, tables, at, release)
                rows = with_stopped_brokers(rows, of_record, tables)
                matches = rule_matches(rows, [(rule, _applies(rule, at)) for rule in of_record])
                found.append(_of_objects(matches, objects, of_record))
        return functools.reduce(DataFrame.unionAll, found)

    return transform


def _applies(rule: LossRule, at: MetadataVersion) -> Column:
    return has_meaning(rule) & elr_disabled() if depends_on_elr(rule, at) else has_meaning(rule)


def _of_objects(matches: DataFrame, objects: MetadataObjects, rules: Sequence[LossRule]) -> DataFrame:
    place = rule_place(rules)
    return _losses(
        matches,
        outcome=_outcome(rules),
        kind=of_rule(rules, lambda rule: rule.kind),
        key=objects.key_text(),
        key_fields=objects.key_fields(),
        record=sf.coalesce(place["record"], of_rule(rules, lambda rule: rule.record)),
        offset=place["offset"],
        source=place["source"],
        detail=of_rule(rules, lambda rule: rule.detail),
    )


def _outcome(rules: Sequence[LossRule]) -> Column:
    costless = sf.get(sf.array(*(costs_nothing(rule) for rule in rules)), sf.col(RULE))
    return sf.when(costless, CHANGED).otherwise(of_rule(rules, lambda rule: rule.outcome.value))


def _unknown_tags(tables: Tables) -> DataFrame:
    [rule] = [rule for rule in CATALOGUE if rule.kind == UNKNOWN_TAG]
    return _losses(
        require_columns(tables, UNKNOWN_TAGS, "key", "record", "written"),
        outcome=sf.lit(rule.outcome.value),
        kind=sf.lit(rule.kind),
        key=sf.col("key"),
        # The table has only the phrase of the object.
        key_fields=sf.lit(None).cast("string"),
        record=sf.coalesce("written.record", "record"),
        offset=sf.col("written.offset"),
        source=sf.col("written.source"),
        detail=sf.lit(rule.detail),
    )


def _of_features(tables: Tables, at: MetadataVersion, release: Release) -> DataFrame:
    targets = feature_targets(at, release)(tables)
    # kraft.version is converted, not lost: the voters move into the configuration.
    lowered = targets.filter((sf.col("kept_level") < sf.col("level")) & (sf.col("feature") != KRAFT_VERSION))
    return _losses(
        lowered,
        outcome=sf.lit(Outcome.FEATURE.value),
        kind=sf.col("kind"),
        key=sf.col("key"),
        key_fields=sf.col("key_fields"),
        record=sf.col("record"),
        offset=sf.lit(None).cast("bigint"),
        source=sf.lit(None).cast("string"),
        detail=sf.col("detail"),
    )


def _losses(rows: DataFrame, *, key: Column, detail: Column, **columns: Column) -> DataFrame:
    columns |= {"key": key, "detail": sf.replace(detail, sf.lit("{key}"), key)}
    return rows.select(CLUSTER, *(columns[name].alias(name) for name in LOSS_COLUMNS if name != CLUSTER))
