"""Facts about a whole cluster for rules of the loss catalogue, from its rows in a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.tables.metadata_state import BROKERS
from falkirk.versions.metadata_version import METADATA_VERSIONS, MetadataVersion

if TYPE_CHECKING:
    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows


class Brokers(NamedTuple):
    """What rules ask about brokers: the log dir of each that has exactly one, and those that were stopped cleanly."""

    single_log_dirs: dict[int, str]
    stopped: list[int]


def brokers_of(rows: ClusterRows) -> Brokers:
    """Return the facts from BROKERS."""
    found = rows.read(BROKERS, "broker_id", "log_dirs", "fenced", "in_controlled_shutdown").to_pylist()
    return Brokers(
        {row["broker_id"]: row["log_dirs"][0] for row in found if len(row["log_dirs"] or ()) == 1},
        [row["broker_id"] for row in found if row["fenced"] and row["in_controlled_shutdown"]],
    )


def own_level(rows: ClusterRows) -> MetadataVersion:
    """Return the cluster's own level, from CLUSTERS; the highest for one without a level, which may hold anything."""
    [level] = rows.read(CLUSTERS, "metadata_version")["metadata_version"].to_pylist() or [None]
    return METADATA_VERSIONS[-1] if level is None else MetadataVersion.of_level(level)


def finalized_features(rows: ClusterRows) -> dict[str, int]:
    """Return the levels of features at the end of the log, from FEATURE_LEVELS. Nearly all questions need them."""
    return rows.once(_finalized)


def _finalized(rows: ClusterRows) -> dict[str, int]:
    found = rows.read(FEATURE_LEVELS, "feature", "to_level", "is_current").to_pylist()
    return {row["feature"]: row["to_level"] for row in found if row["is_current"] and (row["to_level"] or 0) > 0}
