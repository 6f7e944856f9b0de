"""What a release's coordinator would load of one partition of `__consumer_offsets`, as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from falkirk.coordinator.prediction.group_losses import group_conversion, group_losses, reported_group
from falkirk.coordinator.prediction.groups import readable_groups
from falkirk.coordinator.records.log_entry import LoggedRecord, TransactionEnd
from falkirk.pipeline.state.groups.group_commits import superseded_commits
from falkirk.pipeline.tables.table import Table, column
from falkirk.protocol.control_record import ControlRecordType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from falkirk.coordinator.prediction.groups import GroupReadability, GroupsReadability
    from falkirk.coordinator.records.log_entry import LogEntry
    from falkirk.versions.release import Release

    Row = dict[str, Any]  # Any: values of columns

PARTITION_ROWS: Final = pa.schema(
    [
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
"""The columns of `group_records` of one partition that are needed."""

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
GROUP_ANSWERS: Final = Table(
    name="group_answers",
    comment="What a release's coordinators make of each partition; no table of the warehouse. "
    "A row for each partition, each group, each loss: of the last three columns one is not null.",
    schema=pa.schema(
        [
            column("partition", pa.int32(), "Partition of `__consumer_offsets`."),
            column("group", GROUP_ANSWER, "What becomes of a group."),
            column("loss", LOSS_ANSWER, "A loss, as in `falkirk logdir plan`."),
            column("load", PARTITION_ANSWER, "How the partition loads, and what it holds."),
        ]
    ),
)
# The shortest offset commit: the contents of a readable one do not matter.
_ANY_COMMIT: Final = bytes(20)
_ENDS: Final = (ControlRecordType.ABORT, ControlRecordType.COMMIT)
# Types are int16.
_NO_TYPE: Final = -(1 << 15)


def partition_answers(release: Release, cluster: str, partition: int, rows: pa.Table) -> pa.Table:
    """Predict what the release's default coordinator loads; `rows` are those of PARTITION_ROWS, in any order."""
    rows = rows.sort_by("offset")
    answer = readable_groups(release, {partition: list(log_entries(rows))})
    head = {"cluster": cluster, "partition": partition}
    directory = rows["source"][0].as_py().rpartition("/")[0] if len(rows) else ""
    name = f"__consumer_offsets-{partition}"
    found: list[Row] = [head | {"load": _load(answer, rows)}]
    found += [head | {"group": _group(answer, group, name)} for group in answer.groups]
    for loss in group_losses(answer, name=name, source=directory):
        fields = {field.name: getattr(loss, field.name) for field in LOSS_ANSWER}
        fields["key_fields"] = msgspec.json.encode(loss.key_fields).decode()
        found.append(head | {"loss": fields})
    return pa.Table.from_pylist(found, schema=GROUP_ANSWERS.full_schema)


def log_entries(rows: pa.Table) -> Iterator[LogEntry]:
    """Yield the entries of a partition that may make a difference, from rows in log order."""
    rows = rows.filter(pa.array(~superseded_commits(rows)))
    stands_in = rows["commit_group"].is_valid().to_numpy() & ~rows["is_tombstone"].to_numpy()
    columns = [rows[name].to_pylist() for name in ("offset", "producer_id", "is_transactional", "control_type")]
    columns += [rows["key"].to_pylist(), rows["value"].to_pylist(), stands_in.tolist()]
    for offset, producer_id, is_transactional, control_type, key, value, is_commit in zip(*columns, strict=True):
        if control_type is None:
            yield LoggedRecord(offset, key, _ANY_COMMIT if is_commit else value, producer_id, is_transactional)
        elif control_type in _ENDS:
            yield TransactionEnd(offset, producer_id, control_type == ControlRecordType.COMMIT)


def _group(answer: GroupsReadability, group: GroupReadability, name: str) -> Row:
    reported = reported_group(group)
    conversion = group_conversion(group, answer.release, name=name)
    return {field.name: getattr(reported, field.name, None) for field in GROUP_ANSWER} | {
        "lost": list(reported.lost.items()),
        "conversion": None if conversion is None else conversion.text,
    }


def _load(answer: GroupsReadability, rows: pa.Table) -> Row:
    data = rows.filter(rows["control_type"].is_null())
    type_ = data["record_type"].combine_chunks().fill_null(_NO_TYPE).to_numpy(zero_copy_only=False)
    is_tombstone = data["is_tombstone"].to_numpy()
    is_known = data["is_known"].to_numpy()
    first = min(answer.failing, key=lambda record: record.offset, default=None)
    return {
        "records": len(data),
        "tombstones": int(is_tombstone.sum()),
        "failing_records": len(answer.failing),
        "first_failing_offset": None if first is None else first.offset,
        "first_failing_reason": None if first is None else first.reason,
        "skipped": list(answer.skipped.items()),
        "values": _counts(type_[~is_tombstone & is_known]),
        "unknown_types": _counts(type_[~is_known & (type_ != _NO_TYPE)]),
        "without_type": int((type_ == _NO_TYPE).sum()),
        "unknown_tags": pc.sum(data["unknown_tags"]).as_py() or 0,
    }


def _counts(types: NDArray[np.int16]) -> list[tuple[int, int]]:
    found, counts = np.unique(types, return_counts=True)
    return list(zip(found.tolist(), counts.tolist(), strict=True))
