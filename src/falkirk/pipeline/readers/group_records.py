"""Segments of `__consumer_offsets` as rows of the table `group_records`: one for every record.

Offset commits have their fields in columns. All records keep their bytes, because the meaning of a value depends on the
release; so a record of a type or version that no release has is a row too, and also a problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from falkirk.columnar.arrow_arrays import bytes_of, constant_array
from falkirk.columnar.group_tables import GROUPS, OFFSETS, iter_group_tables
from falkirk.columnar.records import records
from falkirk.columnar.report import Problem, ReadReport
from falkirk.pipeline.readers.data_records import frame_columns
from falkirk.pipeline.readers.row_columns import null_where, origin_columns, timestamps
from falkirk.pipeline.readers.uuid_columns import TEXT_CHARACTERS, uuid_texts
from falkirk.pipeline.tables.groups import GROUP_RECORDS, OFFSET_COMMIT_TYPE
from falkirk.pipeline.tables.table import TIMESTAMP
from falkirk.protocol.coordinator_record import UnknownCoordinatorRecordError, decode_value
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.json_form import unknown_tags_of
from falkirk.protocol.messages import GROUP_COORDINATOR_KEYS, GROUP_COORDINATOR_VALUES
from falkirk.storage.partition_directory import parse_partition_directory
from falkirk.versions.layouts import LAYOUT_STARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from falkirk.pipeline.readers.chunks import Chunk
    from falkirk.pipeline.readers.origin import Origin

    Arrays = dict[str, pa.Array[Any]]  # Any: of the column's own type

_ROWS: Final = 32768
_OFFSET_TYPES: Final = (0, 1)
_NONE: Final = -(1 << 20)  # in place of an absent number
# Column of OFFSET_COMMITS -> field of the column `offset_commit`.
_COMMIT_FIELDS: Final = {
    "topic": "topic",
    "partition": "partition",
    "committed_offset": "committed_offset",
    "leader_epoch": "committed_leader_epoch",
    "metadata": "commit_metadata",
    "commit_timestamp": "commit_timestamp",
    "expire_timestamp": "expire_timestamp",
    "topic_id": "topic_id",
}
_NO_UUID: Final = "A" * TEXT_CHARACTERS
_NAMES: Final = {number: name.removesuffix("Key") for number, name in GROUP_COORDINATOR_KEYS.items()}


def read_group_records(chunks: Iterable[Chunk], origin: Origin, report: ReadReport) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a segment in file order, some ten thousand at a time; problems go to `report`."""
    for chunk in chunks:
        # The second reader reports problems with frames.
        frames = list(records(chunk.data, report=ReadReport(), file_position=chunk.position))
        typed: dict[str, list[pa.RecordBatch]] = {OFFSETS: [], GROUPS: []}
        for table, rows in iter_group_tables(chunk.data, report=report, file_position=chunk.position):
            typed[table].append(rows)
        if frames:
            rows = _ChunkRows(frames, typed, report).rows(origin)
            for start in range(0, rows.num_rows, _ROWS):
                yield rows.slice(start, _ROWS)


class _ChunkRows:
    """The records of a chunk, matched with those that parse as offset commits or group records."""

    def __init__(
        self, frames: list[pa.RecordBatch], typed: dict[str, list[pa.RecordBatch]], report: ReadReport
    ) -> None:
        self._frames = _joined([frame_columns(rows) for rows in frames])
        self._report = report
        self._count = len(self._frames["offset"])
        is_control = np.concatenate([rows.column("is_control").to_numpy(zero_copy_only=False) for rows in frames])
        key, value = _Numbers.of(self._frames["key"]), _Numbers.of(self._frames["value"])
        self._type = np.where(is_control, _NONE, key.first)
        self._version = np.where(is_control, _NONE, value.first)
        self._control_type = np.where(is_control, key.second, _NONE)
        is_commit = np.isin(self._type, _OFFSET_TYPES)
        self._commits, self._commit_rows = self._matched(typed[OFFSETS], np.flatnonzero(is_commit))
        self._groups, self._group_rows = self._matched(typed[GROUPS], np.flatnonzero(~is_commit & ~is_control))

    def rows(self, origin: Origin) -> pa.RecordBatch:
        """Return all rows."""
        directory = parse_partition_directory(origin.directory_name)
        partition = None if directory is None else directory.partition
        arrays = origin_columns(origin, self._count) | self._frames
        arrays |= {
            "partition": constant_array(partition, self._count, pa.int32()),
            "control_type": _or_null(self._control_type),
            "record_type": _or_null(self._type),
            "record_name": self._names(),
            "value_version": _or_null(self._version),
            "group": self._group_names(),
            "offset_commit": self._offset_commits(),
            "unknown_tags": self._unknown_tags(),
        }
        names = GROUP_RECORDS.schema.names
        return pa.RecordBatch.from_arrays([arrays[name] for name in names], schema=GROUP_RECORDS.schema)

    def _matched(
        self, parts: list[pa.RecordBatch], candidates: NDArray[np.int64]
    ) -> tuple[Arrays | None, NDArray[np.int64]]:
        """Find the rows of a table's records: both are in file order, and records that do not parse are missing."""
        if not parts:
            return None, np.empty(0, np.int64)
        table = _joined([dict(zip(part.schema.names, part.columns, strict=True)) for part in parts])
        if len(table["offset"]) == len(candidates):
            return table, candidates
        places = zip(table["position"].to_pylist(), table["offset"].to_pylist(), strict=True)
        position, offset = self._frames["position"].to_numpy(), self._frames["offset"].to_numpy()
        left = iter(candidates.tolist())
        found = [next(row for row in left if (position[row], offset[row]) == place) for place in places]
        return table, np.array(found, np.int64)

    def _names(self) -> pa.Array[Any]:  # Any: string
        numbers, index = np.unique(self._type, return_inverse=True)
        names = pa.array([_NAMES.get(number) for number in numbers.tolist()], pa.string())
        return names.take(pa.array(index, pa.int64()))

    def _group_names(self) -> pa.Array[Any]:  # Any: string
        found = [(table["group"], rows) for table, rows in self._tables()]
        return _scattered(found, self._count, pa.string())

    def _offset_commits(self) -> pa.Array[Any]:  # Any: OFFSET_COMMIT_TYPE
        if self._commits is None:
            return constant_array(None, self._count, OFFSET_COMMIT_TYPE)
        return _scattered([(_commit_struct(self._commits), self._commit_rows)], self._count, OFFSET_COMMIT_TYPE)

    def _unknown_tags(self) -> pa.Array[Any]:  # Any: int32
        counts = np.full(self._count, _NONE, np.int64)
        if self._commits is not None:
            tags = self._commits["unknown_tagged_fields"]
            assert isinstance(tags, pa.ListArray)
            counts[self._commit_rows] = tags.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        for row in self._group_rows.tolist():
            value = self._frames["value"][row].as_py()
            counts[row] = 0 if value is None else self._unknown_tags_in(row, value)
        return pa.array(counts, pa.int32(), mask=counts == _NONE)

    def _unknown_tags_in(self, row: int, value: bytes) -> int:
        """Count the tagged fields that no layout of the value has; _NONE if no layout can read it."""
        type_ = int(self._type[row])
        position, offset = (self._frames[name][row].as_py() for name in ("position", "offset"))
        starts = LAYOUT_STARTS.get(GROUP_COORDINATOR_VALUES[type_])
        layouts = range(len(starts)) if starts is not None else (None,)
        counts: list[int] = []
        error: RemoteProtocolError | None = None
        for layout in layouts:
            try:
                message, version = decode_value(GROUP_COORDINATOR_VALUES, type_, value, layout=layout)
                counts.append(len(unknown_tags_of(message, version, layout=layout)))
            except UnknownCoordinatorRecordError as unknown:
                self._report.add_unknown(type_, unknown.version, unknown.reason, position=position, offset=offset)
                return _NONE
            except RemoteProtocolError as refused:
                error = refused
        if counts:
            return min(counts)
        assert error is not None, "a value has one layout at least"
        reason = f"{error.reason}, byte {error.offset} of the value of a {_NAMES[type_]} record"
        self._report.add(Problem(kind="bad record", position=position, offset=offset, reason=reason))
        return _NONE

    def _tables(self) -> Iterator[tuple[Arrays, NDArray[np.int64]]]:
        for table, rows in ((self._commits, self._commit_rows), (self._groups, self._group_rows)):
            if table is not None:
                yield table, rows


def _joined(parts: list[Arrays]) -> Arrays:
    """Concatenate the rows of several parts."""
    return {name: pa.concat_arrays([part[name] for part in parts]) for name in parts[0]}


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The first two int16 of each key (of a value only the first is used); _NONE where bytes are missing."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]

    @classmethod
    def of(cls, array: pa.Array[Any]) -> _Numbers:  # Any: binary
        _, offsets_buffer, data = array.buffers()
        offsets = bytes_of(offsets_buffer).view(np.int32)[array.offset : array.offset + len(array) + 1]
        pad = np.append(bytes_of(data), np.zeros(4, np.uint8))
        start, size = offsets[:-1].astype(np.int64), np.diff(offsets)
        numbers = []
        for at in (0, 2):
            number = (pad[start + at].astype(np.int8).astype(np.int64) << 8) | pad[start + at + 1]
            numbers.append(np.where(size >= at + 2, number, _NONE))
        return cls(*numbers)


def _or_null(numbers: NDArray[np.int64]) -> pa.Array[Any]:  # Any: int16
    return pa.array(numbers, pa.int16(), mask=numbers == _NONE)


def _scattered(
    parts: list[tuple[pa.Array[Any], NDArray[np.int64]]],
    count: int,
    type_: pa.DataType,  # Any: of the type
) -> pa.Array[Any]:  # Any: same
    """Put values into their rows; the other rows are null."""
    if len(parts) == 1 and len(parts[0][1]) == count:
        return parts[0][0]
    index = np.full(count, -1)
    filled = 0
    for array, rows in parts:
        index[rows] = np.arange(filled, filled + len(array))
        filled += len(array)
    if not filled:
        return constant_array(None, count, type_)
    values = pa.concat_arrays([array for array, _ in parts])
    return values.take(pa.array(index, mask=index < 0))


def _commit_struct(commits: Arrays) -> pa.Array[Any]:  # Any: OFFSET_COMMIT_TYPE
    children = []
    fields = [OFFSET_COMMIT_TYPE.field(name) for name in _COMMIT_FIELDS]
    for field in fields:
        values = commits[_COMMIT_FIELDS[field.name]]
        if field.type == TIMESTAMP:
            values = timestamps(values)
        elif field.name == "topic_id":
            values = _topic_ids(values)
        children.append(values)
    return pa.StructArray.from_arrays(children, fields=fields)


def _topic_ids(uuids: pa.Array[Any]) -> pa.Array[Any]:  # Any: uuids to texts, the zero uuid to null
    texts = uuid_texts(uuids)
    unknown = pc.equal(texts, pa.scalar(_NO_UUID)).fill_null(True).to_numpy(zero_copy_only=False)
    return null_where(texts, unknown)
