"""What a release's coordinators would load of the partitions of `__consumer_offsets`, as rows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from falkirk.coordinator.prediction.group_losses import group_conversion, group_losses, reported_group
from falkirk.coordinator.prediction.groups import readable_groups
from falkirk.coordinator.records.log_entry import LoggedRecord, TransactionEnd
from falkirk.pipeline.state.groups.group_commits import without_superseded
from falkirk.pipeline.tables.table import column
from falkirk.protocol.control_record import ControlRecordType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from falkirk.coordinator.prediction.groups import GroupReadability, GroupsReadability
    from falkirk.coordinator.records.log_entry import LogEntry
    from falkirk.versions.release import Release

    Row = dict[str, Any]  # Any: values of columns

RECORD_COLUMNS: Final = (
    "partition",
    "source",
    "offset",
    "producer_id",
    "is_transactional",
    "control_type",
    "record_type",
    "record_name",
    "group",
    "offset_commit",
    "unknown_tags",
    "key",
    "value",
)
"""The columns of `group_records` that are needed."""
PARTITION_ROWS: Final = pa.schema(
    [
        column("partition", pa.int32(), "Partition of `__consumer_offsets`."),
        column("offset", pa.int64(), "Offset of the record."),
        column("source", pa.string(), "File that it comes from."),
        column("producer_id", pa.int64(), "Producer of the batch; -1 without."),
        column("is_transactional", pa.bool_(), "Whether the batch is part of a transaction."),
        column("control_type", pa.int16(), "Kind of a control record; null: data."),
        column("record_type", pa.int16(), "Type of the record; null: its key begins with none."),
        column("is_known", pa.bool_(), "Whether a release up to 4.4 has the type."),
        column("unknown_tags", pa.int32(), "How many tagged fields it has that no release knows."),
        column("is_tombstone", pa.bool_(), "Whether it has no value."),
        column("commit_group", pa.string(), "Group of an offset commit, or its tombstone, that all releases read."),
        column("key", pa.binary(), "Bytes of the key."),
        column("value", pa.binary(), "Bytes of the value; not of commits that all releases read."),
    ]
)
"""What is asked of records, by partition in log order."""

_COUNTS: Final = pa.map_(pa.int16(), pa.int64())
GROUP_ANSWER: Final = pa.struct(
    [
        pa.field("group", pa.string()),
        pa.field("type", pa.string()),
        pa.field("members", pa.int32()),
        pa.field("committed_offsets", pa.int32()),
        pa.field("pending_offsets", pa.int32()),
        pa.field("verdict", pa.string()),
        pa.field("lost", pa.map_(pa.string(), pa.int32())),
        pa.field("detail", pa.string()),
        pa.field("conversion", pa.string()),
    ]
)
LOSS_ANSWER: Final = pa.struct(
    [
        pa.field("kind", pa.string()),
        pa.field("key", pa.string()),
        pa.field("key_fields", pa.string()),
        pa.field("record", pa.string()),
        pa.field("offset", pa.int64()),
        pa.field("source", pa.string()),
        pa.field("detail", pa.string()),
    ]
)
PARTITION_ANSWER: Final = pa.struct(
    [
        pa.field("records", pa.int64()),
        pa.field("tombstones", pa.int64()),
        pa.field("failing_records", pa.int64()),
        pa.field("first_failing_offset", pa.int64()),
        pa.field("first_failing_reason", pa.string()),
        pa.field("skipped", _COUNTS),
        pa.field("values", _COUNTS),
        pa.field("unknown_types", _COUNTS),
        pa.field("without_type", pa.int64()),
        pa.field("unknown_tags", pa.int64()),
    ]
)
GROUP_ANSWERS: Final = pa.schema(
    [
        column("partition", pa.int32(), "Partition of `__consumer_offsets`."),
        column("group", GROUP_ANSWER, "What becomes of a group."),
        column("loss", LOSS_ANSWER, "A loss, as in `falkirk logdir plan`."),
        column("load", PARTITION_ANSWER, "How the partition loads, and what it holds."),
    ]
)
"""A row for each partition, each group, each loss: of the last three columns one is not null."""
# The shortest offset commit: the contents of a readable one do not matter.
_ANY_COMMIT: Final = bytes(20)
_OFFSET_COMMIT: Final = 1
_FEW: Final = 100
_ENDS: Final = (ControlRecordType.ABORT, ControlRecordType.COMMIT)
# Types are int16.
_NO_TYPE: Final = -(1 << 15)


def cluster_answers(release: Release, parts: Iterable[pa.RecordBatch]) -> pa.Table:
    """Predict what the release's default coordinator loads of each partition.

    `parts` have together all records of some partitions, in any order. Returns rows of GROUP_ANSWERS, by partition.
    """
    rows = partition_rows(parts)
    # Of a few records the search takes longer than it spares.
    entries = log_entries(rows if len(rows) <= _FEW else without_superseded(rows))
    found: list[Row] = []
    for partition, of_partition in _partitions(rows):
        answer = readable_groups(release, {partition: entries.get(partition, [])})
        head = {"partition": partition}
        directory = str(of_partition["source"][0].as_py()).rpartition("/")[0]
        name = f"__consumer_offsets-{partition}"
        found.append(head | {"load": _load(answer, of_partition)})
        found += [head | {"group": _group(answer, group, name)} for group in answer.groups]
        for loss in group_losses(answer, name=name, source=directory):
            fields = {field.name: getattr(loss, field.name) for field in LOSS_ANSWER}
            fields["key_fields"] = msgspec.json.encode(loss.key_fields).decode()
            found.append(head | {"loss": fields})
    return pa.Table.from_pylist(found, schema=GROUP_ANSWERS)


def partition_rows(parts: Iterable[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of PARTITION_ROWS for records, which have RECORD_COLUMNS.

    The values of commits, most of the bytes, are left out part by part.
    """
    rows = pa.Table.from_batches(map(_without_commits, parts), PARTITION_ROWS).combine_chunks()
    [batch] = rows.to_batches() or [pa.RecordBatch.from_pylist([], PARTITION_ROWS)]
    return batch.sort_by([("partition", "ascending"), ("offset", "ascending")])


def _without_commits(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    commits = pc.and_(columns["offset_commit"].is_valid(), pc.equal(columns["record_type"], pa.scalar(_OFFSET_COMMIT)))
    is_commit = pc.and_(commits, pc.equal(columns["unknown_tags"], pa.scalar(0))).fill_null(False)
    made = columns | {
        "is_known": columns["record_name"].is_valid(),
        "is_tombstone": columns["value"].is_null(),
        "commit_group": pc.if_else(is_commit, columns["group"], pa.scalar(None, pa.string())),
        "value": pc.if_else(is_commit, pa.scalar(None, pa.binary()), columns["value"]),
    }
    return pa.RecordBatch.from_arrays([made[name] for name in PARTITION_ROWS.names], schema=PARTITION_ROWS)


def log_entries(rows: pa.RecordBatch) -> dict[int, list[LogEntry]]:
    """Return the entries of each partition."""
    stands_in = rows["commit_group"].is_valid().to_numpy(zero_copy_only=False) & ~_flags(rows, "is_tombstone")
    names = ("partition", "offset", "producer_id", "is_transactional", "control_type", "key", "value")
    columns = [rows[name].to_pylist() for name in names]
    found: dict[int, list[LogEntry]] = {}
    for partition, offset, producer_id, is_transactional, control_type, key, value, is_commit in zip(
        *columns, stands_in.tolist(), strict=True
    ):
        entries = found.setdefault(partition, [])
        if control_type is None:
            read = _ANY_COMMIT if is_commit else value
            entries.append(LoggedRecord(offset, key, read, producer_id, is_transactional))
        elif control_type in _ENDS:
            entries.append(TransactionEnd(offset, producer_id, control_type == ControlRecordType.COMMIT))
    return found


def _partitions(rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    numbers, starts = np.unique(rows["partition"].to_numpy(), return_index=True)
    for number, (start, end) in zip(numbers.tolist(), pairwise([*starts.tolist(), len(rows)]), strict=True):
        yield number, rows.slice(start, end - start)


def _group(answer: GroupsReadability, group: GroupReadability, name: str) -> Row:
    reported = reported_group(group)
    conversion = group_conversion(group, answer.release, name=name)
    return {field.name: getattr(reported, field.name, None) for field in GROUP_ANSWER} | {
        "lost": list(reported.lost.items()),
        "conversion": None if conversion is None else conversion.text,
    }


def _load(answer: GroupsReadability, rows: pa.RecordBatch) -> Row:
    is_data = rows["control_type"].is_null().to_numpy(zero_copy_only=False)
    type_ = rows["record_type"].fill_null(_NO_TYPE).to_numpy(zero_copy_only=False)
    is_tombstone, is_known = _flags(rows, "is_tombstone"), _flags(rows, "is_known")
    tags = rows["unknown_tags"].fill_null(0).to_numpy(zero_copy_only=False)
    first = min(answer.failing, key=lambda record: record.offset, default=None)
    return {
        "records": int(is_data.sum()),
        "tombstones": int((is_data & is_tombstone).sum()),
        "failing_records": len(answer.failing),
        "first_failing_offset": None if first is None else first.offset,
        "first_failing_reason": None if first is None else first.reason,
        "skipped": list(answer.skipped.items()),
        "values": _counts(type_[is_data & ~is_tombstone & is_known]),
        "unknown_types": _counts(type_[is_data & ~is_known & (type_ != _NO_TYPE)]),
        "without_type": int((is_data & (type_ == _NO_TYPE)).sum()),
        "unknown_tags": int(tags[is_data].sum()),
    }


def _flags(rows: pa.RecordBatch, name: str) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = rows[name].to_numpy(zero_copy_only=False)
    return found


def _counts(types: NDArray[np.int16]) -> list[tuple[int, int]]:
    found, counts = np.unique(types, return_counts=True)
    return list(zip(found.tolist(), counts.tolist(), strict=True))
