"""The Delta Lake log of a table, by delta-rs: commits of data files that exist already, and the files of a version.

The Delta protocol: https://github.com/delta-io/delta/blob/master/PROTOCOL.md. A commit carries the transaction
`falkirk` with the number of the warehouse's commit, so that a repeated one is recognised.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction, Transaction, create_table_with_add_actions

from falkirk.pipeline.errors import WarehouseError
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.tables.table import CLUSTER

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from falkirk.pipeline.tables.table import Table
    from falkirk.pipeline.warehouse.manifest import DataFile

_APP: Final = "falkirk"
# Some of a store's errors are OSErrors.
_ERRORS: Final = (DeltaError, OSError)
_PARTITION: Final = [CLUSTER]
# delta-rs takes everything else from the same variables as PyArrow, but must be told that a store has no TLS.
_ENDPOINT: Final = "AWS_ENDPOINT_URL"


def widen(uri: str, table: str) -> None:
    """Add the columns that the table at `uri` does not have yet. Raises WarehouseError if one has changed its type."""
    options, schema = _storage_options(), _delta_schema(TABLES[table])
    if not DeltaTable.is_deltatable(uri, options):
        return
    log = DeltaTable(uri, storage_options=options)
    there = {field.name: field.type for field in log.schema().fields}
    changed = [field.name for field in schema.fields if there.get(field.name, field.type) != field.type]
    if changed:
        raise WarehouseError(
            f"{uri}: column {', '.join(changed)} of {table} has another type in this falkirk: "
            "ingest into a new directory"
        )
    missing = [field for field in schema.fields if field.name not in there]
    if missing:
        log.alter.add_columns(missing)


def commit_files(
    uri: str, table: str, number: int, at_ms: int, *, added: Sequence[DataFile], removed: Sequence[DataFile]
) -> int:
    """Commit data files to the table at `uri`, which is made if it is not there; return the version.

    Changes nothing if commit `number` of the warehouse is in the log already. Raises WarehouseError.
    """
    # Who commits in between is no falkirk: what it did is not known here.
    properties = CommitProperties(app_transactions=[Transaction(_APP, number)], max_commit_retries=0)
    adds = [_add(file, at_ms) for file in added]
    options = _storage_options()
    try:
        if not DeltaTable.is_deltatable(uri, options):
            create_table_with_add_actions(
                uri,
                _delta_schema(TABLES[table]),
                adds,
                partition_by=_PARTITION,
                name=table,
                description=TABLES[table].comment,
                storage_options=options,
                commit_properties=properties,
            )
            return 0
        log = DeltaTable(uri, storage_options=options)
        version = log.version()
        if (log.transaction_version(_APP) or 0) < number:
            actions: list[AddAction | RemoveAction] = [*adds, *(_remove(file, at_ms) for file in removed)]
            log.create_write_transaction(
                actions, "append", log.schema(), partition_by=_PARTITION, commit_properties=properties
            )
            version += 1
    except _ERRORS as error:
        raise _explained(uri, error) from error
    else:
        return version


def data_files(uri: str, version: int, clusters: Collection[str] | None = None) -> dict[str, int]:
    """Return the paths, relative to the table, and bytes of a version's data files, or those of some clusters in it.

    Raises WarehouseError.
    """
    try:
        actions = DeltaTable(uri, version=version, storage_options=_storage_options()).get_add_actions(flatten=True)
    except _ERRORS as error:
        raise _explained(f"{uri}: version {version}", error) from error
    found = pa.table(actions).select(["path", "size_bytes", f"partition.{CLUSTER}"])
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    return {unquote(str(path)): int(size) for path, size, name in rows if clusters is None or name in clusters}


def vacuum_files(uri: str, retention_hours: int, *, dry_run: bool) -> list[str]:
    """Remove files that no version of the last `retention_hours` has; return their paths. Raises WarehouseError."""
    try:
        log = DeltaTable(uri, storage_options=_storage_options())
        return log.vacuum(retention_hours, dry_run=dry_run, enforce_retention_duration=False, full=True)
    except _ERRORS as error:
        raise _explained(uri, error) from error


def _add(file: DataFile, at_ms: int) -> AddAction:
    path = _in_table(file)
    return AddAction(
        path=path,
        size=file.size,
        partition_values=_partition(path),
        modification_time=at_ms,
        data_change=True,
        stats=json.dumps({"numRecords": file.rows}),
    )


def _remove(file: DataFile, at_ms: int) -> RemoveAction:
    path = _in_table(file)
    return RemoveAction(
        path=path, data_change=True, deletion_timestamp=at_ms, size=file.size, partition_values=_partition(path)
    )


def _in_table(file: DataFile) -> str:
    return file.path.partition("/")[2]


def _partition(path: str) -> dict[str, str | None]:
    return {CLUSTER: path.partition("/")[0].removeprefix(f"{CLUSTER}=")}


def _delta_schema(table: Table) -> Schema:
    """Return a table's columns as Delta has them, the cluster last, as everywhere in Spark."""
    own, cluster = list(table.schema), table.full_schema.field(CLUSTER)
    return Schema.from_arrow(pa.schema([*own, cluster]))


def _explained(uri: str, error: Exception) -> WarehouseError:
    return WarehouseError(f"{uri}: {' '.join(str(error).split())}")


def _storage_options() -> dict[str, str]:
    return {"aws_allow_http": "true"} if os.environ.get(_ENDPOINT, "").startswith("http://") else {}


def delta_uri(path: str) -> str:
    """Return a local path or a URI as delta-rs takes it."""
    return path if "://" in path else f"file://{quote(path)}"
