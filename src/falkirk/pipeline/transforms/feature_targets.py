"""The levels of each cluster's finalized features at a target: `metadata.levels.feature_levels.levels_at`, row by row.

A cluster has a dozen features, and only a few levels of them are in use, so workers cache the answers.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import pyarrow as pa
from immutables import Map
from pyspark.sql import functions as sf

from falkirk.metadata.image.features import FeaturesImage
from falkirk.metadata.levels.feature_levels import FeatureTarget, levels_at
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.required import require_columns
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from falkirk.metadata.losses.loss import Loss
    from falkirk.pipeline.transforms.required import Tables, Transform

_COLUMNS: Final = {
    "kept_level": pa.int32(),
    "kind": pa.string(),
    "key": pa.string(),
    "key_fields": pa.string(),
    "record": pa.string(),
    "detail": pa.string(),
}


class FeatureAnswer(NamedTuple):
    """The level that a feature keeps, 0 for none, and what is told of the loss if that is lower."""

    kept_level: int
    kind: str | None = None
    key: str | None = None
    key_fields: str | None = None
    record: str | None = None
    detail: str | None = None


def feature_targets(at: MetadataVersion, release: Release) -> Transform:
    """Return a row for each finalized feature except metadata.version: its level, and the level at the target.

    Columns: cluster, feature, level, kept_level (0: dropped), and if that is lower kind, key, key_fields, record and
    detail as in a loss.
    """

    def transform(tables: Tables) -> DataFrame:
        finalized = finalized_levels(tables).filter(sf.col("feature") != METADATA_VERSION)
        schema = "cluster string, feature string, level int, kept_level int, kind string, key string, "
        schema += "key_fields string, record string, detail string"
        # Workers look the names up again: the releases' tables are not pickled.
        with_targets = functools.partial(_kept_levels, at=int(at.level), release=release.name)
        return finalized.mapInArrow(with_targets, schema)

    return transform


def finalized_levels(tables: Tables) -> DataFrame:
    """Return the levels at the end of each log: cluster, feature, level. A feature that is not finalized has no row."""
    levels = require_columns(tables, FEATURE_LEVELS, "feature", "to_level", "is_current")
    current = levels.filter(sf.col("is_current") & (sf.col("to_level") > 0))
    return current.select(CLUSTER, "feature", sf.col("to_level").cast("int").alias("level"))


def kept_level(feature: str, level: int, at: MetadataVersion, release: Release) -> tuple[int, Loss | None]:
    """Return the level of one feature at a target, 0 for none, and the loss if it is lower.

    For a given release, one feature's level does not depend on the others'.
    """
    target = FeatureTarget(metadata_version=at, release=release)
    levels, losses = levels_at(FeaturesImage(Map({feature: level})), target)
    return levels.get(feature, 0), losses[0] if losses else None


def _kept_levels(batches: Iterable[pa.RecordBatch], *, at: int, release: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found = [target_of(*row.values(), at, release) for row in batch.select(["feature", "level"]).to_pylist()]
        columns = list(zip(*found, strict=True)) or [()] * len(_COLUMNS)
        arrays = [pa.array(values, type_) for values, type_ in zip(columns, _COLUMNS.values(), strict=True)]
        yield pa.RecordBatch.from_arrays([*batch.columns, *arrays], names=[*batch.schema.names, *_COLUMNS])


@functools.cache
def target_of(feature: str, level: int, at: int, release: str) -> FeatureAnswer:
    """Return the answer for one feature, of a release by its name."""
    kept, loss = kept_level(feature, level, MetadataVersion.of_level(at), Release.parse(release))
    if loss is None:
        return FeatureAnswer(kept)
    key_fields = msgspec.json.encode(loss.key.fields()).decode()
    return FeatureAnswer(kept, loss.kind, loss.key_text, key_fields, loss.record, loss.detail)
