"""Features that could be raised: all registered nodes support more than is finalized."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.tables.metadata_state import BROKERS, CONTROLLERS
from falkirk.pipeline.transforms.cluster_context import finalized_features
from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
from falkirk.pipeline.transforms.registered_nodes import registered_nodes
from falkirk.versions.features import KRAFT_VERSION

if TYPE_CHECKING:
    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows

_COLUMNS: Final[dict[str, pa.DataType]] = {
    "feature": pa.string(),
    "finalized_level": pa.int32(),
    "highest_level": pa.int32(),
}
_SCHEMA: Final = pa.schema(_COLUMNS)


def forgotten_finalisations() -> ClusterQuestion:
    """Return a row for each cluster and feature: cluster, feature, finalized_level (0: not finalized), highest_level.

    The latter is the highest level that every node supports, fenced ones too: `blockers` names nodes that hold a
    feature back. Dependencies on other features are not checked. kraft.version is left out, because raising it changes
    the voters.
    """
    return ClusterQuestion(needed=[BROKERS, CONTROLLERS, FEATURE_LEVELS], work=_forgotten, schema=_SCHEMA)


def _forgotten(rows: ClusterRows) -> pa.Table:
    nodes, finalized = [node.supported for node in registered_nodes(rows)], finalized_features(rows)
    known_to_all = functools.reduce(operator.and_, (node.keys() for node in nodes)) if nodes else set()
    found = []
    for feature in sorted(known_to_all - {KRAFT_VERSION}):
        lowest = max(node[feature].lowest for node in nodes)
        highest = min(node[feature].highest for node in nodes)
        level = finalized.get(feature, 0)
        if highest >= lowest and highest > level:
            found.append({"feature": feature, "finalized_level": level, "highest_level": highest})
    return pa.Table.from_pylist(found, _SCHEMA)
