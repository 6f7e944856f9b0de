"""Questions that are asked of one cluster at a time, in a worker that reads the cluster's rows.

Such a question is a transform. A report asks many at once, and the files of a cluster are read once for all of them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame

from falkirk.pipeline.spark.tasks import TASK_BYTES, run_tasks
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.required import require_columns
from falkirk.pipeline.warehouse.cluster_rows import rows_in_memory, with_cluster
from falkirk.pipeline.warehouse.fleet_tables import FleetTables, arrow_schema, columns_of, rows_schema, unit_rows
from falkirk.pipeline.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.pipeline.spark.job_progress import Progress
    from falkirk.pipeline.tables.table import Table
    from falkirk.pipeline.transforms.required import Tables
    from falkirk.pipeline.warehouse.fleet_tables import ClusterWork, Unit

    Key = tuple[pa.Scalar[Any], ...]  # Any: of a text

_CELL: Final = f"{CLUSTER} string, name string, rows binary"
_TITLE: Final = "asking clusters"
# Clusters that a worker answers for at once: results are pickled together.
_BATCH_CLUSTERS: Final = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterQuestion:
    """A transform: the rows that `work` makes of each cluster with rows in the tables needed.

    The result has the columns of `schema` behind the cluster's name. A large cluster is worked on in shares if
    `shared`.
    """

    needed: Sequence[Table]
    work: ClusterWork
    schema: pa.Schema
    shared: bool = False

    def __call__(self, tables: Tables) -> DataFrame:
        """Ask each cluster. Tables may be given as frames. Raises MissingTableError."""
        needed = _once(self.needed)
        if isinstance(tables, FleetTables) and tables.are_files(needed):
            return tables.each_cluster(needed, self.work, self.schema, shared=self.shared)
        # The rows of a cluster in one table become one cell, and its cells come together.
        cells = [_cells(require_columns(tables, table), table.name) for table in needed]
        gathered = functools.reduce(DataFrame.unionAll, cells).groupBy(CLUSTER)
        work, target = self.work, arrow_schema(self.schema)
        # Spark looks for type hints in functions, and understands few.
        return gathered.applyInArrow(lambda key, rows: _work_on(key, rows, work, target), rows_schema(self.schema))


def rows_of(table: Table) -> ClusterQuestion:
    """Return the question for all rows of a table that has a few for each cluster."""
    work = functools.partial(columns_of, table=table.name, names=table.schema.names)
    return ClusterQuestion(needed=[table], work=work, schema=table.schema)


def ask_clusters(
    tables: FleetTables, questions: Mapping[str, ClusterQuestion], progress: Progress
) -> dict[str, pa.Table]:
    """Ask all clusters several questions at once; the tables are those of the warehouse."""
    shared = any(question.shared for question in questions.values())
    needed = _once(table for question in questions.values() for table in question.needed)
    batches: list[list[Unit]] = []
    size = 0
    for unit in tables.units(needed, shared=shared):
        if not batches or len(batches[-1]) >= _BATCH_CLUSTERS or size + unit.size > TASK_BYTES:
            batches.append([])
            size = 0
        batches[-1].append(unit)
        size += unit.size
    weights = [sum(unit.size for unit in batch) for batch in batches]
    work = functools.partial(_answers, uri=tables.uri, questions=dict(questions))
    found = run_tasks(tables.spark, work, batches, weights, title=_TITLE, progress=progress)
    empty = {name: arrow_schema(question.schema).empty_table() for name, question in questions.items()}
    return {
        name: pa.concat_tables([empty[name], *(each[name] for each in found if name in each)]) for name in questions
    }


def _answers(units: Sequence[Unit], *, uri: str, questions: Mapping[str, ClusterQuestion]) -> dict[str, pa.Table]:
    """Answer in a worker, for some clusters."""
    warehouse = Warehouse(uri)
    found: dict[str, list[pa.Table]] = {name: [] for name in questions}
    clusters: dict[str, list[str]] = {name: [] for name in questions}
    for unit in units:
        with unit_rows(warehouse, unit) as rows:
            for name, question in questions.items():
                if (question.shared or unit.share == 0) and (answer := question.work(rows)).num_rows:
                    found[name].append(answer)
                    clusters[name] += [unit.cluster] * answer.num_rows
    return {
        name: pa.concat_tables(parts)
        .combine_chunks()
        .add_column(0, CLUSTER, [clusters[name]])
        .cast(arrow_schema(question.schema))
        for name, question in questions.items()
        if (parts := found[name])
    }


def _once(tables: Iterable[Table]) -> list[Table]:
    return list({table.name: table for table in tables}.values())


def _cells(frame: DataFrame, name: str) -> DataFrame:
    return frame.groupBy(CLUSTER).applyInArrow(lambda key, rows: _cell(key, rows, name), _CELL)


def _cell(key: Key, rows: pa.Table, name: str) -> pa.Table:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return pa.table({CLUSTER: [key[0].as_py()], "name": [name], "rows": [sink.getvalue().to_pybytes()]})


def _work_on(key: Key, cells: pa.Table, work: ClusterWork, target: pa.Schema) -> pa.Table:
    cluster = str(key[0].as_py())
    tables = {cell["name"]: pa.ipc.open_stream(cell["rows"]).read_all() for cell in cells.to_pylist()}
    return with_cluster(work(rows_in_memory(tables)), cluster).cast(target)
