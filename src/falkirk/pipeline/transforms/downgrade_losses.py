"""What each cluster's metadata loses at a target: the same losses, with the same places, as `falkirk logdir plan`.

What the plan counts as lost, and what costs nothing, has an outcome of its own here.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from falkirk.metadata.losses.loss import UNKNOWN_TAG, Outcome
from falkirk.metadata.losses.loss_catalogue import CATALOGUE, config_rules
from falkirk.pipeline.state.groups.group_answers import LOSS_ANSWER
from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.tables.metadata_state import BROKERS, UNKNOWN_TAGS
from falkirk.pipeline.transforms.cluster_context import brokers_of, finalized_features, own_level
from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
from falkirk.pipeline.transforms.feature_targets import target_of
from falkirk.pipeline.transforms.metadata_objects import METADATA_OBJECTS, place_column
from falkirk.pipeline.transforms.object_keys import joined
from falkirk.pipeline.transforms.rule_matches import rule_matches
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION, KRAFT_VERSION
from falkirk.versions.metadata_version import FLOOR, METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.metadata.losses.loss import LossRule
    from falkirk.pipeline.transforms.rule_matches import Matches
    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows

    Values = pa.Array[Any]  # Any: of the column's own type

CHANGED: Final = "changed"
"""Outcome of what `falkirk logdir plan` counts as lost and is only written in another form."""
LOSSES: Final = pa.schema([pa.field("outcome", pa.string()), *LOSS_ANSWER])
"""Of each loss: outcome (`lost`, `changed`, `inaccessible`, `feature`), kind, the object as a phrase and as JSON, type,
offset and file of the record that wrote it last, and a sentence.
"""


def downgrade_losses(at: MetadataVersion, release: Release) -> ClusterQuestion:
    """Return a row for each loss of the metadata (LOSSES) at a level that a release's nodes will read.

    `at` is not below FLOOR. Losses of groups are separate: `group_readiness.group_losses`.
    """
    assert at >= FLOOR, f"{at} is below {FLOOR}, and tables have not all that is lost there"
    # Workers look the names up again: the releases' tables are not pickled.
    work = functools.partial(_losses_of, at=int(at.level), release=release.name)
    objects = [METADATA_OBJECTS[rule.record].table for rule in _rules(int(at.level), release.name)]
    needed = [CLUSTERS, FEATURE_LEVELS, UNKNOWN_TAGS, BROKERS, *objects]
    return ClusterQuestion(needed=needed, work=work, schema=LOSSES)


@functools.cache
def _rules(at: int, release: str) -> tuple[LossRule, ...]:
    """Return the rules that may apply: whether eligible leader replicas are disabled depends on the cluster."""
    target = MetadataVersion.of_level(at)
    rules = [rule for rule in CATALOGUE if rule.applies(target, elr_enabled=False)]
    rules += config_rules(target, Release.parse(release))
    return tuple(rule for rule in rules if rule.record in METADATA_OBJECTS)


def _losses_of(rows: ClusterRows, *, at: int, release: str) -> pa.Table:
    target, features, own = MetadataVersion.of_level(at), finalized_features(rows), own_level(rows)
    elr = features.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0)
    elr_enabled = elr > 0 and target_of(ELIGIBLE_LEADER_REPLICAS_VERSION, elr, at, release).kept_level > 0
    rules = [
        rule for rule in _rules(at, release) if rule.has_meaning(own) and rule.applies(target, elr_enabled=elr_enabled)
    ]
    found = [_of_features(features, at, release), *_unknown_tags(rows)]
    found += [_of_objects(matches) for matches in rule_matches(rows, rules, brokers_of(rows))]
    return pa.Table.from_batches(found, LOSSES)


def _of_objects(matches: Matches) -> pa.RecordBatch:
    rule, rows = matches.rule, matches.rows
    objects = METADATA_OBJECTS[rule.record]
    return _losses(
        rule,
        key=objects.key_text(rows),
        key_fields=objects.key_fields(rows),
        place=rows[place_column(rule)],
        record=pa.repeat(rule.record, len(matches)),
        outcome=pa.array(np.where(matches.costs_nothing, CHANGED, rule.outcome.value), pa.string()),
    )


def _unknown_tags(rows: ClusterRows) -> Iterator[pa.RecordBatch]:
    [rule] = [rule for rule in CATALOGUE if rule.kind == UNKNOWN_TAG]
    for part in rows.parts(UNKNOWN_TAGS):
        key, record, written = part.read("key", "record", "written").columns
        # The table has only the phrase of the object.
        yield _losses(rule, key=key, key_fields=pa.nulls(len(key), pa.string()), place=written, record=record)


def _of_features(features: dict[str, int], at: int, release: str) -> pa.RecordBatch:
    # kraft.version is converted, not lost: the voters move into the configuration.
    names = features.keys() - {METADATA_VERSION, KRAFT_VERSION}
    targets = [target_of(name, features[name], at, release) for name in sorted(names)]
    return pa.RecordBatch.from_pylist(
        [{"outcome": Outcome.FEATURE.value, **target._asdict()} for target in targets if target.kind is not None],
        schema=LOSSES,
    )


def _losses(
    rule: LossRule,
    *,
    key: Values,
    key_fields: Values,
    place: Values,
    record: Values,
    outcome: Values | None = None,
) -> pa.RecordBatch:
    """Return rows of losses; `record` is told where the place is unknown."""
    count = len(key)
    before, *rest = rule.detail.split("{key}")
    parts = [before, *(part for text in rest for part in (key, text))]
    columns = {
        "outcome": pa.repeat(rule.outcome.value, count) if outcome is None else outcome,
        "kind": pa.repeat(rule.kind, count),
        "key": key,
        "key_fields": key_fields,
        "record": pc.coalesce(pc.struct_field(place, "record"), record),
        "offset": pc.struct_field(place, "offset"),
        "source": pc.struct_field(place, "source"),
        "detail": joined(parts, count),
    }
    return pa.RecordBatch.from_pydict(columns, schema=LOSSES)
