"""The groups in a partition of `__consumer_offsets` at its end: groups, members, committed offsets."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from falkirk.coordinator.prediction.group_survey import GroupSurvey
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.coordinator.records.record_type import OFFSET_TYPES, GroupRecordType, GroupType
from falkirk.pipeline.readers.coordinator_segments import end_offset, read_partition
from falkirk.pipeline.readers.group_records import read_group_records
from falkirk.pipeline.state.groups.group_members import member_rows
from falkirk.pipeline.state.groups.group_offsets import LastOffsets
from falkirk.pipeline.state.groups.group_values import LastRecords
from falkirk.pipeline.tables.groups import COMMITTED_OFFSETS, GROUP_MEMBERS, GROUPS
from falkirk.storage.partition_directory import DirectoryState, parse_partition_directory

if TYPE_CHECKING:
    from falkirk.pipeline.filesystem import Location
    from falkirk.pipeline.fleet import FleetCluster
    from falkirk.pipeline.state.groups.group_values import LastRecord

    Row = dict[str, Any]  # Any: values of columns

_NO_TYPE: Final = -1
_OFFSET_TYPES: Final = sorted(OFFSET_TYPES)
_GROUP_TYPES: Final = {
    GroupType.CONSUMER: GroupRecordType.CONSUMER_GROUP_METADATA,
    GroupType.SHARE: GroupRecordType.SHARE_GROUP_METADATA,
    GroupType.STREAMS: GroupRecordType.STREAMS_GROUP_METADATA,
}


def group_state(
    directory: Location, partition: int, node_id: int | None = None
) -> tuple[dict[str, pa.Table], list[Row]]:
    """Read the directory of a partition; return its groups' tables by name, and rows of `problems`.

    Problems are those of the files. Memory is that of a chunk and of the last record of each key. Raises OSError.
    """
    problems: list[Row] = []
    state = GroupState(partition)
    for rows in read_partition(directory, node_id, read_group_records, problems):
        state.add(rows)
    return state.tables(), problems


def coordinator_replicas(cluster: FleetCluster, topic: str) -> dict[int, tuple[Location, int]]:
    """Return the directory to read for each partition of a coordinator's topic, and its node.

    That is the replica with the highest end offset, the first one of equals. Raises OSError.
    """
    found: dict[int, list[tuple[Location, int]]] = {}
    for node in cluster.nodes:
        for log_dir in node.log_dirs:
            for name in log_dir.location.disk.list(log_dir.location.path):
                parsed = parse_partition_directory(name)
                if parsed is None or parsed.state is not DirectoryState.CURRENT or parsed.topic != topic:
                    continue
                directory = log_dir.location / name
                if directory.disk.is_directory(directory.path):
                    found.setdefault(parsed.partition, []).append((directory, node.node_id))
    return {
        partition: max(replicas, key=lambda replica: end_offset(replica[0])) if len(replicas) > 1 else replicas[0]
        for partition, replicas in sorted(found.items())
    }


class GroupState:
    """Collects the rows of one partition (table `group_records`) in log order, then returns its groups."""

    def __init__(self, partition: int) -> None:
        self._partition = partition
        self._offsets = LastOffsets()
        self._survey = GroupSurvey()
        self._records = LastRecords()
        # Group -> milliseconds.
        self._last_timestamps: dict[str, int] = {}

    def add(self, rows: pa.RecordBatch) -> None:
        """Add the next rows."""
        self._offsets.add(rows)
        self._keep_times(rows)
        type_ = rows["record_type"].fill_null(_NO_TYPE).to_numpy(zero_copy_only=False)
        others = ~np.isin(type_, _OFFSET_TYPES) & rows["control_type"].is_null().to_numpy(zero_copy_only=False)
        if others.any():
            found = rows.select(["offset", "key", "value"]).filter(pa.array(others))
            for row in found.to_pylist():
                self._survey.add(LoggedRecord(row["offset"], row["key"], row["value"]))
                self._records.add(row["key"], row["value"])

    def tables(self) -> dict[str, pa.Table]:
        """Return the tables `groups`, `group_members` and `committed_offsets`."""
        offsets = self._offsets.table(self._partition)
        committed = _count(offsets.filter(pc.invert(offsets["is_pending"])))
        pending = _count(offsets.filter(offsets["is_pending"]))
        surveyed = self._survey.groups()
        groups: list[Row] = []
        members: list[Row] = []
        for group_id in sorted({*surveyed, *committed, *pending}):
            group_type = surveyed[group_id].type if group_id in surveyed else GroupType.SIMPLE
            named = {"group": group_id, "type": group_type.value, "partition": self._partition}
            records = self._records.of(group_id)
            groups.append(
                named
                | _of_group(group_type, records)
                | {
                    "members": surveyed[group_id].members if group_id in surveyed else 0,
                    "committed_offsets": committed[group_id],
                    "pending_offsets": pending[group_id],
                    "last_timestamp": self._last_timestamps.get(group_id),
                }
            )
            members += [named | row for row in member_rows(group_type, records)]
        return {
            GROUPS.name: pa.Table.from_batches([GROUPS.rows(groups)]),
            GROUP_MEMBERS.name: pa.Table.from_batches([GROUP_MEMBERS.rows(members)]),
            COMMITTED_OFFSETS.name: offsets,
        }

    def _keep_times(self, rows: pa.RecordBatch) -> None:
        """Keep the time of each group's last record."""
        groups = rows["group"]
        known = pc.and_(groups.is_valid(), rows["timestamp"].is_valid())
        encoded = groups.filter(known).dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        times = rows["timestamp"].filter(known).cast(pa.int64()).to_numpy(zero_copy_only=False)
        last = np.zeros(len(encoded.dictionary), np.int64)
        last[codes] = times  # the last of several
        self._last_timestamps.update(_by_text(encoded.dictionary, last.tolist()))


def _count(offsets: pa.Table) -> Counter[str]:
    counts = offsets["group"].value_counts()
    return Counter(_by_text(counts.field("values"), counts.field("counts").to_numpy(zero_copy_only=False).tolist()))


def _by_text(texts: pa.Array[Any], numbers: list[int]) -> dict[str, int]:  # Any: string
    names: list[Any] = texts.to_pylist()  # Any: none of them is null
    return dict(zip(names, numbers, strict=True))


def _of_group(group_type: GroupType, records: list[LastRecord]) -> Row:
    """Return the fields of the group's own record, if it exists and can be read."""
    wanted = _GROUP_TYPES.get(group_type, GroupRecordType.GROUP_METADATA)
    for record in reversed(records):
        if record.type != wanted:
            continue
        if wanted is not GroupRecordType.GROUP_METADATA:
            return {"epoch": getattr(record.message, "epoch", None)}
        fields = record.fields or {}
        # Kafka writes an empty text for none.
        return {
            "epoch": fields.get("generation"),
            "protocol_type": fields.get("protocol_type") or None,
            "protocol": fields.get("protocol") or None,
        }
    return {}
