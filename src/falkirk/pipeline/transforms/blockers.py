"""All nodes that block a target while the cluster runs, and what to do about each.

A feature level is finalized only if every registered node supports it, fenced ones too; so a node that is long gone,
but was never unregistered, blocks like any other. Source: KIP-584, KIP-1155.
"""

from __future__ import annotations

import functools
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from falkirk.pipeline.tables.clusters import CLUSTERS
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.tables.metadata_state import BROKERS, CONTROLLERS
from falkirk.pipeline.tables.table import TIMESTAMP
from falkirk.pipeline.transforms.cluster_context import finalized_features
from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
from falkirk.pipeline.transforms.feature_targets import target_of
from falkirk.pipeline.transforms.registered_nodes import registered_nodes
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from falkirk.pipeline.transforms.registered_nodes import RegisteredNode
    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release

    Row = dict[str, Any]  # Any: values of columns

GHOST_AFTER: Final = timedelta(days=7)
"""Longer than an outage that is still being worked on."""
_COLUMNS: Final[dict[str, pa.DataType]] = {
    "role": pa.string(),
    "node_id": pa.int32(),
    "feature": pa.string(),
    "level": pa.int32(),
    "min_supported": pa.int16(),
    "max_supported": pa.int16(),
    "fenced_since": TIMESTAMP,
    "is_ghost": pa.bool_(),
    "what_to_do": pa.string(),
}
_SCHEMA: Final = pa.schema(_COLUMNS)


def blockers(at: MetadataVersion, release: Release, *, ghost_after: timedelta = GHOST_AFTER) -> ClusterQuestion:
    """Return a row for each node and each feature level of the target that it does not support.

    The levels are metadata.version's and those of the other features that would stay finalized. Ghosts (brokers that
    have been fenced for `ghost_after` or longer at the end of the metadata) that support all levels have one row
    without a feature: they block the next move. Columns: cluster, role, node_id, feature, level, min_supported,
    max_supported (null: it does not know the feature), fenced_since, is_ghost, what_to_do.
    """
    # Workers look the names up again: the releases' tables are not pickled.
    work = functools.partial(_blockers_of, at=int(at.level), release=release.name, ghost_after=ghost_after)
    return ClusterQuestion(needed=[CLUSTERS, BROKERS, CONTROLLERS, FEATURE_LEVELS], work=work, schema=_SCHEMA)


def _blockers_of(rows: ClusterRows, *, at: int, release: str, ghost_after: timedelta) -> pa.Table:
    wanted = {METADATA_VERSION: at} | {
        feature: kept
        for feature, level in finalized_features(rows).items()
        if feature != METADATA_VERSION and (kept := target_of(feature, level, at, release).kept_level) > 0
    }
    found = []
    for now in rows.read(CLUSTERS, "last_timestamp")["last_timestamp"].to_pylist():
        for node in registered_nodes(rows):
            since = node.fenced_since
            is_ghost = now is not None and since is not None and now - since >= ghost_after
            lacks = [each for each in wanted.items() if each[1] not in (node.supported.get(each[0]) or ())]
            found += [_row(node, *lack, is_ghost=is_ghost) for lack in lacks]
            if is_ghost and not lacks:
                found.append(_row(node, is_ghost=is_ghost))
    return pa.Table.from_pylist(found, _SCHEMA)


def _row(node: RegisteredNode, feature: str = "", level: int | None = None, *, is_ghost: bool) -> Row:
    """Return the row of a feature that a node does not support, or of a ghost without one."""
    known = node.supported.get(feature)
    unregister = f"kafka-cluster.sh unregister --bootstrap-server HOST:PORT --id {node.node_id}"
    another = "an older" if known is not None and level is not None and level < known.lowest else "a newer"
    what_to_do = f"put {another} release on it"
    if is_ghost:
        what_to_do = unregister
    elif node.fenced:
        what_to_do += f", or if it is gone for good: {unregister}"
    return {
        "role": node.role,
        "node_id": node.node_id,
        "feature": feature or None,
        "level": level,
        "min_supported": None if known is None else known.lowest,
        "max_supported": None if known is None else known.highest,
        "fenced_since": node.fenced_since,
        "is_ghost": is_ghost,
        "what_to_do": what_to_do,
    }
