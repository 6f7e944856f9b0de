"""Arrow batches to Parquet files in their final places, written by workers; they count once they are committed."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyarrow import parquet

from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.tables.redaction import redacted
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.warehouse.manifest import DataFile
from falkirk.pipeline.warehouse.warehouse import check_cluster_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from falkirk.pipeline.warehouse.warehouse import Warehouse

_COMPRESSION: Final = "zstd"
# Columns of a table whose values hardly repeat: a dictionary of them is given up when it is full, after half the work.
_RISING: Final = frozenset({"offset", "position"})
_UNLIKE: Final = frozenset({"key", "value", "json"})
# Of one row group: a group for each few rows costs the writer a quarter of its time, and readers more.
_GROUP_ROWS: Final = 1 << 17
_GROUP_BYTES: Final = 1 << 25


@dataclass(slots=True)
class _OpenFile:
    path: str
    sink: pa.NativeFile
    writer: parquet.ParquetWriter
    rows: int = 0
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    waiting_rows: int = 0
    waiting_bytes: int = 0

    def write(self, rows: pa.RecordBatch) -> None:
        self.rows += rows.num_rows
        self.waiting.append(rows)
        self.waiting_rows += rows.num_rows
        self.waiting_bytes += rows.nbytes
        if self.waiting_rows >= _GROUP_ROWS or self.waiting_bytes >= _GROUP_BYTES:
            self._write_group()

    def close(self) -> None:
        if self.waiting:
            self._write_group()
        self.writer.close()

    def _write_group(self) -> None:
        self.writer.write_table(pa.Table.from_batches(self.waiting))
        self.waiting, self.waiting_rows, self.waiting_bytes = [], 0, 0


class DataFileWriter:
    """Writes the data files of one piece, one file for each table that has rows. A context manager.

    Every file has a name of its own, so nothing is ever overwritten. Secrets are left out unless `keep_secrets`. Raises
    WarehouseError if this worker does not see the warehouse.
    """

    def __init__(self, warehouse: Warehouse, cluster: str, *, keep_secrets: bool = False) -> None:
        check_cluster_name(cluster)
        warehouse.check_seen()
        self._warehouse = warehouse
        self._keep_secrets = keep_secrets
        self._folder = f"{CLUSTER}={cluster}"
        self._open: dict[str, _OpenFile] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def write(self, table: str, rows: pa.RecordBatch) -> None:
        """Add rows to a table. They must have exactly its columns."""
        if not rows.num_rows:
            return
        file = self._open.get(table) or self._create(table)
        file.write(rows if self._keep_secrets else redacted(table, rows))

    def write_rows(self, table: str, rows: Sequence[dict[str, Any]]) -> None:  # Any: values of columns
        """Add rows given as mappings from column to value."""
        self.write(table, TABLES[table].rows(rows))

    def close(self) -> tuple[DataFile, ...]:
        """Finish the files and return them."""
        found = []
        for table, file in self._open.items():
            file.close()
            found.append(DataFile(table=table, path=file.path, rows=file.rows, size=file.sink.tell()))
            file.sink.close()
        self._open = {}
        return tuple(found)

    def _create(self, table: str) -> _OpenFile:
        relative = f"{table}/{self._folder}/{uuid.uuid4().hex}.parquet"
        path = self._warehouse.path(relative)
        if self._warehouse.is_local:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        sink = self._warehouse.filesystem.open_output_stream(path)
        # Delta's times are microseconds.
        writer = parquet.ParquetWriter(
            sink,
            TABLES[table].schema,
            compression=_COMPRESSION,
            coerce_timestamps="us",
            use_dictionary=_repeating(table),  # type: ignore[arg-type]  # PyArrow takes paths of columns, too
            column_encoding=dict.fromkeys(_rising(table), "DELTA_BINARY_PACKED"),
            write_statistics=_flat(table),
        )
        file = self._open[table] = _OpenFile(relative, sink, writer)
        return file


def _rising(table: str) -> list[str]:
    """Return columns that rise from row to row, in most files."""
    return [field.name for field in TABLES[table].schema if field.name in _RISING and field.type == pa.int64()]


def _flat(table: str) -> list[str]:
    """Return the columns by whose bounds a reader can leave row groups out."""
    return [field.name for field in TABLES[table].schema if not pa.types.is_nested(field.type)]


@cache
def _repeating(table: str) -> list[str]:
    """Return the columns, those inside of others too, that a dictionary makes smaller, by their paths in the file."""
    sink = pa.BufferOutputStream()
    parquet.write_metadata(TABLES[table].schema, sink)
    found = parquet.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    paths = [found.column(index).path for index in range(len(found))]
    return [path for path in paths if path not in _UNLIKE | frozenset(_rising(table))]
