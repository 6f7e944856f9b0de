"""Arrow batches to Parquet files in a run's staging directory, written by workers."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from pyarrow import parquet

from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.warehouse.manifest import DataFile
from falkirk.pipeline.warehouse.redaction import redacted
from falkirk.pipeline.warehouse.warehouse import check_cluster_name

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    import pyarrow as pa

    from falkirk.pipeline.warehouse.warehouse import Warehouse

_COMPRESSION: Final = "zstd"


class DataFileWriter:
    """Writes the data files of one piece, one file for each table that has rows. A context manager.

    File names are made of the piece's key and the run, so no run overwrites the files of another. Secrets are left out
    unless `keep_secrets`.
    """

    def __init__(self, warehouse: Warehouse, run: str, cluster: str, key: str, *, keep_secrets: bool = False) -> None:
        check_cluster_name(cluster)
        self._warehouse = warehouse
        self._keep_secrets = keep_secrets
        self._staging = warehouse.staging(run)
        self._name = f"{sha256(key.encode()).hexdigest()[:16]}-{run}.parquet"
        self._cluster = cluster
        self._writers: dict[str, parquet.ParquetWriter] = {}
        self._rows: dict[str, int] = {}

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
        writer = self._writers.get(table)
        if writer is None:
            path = self._warehouse.path(f"{self._staging}/{self._path(table)}")
            self._warehouse.filesystem.create_dir(path.rpartition("/")[0], recursive=True)
            writer = parquet.ParquetWriter(
                path, TABLES[table].schema, filesystem=self._warehouse.filesystem, compression=_COMPRESSION
            )
            self._writers[table] = writer
        writer.write_batch(rows if self._keep_secrets else redacted(table, rows))
        self._rows[table] = self._rows.get(table, 0) + rows.num_rows

    def write_rows(self, table: str, rows: Sequence[dict[str, Any]]) -> None:  # Any: values of columns
        """Add rows given as mappings from column to value."""
        self.write(table, TABLES[table].rows(rows))

    def close(self) -> tuple[DataFile, ...]:
        """Finish the files and return them."""
        for writer in self._writers.values():
            writer.close()
        return tuple(DataFile(table=table, path=self._path(table), rows=rows) for table, rows in self._rows.items())

    def _path(self, table: str) -> str:
        return f"{table}/{CLUSTER}={self._cluster}/{self._name}"
