"""Registered nodes, brokers and controllers alike, with the levels that each supports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sf

from falkirk.pipeline.tables.metadata_state import BROKERS, CONTROLLERS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.required import require_columns

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from falkirk.pipeline.transforms.required import Tables

BROKER: Final = "broker"
CONTROLLER: Final = "controller"


def registered_nodes(tables: Tables) -> DataFrame:
    """Return cluster, role (broker or controller), node_id, features, fenced, fenced_since (null if not fenced)."""
    brokers = require_columns(tables, BROKERS, "broker_id", "features", "fenced", "fenced_since")
    controllers = require_columns(tables, CONTROLLERS, "controller_id", "features")
    fenced = sf.coalesce("fenced", sf.lit(False))
    since = sf.when(fenced, sf.col("fenced_since"))
    never, not_fenced = sf.lit(None).cast("timestamp"), sf.lit(False)
    return _nodes(brokers, BROKER, "broker_id", fenced, since).unionAll(
        _nodes(controllers, CONTROLLER, "controller_id", not_fenced, never)
    )


def _nodes(rows: DataFrame, role: str, node_id: str, fenced: Column, fenced_since: Column) -> DataFrame:
    return rows.select(
        CLUSTER,
        sf.lit(role).alias("role"),
        sf.col(node_id).alias("node_id"),
        sf.coalesce("features", sf.array()).alias("features"),
        fenced.alias("fenced"),
        fenced_since.alias("fenced_since"),
    )
