"""The tables and columns that a transform needs; a missing one is named before Spark fails.

Every transform is `name(arguments) -> Transform`: the outer function binds the arguments, the inner one takes the
tables by name and returns a DataFrame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from falkirk.pipeline.errors import PipelineError
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.warehouse.fleet_tables import FleetTables

if TYPE_CHECKING:
    from falkirk.pipeline.tables.table import Table

Tables = Mapping[str, DataFrame]
"""Tables of a warehouse, or results of transforms, by name."""
Transform = Callable[[Tables], DataFrame]


class MissingTableError(PipelineError):
    """A table is missing, or lacks a column."""


def require_columns(tables: Tables, table: Table, *columns: str) -> DataFrame:
    """Return the cluster and these columns of a table, in this order; without columns, all that it has.

    Raises MissingTableError naming the table and the columns that it lacks.
    """
    names = [CLUSTER, *(columns or table.schema.names)]
    unknown = set(names) - set(table.full_schema.names)
    assert not unknown, f"no column of table {table.name}: {unknown}"
    if isinstance(tables, FleetTables) and table.name in TABLES:
        return tables.chosen(table, names)
    frame = tables.get(table.name)
    if frame is None:
        raise MissingTableError(f"table {table.name} is not here")
    missing = [name for name in names if name not in frame.columns]
    if missing:
        which = f"column {missing[0]}" if len(missing) == 1 else f"columns {', '.join(missing)}"
        raise MissingTableError(f"table {table.name} has no {which}")
    return frame.select(*names)
