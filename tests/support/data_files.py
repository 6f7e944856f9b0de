"""Data files of a warehouse, written as workers write them, and what Delta's log says of its tables."""

from pathlib import Path

from deltalake import DeltaTable

from falkirk.pipeline.warehouse.commit import Change
from falkirk.pipeline.warehouse.data_files import DataFileWriter
from falkirk.pipeline.warehouse.manifest import Manifest, Piece


def put(warehouse, cluster, key, *, rows=1, table="topics"):
    """Write a piece with one data file."""
    with DataFileWriter(warehouse, cluster) as writer:
        writer.write_rows(table, [{"name": f"{key}-{number}"} for number in range(rows)])
        return Piece(key=key, kind="test", source="", files=writer.close())


def change(warehouse, cluster, **pieces):
    """Replace all pieces of a cluster."""
    return Change(cluster, warehouse.manifest(cluster), Manifest(cluster=cluster, pieces=pieces))


def committed(warehouse, cluster, *keys):
    """Commit new pieces with these keys in place of all that the cluster has; return its manifest."""
    made = change(warehouse, cluster, **{key: put(warehouse, cluster, key) for key in keys})
    warehouse.commit([made])
    return made.after


def live_files(warehouse):
    """Return the data files of the last version of every table, relative to the warehouse."""
    found = set()
    for table in warehouse.mark().versions:
        uris = DeltaTable(warehouse.table_uri(table)).file_uris()
        found |= {f"{table}/{uri.partition(f'/{table}/')[2]}" for uri in uris}
    return found


def all_files(warehouse):
    """Return all data files that are there, relative to the warehouse."""
    root = Path(warehouse.root)
    return {path.relative_to(root).as_posix() for path in root.glob("*/cluster=*/*.parquet")}
