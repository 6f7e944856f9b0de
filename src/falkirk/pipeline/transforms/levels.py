"""Each cluster's finalized levels, and the releases that run them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from falkirk.pipeline.fleet import TAGS
from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.tables.table import STRINGS, TIMESTAMP
from falkirk.pipeline.transforms.cluster_context import finalized_features
from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
from falkirk.versions.errors import IncompleteReleaseError, UnknownMetadataVersionError
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release, all_releases

if TYPE_CHECKING:
    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows
    from falkirk.versions.supported_range import SupportedRange

_COLUMNS: Final[dict[str, pa.DataType]] = {
    "cluster_id": pa.string(),
    "level": pa.int32(),
    "metadata_version": pa.string(),
    "releases": STRINGS,
    "features": pa.map_(pa.string(), pa.int32()),
    "last_timestamp": TIMESTAMP,
    **dict.fromkeys(TAGS, pa.string()),
}
_SCHEMA: Final = pa.schema(_COLUMNS)


def levels() -> ClusterQuestion:
    """Return a row for each cluster whose metadata was read.

    Columns: cluster, cluster_id, level (null: no metadata.version is finalized), metadata_version (its name), releases
    (those that run the level, `3.9`), features (the other finalized levels by name), last_timestamp, and its TAGS.
    """
    return ClusterQuestion(needed=[CLUSTERS, FEATURE_LEVELS], work=_levels_of, schema=_SCHEMA)


def level_name(level: int | None) -> str | None:
    """Return the name of a level of metadata.version, `3.9-IV0`; None for an unknown one."""
    try:
        return None if level is None else MetadataVersion.of_level(level).name
    except UnknownMetadataVersionError:
        return None


def _levels_of(rows: ClusterRows) -> pa.Table:
    features = sorted((name, level) for name, level in finalized_features(rows).items() if name != METADATA_VERSION)
    found = []
    for row in rows.read(CLUSTERS, "cluster_id", "metadata_version", "last_timestamp", *TAGS).to_pylist():
        level = row["metadata_version"]
        names = {"level": level, "metadata_version": level_name(level)}
        found.append(row | names | {"releases": _releases(level), "features": features})
    return pa.Table.from_pylist(found, _SCHEMA)


def _releases(level: int | None) -> list[str]:
    return [release.word for release in all_releases() if level in (_supported(release) or ())]


@functools.cache
def _supported(release: Release) -> SupportedRange | None:
    try:
        return release.supported_features()[METADATA_VERSION]
    except IncompleteReleaseError:
        return None
