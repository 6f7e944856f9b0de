"""Blockers of a downgrade of stopped directories, and warnings for the operator: `StoppedCluster`, for all clusters."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from falkirk.pipeline.tables.clusters import CLUSTERS, LOG_DIRS
from falkirk.pipeline.tables.metadata_state import BROKERS, CONTROLLERS
from falkirk.pipeline.tables.table import CLUSTER
from falkirk.pipeline.transforms.required import require_columns
from falkirk.pipeline.transforms.stopped_cluster import StoppedCluster
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from falkirk.ledger.findings import Finding
    from falkirk.pipeline.transforms.required import Tables, Transform

_FINDINGS: Final = pa.list_(pa.struct([("kind", pa.string()), ("fields", pa.string()), ("text", pa.string())]))
_COLUMNS: Final = pa.schema(
    [
        (CLUSTER, pa.string()),
        ("blockers", _FINDINGS),
        ("warnings", _FINDINGS),
        ("controller_quorum_voters", pa.string()),
    ]
)


def obstacles(at: MetadataVersion, release: Release) -> Transform:
    """Return for each cluster arrays `blockers` and `warnings`, and `controller_quorum_voters`.

    Elements have kind, fields (JSON) and text. The last column is the value of controller.quorum.voters that every
    node needs if kraft.version has to go down to 0, else null. Problems with files are in the table `problems`.
    """

    def transform(tables: Tables) -> DataFrame:
        own = [field.name for field in fields(StoppedCluster) if field.name in CLUSTERS.schema.names]
        clusters = require_columns(tables, CLUSTERS, *own)
        rows = clusters.join(_directories(tables), CLUSTER, "left").join(_registrations(tables), CLUSTER, "left")
        return rows.mapInArrow(partial(_obstacles, at=int(at.level), release=release.name), from_arrow_schema(_COLUMNS))

    return transform


def _directories(tables: Tables) -> DataFrame:
    log_dirs = require_columns(tables, LOG_DIRS, "node_id", "directory_id", "has_metadata")
    with_metadata = sf.when(sf.col("has_metadata"), sf.struct("node_id", "directory_id"))
    return log_dirs.groupBy(CLUSTER).agg(
        sf.collect_set("directory_id").alias("directories"),
        sf.array_sort(sf.collect_list(with_metadata)).alias("metadata_dirs"),
    )


def _registrations(tables: Tables) -> DataFrame:
    brokers = require_columns(tables, BROKERS, "broker_id", "log_dirs")
    controllers = require_columns(tables, CONTROLLERS, "controller_id").withColumnRenamed("controller_id", "broker_id")
    registered = brokers.unionByName(controllers, allowMissingColumns=True)
    with_dirs = sf.when(sf.size("log_dirs") > 0, sf.struct("broker_id", "log_dirs"))
    return registered.groupBy(CLUSTER).agg(
        sf.collect_set("broker_id").alias("registered"),
        sf.array_sort(sf.collect_list(with_dirs)).alias("registered_dirs"),
    )


def _obstacles(batches: Iterable[pa.RecordBatch], *, at: int, release: str) -> Iterator[pa.RecordBatch]:
    # Workers look the names up again: the releases' tables are not pickled.
    to, reader = MetadataVersion.of_level(at), Release.parse(release)
    for batch in batches:
        found = []
        for row in batch.to_pylist():
            name = row.pop(CLUSTER)
            cluster = StoppedCluster(**row)
            voters = cluster.quorum_voters() if cluster.lowers_kraft_version(to, reader) else None
            found.append((name, _rows(cluster.blockers(to, reader)), _rows(cluster.warnings()), voters))
        columns = list(zip(*found, strict=True)) or [()] * len(_COLUMNS)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, _COLUMNS, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=_COLUMNS)


def _rows(findings: Iterable[Finding]) -> list[dict[str, str]]:
    return [
        {"kind": found.kind, "fields": msgspec.json.encode(found.fields).decode(), "text": found.text}
        for found in findings
    ]
