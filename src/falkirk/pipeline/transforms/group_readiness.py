"""What a release's coordinators would load of all groups of a fleet (KIP-915), as `falkirk logdir plan` does.

A cluster is judged by one worker, a large one in shares of its partitions. Coordinators are those that the release runs
by default, because server.properties are not in the tables.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from falkirk.coordinator.records.written_records import is_written
from falkirk.metadata.losses.loss import Outcome
from falkirk.pipeline.state.groups.group_answers import (
    GROUP_ANSWER,
    PARTITION_ANSWER,
    RECORD_COLUMNS,
    cluster_answers,
)
from falkirk.pipeline.tables.groups import GROUP_MEMBERS, GROUP_RECORDS
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS
from falkirk.pipeline.transforms.cluster_context import finalized_features
from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
from falkirk.pipeline.transforms.downgrade_losses import LOSSES
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.pipeline.tables.table import Table
    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows

_PARTITION: Final = pa.field("partition", pa.int32())
_BY_PROTOCOL: Final = pa.field("members_by_protocol", pa.map_(pa.string(), pa.int64()))
_LOADED: Final = {field.name: field for field in PARTITION_ANSWER.fields}
_GROUPS: Final = pa.schema(
    [
        *GROUP_ANSWER.fields[:1],
        _PARTITION,
        *GROUP_ANSWER.fields[1:],
        _BY_PROTOCOL,
    ]
)
_PARTITIONS: Final = pa.schema(
    [
        _PARTITION,
        _LOADED["records"],
        _LOADED["tombstones"],
        pa.field("load_fails", pa.bool_()),
        _LOADED["failing_records"],
        _LOADED["first_failing_offset"],
        _LOADED["first_failing_reason"],
        _LOADED["skipped"],
        _LOADED["values"].with_name("orphaned"),
        _LOADED["unknown_types"],
        _LOADED["without_type"],
        _LOADED["unknown_tags"],
        pa.field("needs_attention", pa.bool_()),
    ]
)
_STRANGE: Final = ("skipped", "orphaned", "unknown_types")


def group_readiness(release: Release) -> ClusterQuestion:
    """Return a row for each group: cluster, group, partition, type, members by protocol and the outcome.

    Columns: members, committed_offsets, pending_offsets; members_by_protocol (`classic` -> 2); verdict (`readable`,
    `appears_empty`, `unreadable`); lost (what -> how many, none if readable); detail, a clause; conversion, a sentence
    if a tombstone is removed so that the offsets are served.
    """
    return _question(release, [GROUP_MEMBERS], _groups, _GROUPS)


def group_losses(release: Release) -> ClusterQuestion:
    """Return the losses of groups in the columns of metadata's losses (LOSSES); `source` is the partition."""
    return _question(release, [], _losses, LOSSES)


def partition_readiness(release: Release) -> ClusterQuestion:
    """Return a row for each partition of `__consumer_offsets`: whether it would load, and what it holds.

    Columns: records, tombstones (not cleaned yet); load_fails, failing_records, and offset and reason of the first one;
    skipped (records that the target skips, by type); orphaned (records with a value that coordinators do not write at
    the cluster's levels, by type: `coordinator.records.written_records`); unknown_types (by type), without_type (keys
    too short for one), unknown_tags; needs_attention: it would not load, or has records of one of these kinds.
    """
    return _question(release, [FEATURE_LEVELS], _partitions, _PARTITIONS)


def _question(
    release: Release, others: list[Table], work: Callable[..., pa.Table], schema: pa.Schema
) -> ClusterQuestion:
    # Workers look the name up again: the releases' tables are not pickled.
    of_release = functools.partial(work, release=release.name)
    return ClusterQuestion(needed=[GROUP_RECORDS, *others], work=of_release, schema=schema, shared=True)


def _answers(rows: ClusterRows, *, release: str) -> pa.Table:
    """Judge the partitions of a share, once for all questions."""
    return rows.once(_judged, release)


def _judged(rows: ClusterRows, release: str) -> pa.Table:
    return cluster_answers(Release.parse(release), _parts(rows))


def _parts(rows: ClusterRows) -> Iterator[pa.RecordBatch]:
    """Yield the records of a share, which has all records of its partitions."""
    for part in rows.parts(GROUP_RECORDS):
        wanted = np.asarray(part.read("partition")["partition"]) % rows.shares == rows.share
        if wanted.any():
            records = part.read(*RECORD_COLUMNS)
            yield records if wanted.all() else records.filter(pa.array(wanted))


def _of_kind(answers: pa.Table, kind: str) -> pa.Table:
    """Return the answers of one kind, their fields as columns behind `partition`."""
    found = answers.select(["partition", kind]).drop_null().flatten()
    return found.rename_columns([name.removeprefix(f"{kind}.") for name in found.column_names])


def _groups(rows: ClusterRows, *, release: str) -> pa.Table:
    groups = _of_kind(_answers(rows, release=release), "group")
    by_protocol: dict[str, list[tuple[str, int]]] = {}
    if groups.num_rows:
        for group, protocol, count in sorted(_members(rows)):
            by_protocol.setdefault(group, []).append((protocol, count))
    counts = [by_protocol.get(str(group), []) for group in groups["group"].to_pylist()]
    return groups.append_column(_BY_PROTOCOL, pa.array(counts, _BY_PROTOCOL.type)).select(_GROUPS.names)


def _members(rows: ClusterRows) -> Iterator[tuple[str, str, int]]:
    """Return of each group and protocol how many members speak it."""
    columns = ["group", "protocol"]
    counts = (
        rows.read(GROUP_MEMBERS, *columns)
        .drop_null()
        .group_by(columns)
        .aggregate([([], "count_all")])
        .select([*columns, "count_all"])
    )
    return zip(*(column.to_pylist() for column in counts.columns), strict=True)


def _losses(rows: ClusterRows, *, release: str) -> pa.Table:
    losses = _of_kind(_answers(rows, release=release), "loss")
    outcome = pa.repeat(Outcome.LOST.value, losses.num_rows)
    return losses.append_column("outcome", outcome).select(LOSSES.names)


def _partitions(rows: ClusterRows, *, release: str) -> pa.Table:
    levels = finalized_features(rows)
    found = _of_kind(_answers(rows, release=release), "load").to_pylist()
    for row in found:
        row["orphaned"] = [(type_, count) for type_, count in row["values"] if not is_written(type_, levels)]
        row["load_fails"] = row["failing_records"] > 0
        row["needs_attention"] = row["load_fails"] or any(row[name] for name in _STRANGE)
    return pa.Table.from_pylist(found, _PARTITIONS)
