"""What becomes of each cluster's finalized features at a target: `metadata.feature_levels.levels_at`, asked row by row.

A cluster has a dozen features, and only a few levels of them are in use: workers remember what they were told.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from immutables import Map
from pyspark.sql import functions as sf

from falkirk.metadata.feature_levels import FeatureTarget, levels_at
from falkirk.metadata.image.features import FeaturesImage
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.required import require_columns
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from falkirk.metadata.loss import Loss
    from falkirk.pipeline.transforms.required import Tables, Transform


def feature_targets(at: MetadataVersion, release: Release) -> Transform:
    """Give a row for each finalized feature but metadata.version: its level, and the one that the target keeps.

    Columns: cluster, feature, level, kept_level (0: dropped), and where that is lower kind, key, key_fields, record
    and detail, as a loss has them.
    """

    def transform(tables: Tables) -> DataFrame:
        finalized = finalized_levels(tables).filter(sf.col("feature") != METADATA_VERSION)
        schema = "cluster string, feature string, level int, kept_level int, kind string, key string, "
        schema += "key_fields string, record string, detail string"
        # The workers look the names up again: the releases' tables do not travel.
        told = functools.partial(_kept_levels, at=int(at.level), release=release.name)
        return finalized.mapInArrow(told, schema)

    return transform


def finalized_levels(tables: Tables) -> DataFrame:
    """Give the levels at the end of each log: cluster, feature, level. What is not finalized has no row."""
    levels = require_columns(tables, FEATURE_LEVELS, "feature", "to_level", "is_current")
    current = levels.filter(sf.col("is_current") & (sf.col("to_level") > 0))
    return current.select(CLUSTER, "feature", sf.col("to_level").cast("int").alias("level"))


def kept_level(feature: str, level: int, at: MetadataVersion, release: Release) -> tuple[int, Loss | None]:
    """Give the level that a target keeps of one feature's, 0 for none, and what is lost where it is lower.

    With the release named, one feature's level does not depend on the others'.
    """
    target = FeatureTarget(metadata_version=at, release=release)
    levels, losses = levels_at(FeaturesImage(Map({feature: level})), target)
    return levels.get(feature, 0), losses[0] if losses else None


def _kept_levels(batches: Iterable[pa.RecordBatch], *, at: int, release: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found = [_told(*row.values(), at, release) for row in batch.select(["feature", "level"]).to_pylist()]
        columns = list(zip(*found, strict=True)) or [()] * len(_TOLD)
        arrays = [pa.array(values, type_) for values, type_ in zip(columns, _TOLD.values(), strict=True)]
        yield pa.RecordBatch.from_arrays([*batch.columns, *arrays], names=[*batch.schema.names, *_TOLD])


@functools.cache
def _told(
    feature: str, level: int, at: int, release: str
) -> tuple[int, str | None, str | None, str | None, str | None, str | None]:
    kept, loss = kept_level(feature, level, MetadataVersion.of_level(at), Release.parse(release))
    if loss is None:
        return kept, None, None, None, None, None
    return kept, loss.kind, loss.key_text, json.dumps(loss.key.fields()), loss.record, loss.detail


_TOLD: Final = {
    "kept_level": pa.int32(),
    "kind": pa.string(),
    "key": pa.string(),
    "key_fields": pa.string(),
    "record": pa.string(),
    "detail": pa.string(),
}
