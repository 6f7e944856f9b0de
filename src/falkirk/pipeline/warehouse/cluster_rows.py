"""The rows of one cluster, as a worker reads them: by table and part, and of each part the columns asked for."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
from pyarrow import parquet

from falkirk.pipeline.tables.table import CLUSTER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from falkirk.pipeline.tables.table import Table
    from falkirk.pipeline.warehouse.warehouse import Warehouse

    T = TypeVar("T")
    Values = pa.Array[Any]  # Any: of the column's own type

# Of small parts columns are kept for the next question.
_KEPT_ROWS: Final = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some rows of a table: a row group of a file. `load` reads columns that are among `names`."""

    table: Table
    count: int
    names: frozenset[str]
    load: Callable[[list[str]], pa.Table]
    _kept: dict[str, Values] = field(default_factory=dict)

    def read(self, *columns: str) -> pa.RecordBatch:
        """Return columns; one that an older file lacks is null."""
        found = dict(self._kept)
        missing = [name for name in dict.fromkeys(columns) if name not in found]
        if missing:
            rows = self.load([name for name in missing if name in self.names])
            for name in missing:
                found[name] = self._column(rows, name)
            if self.count <= _KEPT_ROWS:
                self._kept.update(found)
        schema = pa.schema([self.table.schema.field(name) for name in columns])
        return pa.RecordBatch.from_arrays([found[name] for name in columns], schema=schema)

    def _column(self, rows: pa.Table, name: str) -> Values:
        type_ = self.table.schema.field(name).type
        column: Values
        if name in self.names:
            chunks = rows[name].chunks
            column = chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)
        else:
            column = pa.nulls(self.count)
        return column if column.type == type_ else column.cast(type_, safe=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRows:
    """The rows of a cluster. The work on a large one may be shared: this is `share` of `shares`, from 0."""

    parts: Callable[[Table], Iterable[Part]]
    share: int = 0
    shares: int = 1
    _found: dict[object, Any] = field(default_factory=dict)  # Any: T of `once`

    def once(self, work: Callable[..., T], *arguments: object) -> T:
        """Return what `work` makes of these rows and the arguments; the next question finds it. Do not change it."""
        key = (work, *arguments)
        if key not in self._found:
            self._found[key] = work(self, *arguments)
        found: T = self._found[key]
        return found

    def read(self, table: Table, *columns: str) -> pa.Table:
        """Return columns of all rows of a table."""
        schema = pa.schema([table.schema.field(name) for name in columns])
        return pa.Table.from_batches([part.read(*columns) for part in self.parts(table)], schema)


@contextmanager
def rows_in_files(
    warehouse: Warehouse, paths: Mapping[str, Sequence[str]], *, share: int = 0, shares: int = 1
) -> Iterator[ClusterRows]:
    """Open a cluster's rows in data files of the warehouse; each file is opened once.

    `paths`: table -> paths below its directory.
    """
    opened: dict[str, list[Part]] = {}
    with ExitStack() as stack:

        def parts(table: Table) -> list[Part]:
            if table.name not in opened:
                files = [_opened(warehouse, f"{table.name}/{path}", stack) for path in paths.get(table.name, ())]
                opened[table.name] = [part for file in files for part in _parts(table, file)]
            return opened[table.name]

        yield ClusterRows(parts=parts, share=share, shares=shares)


def rows_in_memory(tables: Mapping[str, pa.Table]) -> ClusterRows:
    """Return a cluster's rows in tables by name."""

    def parts(table: Table) -> Iterator[Part]:
        rows = tables.get(table.name)
        if rows is not None and rows.num_rows:
            yield Part(table=table, count=rows.num_rows, names=frozenset(rows.schema.names), load=rows.select)

    return ClusterRows(parts=parts)


def with_cluster(rows: pa.Table, cluster: str) -> pa.Table:
    """Return the rows with the name of their cluster as first column."""
    return rows.add_column(0, CLUSTER, pa.repeat(cluster, rows.num_rows))


def _opened(warehouse: Warehouse, path: str, stack: ExitStack) -> parquet.ParquetFile:
    source = stack.enter_context(warehouse.filesystem.open_input_file(warehouse.path(path)))
    return stack.enter_context(parquet.ParquetFile(source))


def _parts(table: Table, file: parquet.ParquetFile) -> Iterator[Part]:
    names = frozenset(file.schema_arrow.names)
    for index in range(file.num_row_groups):
        count = file.metadata.row_group(index).num_rows
        yield Part(table=table, count=count, names=names, load=partial(_load, file, index))


def _load(file: parquet.ParquetFile, group: int, columns: list[str]) -> pa.Table:
    return file.read_row_group(group, columns=columns, use_threads=False)
