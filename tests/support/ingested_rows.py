"""All rows that an ingest makes from a cluster's directories, without Spark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from falkirk.pipeline.ingest.run import _change
from falkirk.pipeline.ingest.run_unit import run_units
from falkirk.pipeline.ingest.survey import IngestOptions, survey_cluster
from falkirk.pipeline.ingest.unit import batched
from falkirk.pipeline.inventory import find_fleet
from falkirk.pipeline.tables import TABLES
from falkirk.pipeline.warehouse.warehouse import Warehouse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from falkirk.pipeline.ingest.survey import ClusterSurvey
    from falkirk.pipeline.warehouse.manifest import Piece


def ingested_rows(inputs: Sequence[str | Path], warehouse: Path, *, as_of: int | None = None) -> dict[str, list[str]]:
    """Return the rows of each table but `log_dirs` as JSON texts, sorted, without names of directories."""
    place = Warehouse.make(str(warehouse))
    options = IngestOptions(warehouse=place.uri, tables=frozenset(TABLES), split_bytes=1 << 25)
    [cluster] = find_fleet([str(path) for path in inputs], as_of=as_of).clusters
    with place.writing():
        survey = survey_cluster(cluster, [], options)
        change = _change(survey, made_pieces(survey, options))
        place.commit([change])
    rows: dict[str, list[str]] = {}
    for file in change.after.files().values():
        table = pq.read_table(warehouse / file.path, partitioning=None)
        rows.setdefault(file.table, []).extend(map(_text, table.to_pylist()))
    rows.pop("log_dirs", None)
    return {table: sorted(found) for table, found in sorted(rows.items())}


def made_pieces(survey: ClusterSurvey, options: IngestOptions) -> list[Piece]:
    """Do the work that a survey has left."""
    batches = batched(survey.units, options.split_bytes)
    return [piece for batch in batches for _, piece in run_units(batch, options)]


def _text(row: dict[str, Any]) -> str:
    return json.dumps(_without_directories(row), default=str, sort_keys=True)


def _without_directories(value: Any) -> Any:
    """Strip directories from a file name, keeping its partition and its own name."""
    if isinstance(value, dict):
        return {
            name: "/".join(inner.split("/")[-2:]) if name == "source" and inner else _without_directories(inner)
            for name, inner in value.items()
        }
    return [_without_directories(inner) for inner in value] if isinstance(value, list) else value
