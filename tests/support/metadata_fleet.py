"""A fleet for the transforms: every cluster and metadata partition of real Kafka, and random histories."""

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from archives import unpack_cluster
from fleet_clusters import CLUSTER_NAMES
from made_clusters import CLUSTER_ID, MadeCluster
from metadata_files import archive
from metadata_histories import HistoryMaker
from state_reference import AppliedRecord, Row, history_of, reference_tables
from stopped_clusters import cluster_at

from falkirk.columnar.other_records import KEY_FIELDS
from falkirk.logdir.cluster import Cluster
from falkirk.metadata.image.unknown_tags import unknown_tags_of
from falkirk.pipeline.tables import TABLES
from falkirk.protocol.json_form import to_json
from falkirk.protocol.messages import AccessControlEntryRecord, FeatureLevelRecord, TopicRecord
from falkirk.protocol.uuid import uuid_text
from falkirk.storage.quorum_state import QuorumState, format_quorum_state
from falkirk.versions.metadata_version import MetadataVersion

# Archive -> what stands in it above each node's metadata partition.
ARCHIVES = {
    **{f"cluster-{release}": ("",) for release in ("3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0")},
    "elr-4.3.1": ("data/n1/", "data/n2/", "data/n3/"),
    "mv-moves-3.7.2": ("",),
    "mv-moves-4.3.1": ("",),
    "image-writes-4.3.1": ("mv-30-elr/",),
    "image-writes-4.4.0": ("mv-33-elr/",),
}
# Histories by chance: the levels that the cluster goes through, the last one being where it is.
HISTORIES = [(15, 33), (16, 20, 30), (17,), (20, 25), (22, 25), (24, 29, 22, 31), (25,), (30, 33), (33,), (33, 19, 33)]


def unpack_fleet(folder: Path) -> dict[str, Cluster]:
    """Unpack or make all clusters and read them as `falkirk logdir` does; returns them by name."""
    paths = {name: unpack_cluster(name, folder / name) for name in CLUSTER_NAMES}
    paths |= {f"metadata-{name}": unpack_archive(name, folder / f"metadata-{name}") for name in ARCHIVES}
    made = {f"history-{seed}": levels for seed, levels in enumerate(HISTORIES)}
    for seed, (name, levels) in enumerate(made.items()):
        paths[name] = made_history(folder / name, seed, levels).root
    return {name: cluster_at(path) for name, path in paths.items()}


def unpack_archive(name: str, folder: Path) -> Path:
    """Make data directories for the metadata partitions of an archive."""
    files = archive(f"{name}.tar.gz")
    nodes = dict(enumerate(ARCHIVES[name], 3000 if name.startswith("image-writes") else 1))
    for node_id, root in nodes.items():
        log_dir = folder / f"n{node_id}"
        partition = log_dir / "__cluster_metadata-0"
        partition.mkdir(parents=True)
        (log_dir / "meta.properties").write_text(f"version=1\nnode.id={node_id}\ncluster.id={CLUSTER_ID}\n")
        for path, data in files.items():
            if path.startswith(root) and path.endswith((".log", ".checkpoint")):
                (partition / PurePosixPath(path).name).write_bytes(data)
        state = QuorumState(data_version=0, leader_epoch=1, current_voters=tuple(nodes))
        (partition / "quorum-state").write_bytes(format_quorum_state(state))
    return folder


def made_history(folder: Path, seed: int, levels: tuple[int, ...]) -> MadeCluster:
    """Make a cluster whose metadata.version goes through some levels, with random changes at each."""
    random = Random(seed)
    maker = HistoryMaker(random, levels[0])
    cluster = MadeCluster(
        root=folder, level=levels[0], kraft_version=seed % 2, brokers=(1, 2), voters=(1, 2, 9), log_dirs=1 + seed % 3
    ).make()
    for at, level in enumerate(levels):
        if at:
            cluster.append((FeatureLevelRecord("metadata.version", level), 0))
            maker.at = MetadataVersion.of_level(level)
        for _ in range(12):
            batch = maker.batch()
            if batch:
                cluster.append(*batch)
    tagged = TopicRecord("tagged", b"t" * 16, unknown_tagged_fields=((77, b"later"),))
    change = FeatureLevelRecord("group.version", 1, unknown_tagged_fields=((78, b""), (79, bytes(16))))
    # Below 4.4-IV1 such a host is no address range, and nothing is lost with it.
    range_ = AccessControlEntryRecord(b"c" * 16, 2, "orders", 3, "User:u", "10.0.0.0/8", 3, 2)
    cluster.append((tagged, 0), (change, 0), (range_, 0))
    return cluster


def fleet_rows(clusters: Mapping[str, Cluster]) -> dict[str, list[Row]]:
    """Return the rows of the metadata tables of all clusters, `metadata_records` included."""
    found: dict[str, list[Row]] = {}
    for name, cluster in clusters.items():
        tables = reference_tables(cluster)
        tables["clusters"] = [row | {"dynamic_voters": voter_rows(cluster)} for row in tables["clusters"]]
        tables |= {"metadata_records": record_rows(cluster), "log_dirs": log_dir_rows(cluster)}
        for table, rows in tables.items():
            found.setdefault(table, []).extend({"cluster": name, **row} for row in rows)
    return found


def voter_rows(cluster: Cluster) -> list[Row] | None:
    voters = cluster.voters
    if voters is None or not voters.directory_ids:
        return None
    rows = []
    for voter, directory in sorted(voters.directory_ids.items()):
        at = voters.endpoints.get(voter)
        place = {} if at is None else {"host": at.host, "port": at.port}
        rows.append({"voter_id": voter, "directory_id": uuid_text(directory), "host": None, "port": None, **place})
    return rows


def log_dir_rows(cluster: Cluster) -> list[Row]:
    return [
        {
            "node_id": node.node_id,
            "path": str(log_dir.path),
            "directory_id": None if log_dir.meta.directory_id is None else uuid_text(log_dir.meta.directory_id),
            "has_metadata": log_dir == node.metadata_dir,
        }
        for node in cluster.nodes
        for log_dir in node.log_dirs
    ]


def write_tables(tables: Mapping[str, list[Row]], folder: Path) -> dict[str, Path]:
    """Write each table's rows as a Parquet file."""
    paths = {}
    for name, rows in tables.items():
        paths[name] = folder / f"{name}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema=TABLES[name].full_schema), paths[name])
    return paths


# --- Metadata records as the table has them

_TYPED = {
    "PartitionRecord": "partition",
    "PartitionChangeRecord": "partition_change",
    "TopicRecord": "topic",
    "ConfigRecord": "config",
}


def record_rows(cluster: Cluster) -> list[Row]:
    history = history_of(cluster)
    snapshot = [_record_row(told, is_snapshot=True) for told in history.in_snapshot]
    return snapshot + [_record_row(told, is_snapshot=False) for told in (*history.earlier, *history.behind)]


def _record_row(told: AppliedRecord, *, is_snapshot: bool) -> Row:
    record, info = told.record, type(told.record).SCHEMA.info
    row: Row = {
        "source": told.source,
        "is_snapshot": is_snapshot,
        "offset": told.offset,
        "epoch": told.epoch,
        "timestamp": told.timestamp,
        "record_type": info.key,
        "record_name": info.name,
        "unknown_tagged_fields": [
            {"path": tag.path, "tag": tag.tag, "data": tag.data} for tag in unknown_tags_of(record)
        ],
    }
    if info.name in _TYPED:
        fields = TABLES["metadata_records"].schema.field(_TYPED[info.name]).type
        row[_TYPED[info.name]] = {field.name: _value(getattr(record, field.name)) for field in fields}
    elif info.name in KEY_FIELDS:
        form = to_json(record, info.versions.ranges[-1][1])
        row["key"] = json.dumps({name: form[name] for name in KEY_FIELDS[info.name] if name in form})
        row["json"] = json.dumps(form)
    return row


def _value(value: Any) -> Any:
    if isinstance(value, bytes):
        return uuid_text(value)
    return [_value(item) for item in value] if isinstance(value, (tuple, list)) else value
