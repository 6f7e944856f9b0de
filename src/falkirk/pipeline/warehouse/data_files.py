"""Arrow batches to Parquet files in their final places, written by workers; they count once they are committed."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
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

    def write(self, rows: pa.RecordBatch) -> None:
        self.rows += rows.num_rows
        self.waiting.append(rows)
        if (
            sum(each.num_rows for each in self.waiting) >= _GROUP_ROWS
            or sum(each.nbytes for each in self.waiting) >= _GROUP_BYTES
        ):
            self._write_group()

    def close(self) -> None:
        if self.waiting:
            self._write_group()
        self.writer.close()

    def _write_group(self) -> None:
        self.writer.write_table(pa.Table.from_batches(self.waiting))
        self.waiting = []


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
        schema = TABLES[table].schema
        # Delta's times are microseconds.
        writer = parquet.ParquetWriter(sink, schema, compression=_COMPRESSION, coerce_timestamps="us")
        file = self._open[table] = _OpenFile(relative, sink, writer)
        return file
