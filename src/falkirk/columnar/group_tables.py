"""Records of `__consumer_offsets` as typed tables.

Offset commits, which make up the bulk of the topic, are decoded in bulk: key and value of all versions. All other
records (classic, consumer, share and streams groups) keep their value as bytes beside the group's name and the key in
JSON, because the meaning of a value depends on the release (`versions.layouts`). Unknown types are counted and named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from falkirk.columnar.arrow_arrays import constant_array, view_array
from falkirk.columnar.kernels.field_plan import field_plan
from falkirk.columnar.kernels.spans import gather_fixed
from falkirk.columnar.message_columns import UNKNOWN_TAGS, message_columns
from falkirk.columnar.record_columns import joined_batch, place_columns, table_batch
from falkirk.columnar.record_frames import iter_record_blocks
from falkirk.columnar.report import Problem, ReadReport
from falkirk.columnar.schemas import GROUP_RECORDS, OFFSET_COMMITS
from falkirk.protocol.coordinator_record import UnknownCoordinatorRecordError, decode_key, decode_value
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.json_form import to_json
from falkirk.protocol.messages import GROUP_COORDINATOR_KEYS, GROUP_COORDINATOR_VALUES, message_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from falkirk.columnar.kernels.field_plan import FieldPlan
    from falkirk.columnar.record_columns import Arrays
    from falkirk.columnar.record_frames import RecordBlock
    from falkirk.protocol.schema import WireMessage

OFFSETS: Final = "OffsetCommit"
GROUPS: Final = "group"
GROUP_TABLES: Final[dict[str, pa.Schema]] = {OFFSETS: OFFSET_COMMITS, GROUPS: GROUP_RECORDS}
"""Table -> schema."""

_INT16: Final = np.dtype(">i2")
# In place of a value's version: for a null value, and for bytes that are too few to hold one.
_TOMBSTONE: Final = -(1 << 16)
_UNREADABLE: Final = _TOMBSTONE - 1
_TOMBSTONE_COUNTED_AS: Final = -1

_COMMIT_TYPES: Final = (0, 1)
_KEY_TYPES: Final = {name: OFFSET_COMMITS.field(name).type for name in ("group", "topic", "partition")}
# Attribute of the value -> column.
_VALUE_COLUMNS: Final = {
    "offset": "committed_offset",
    "leader_epoch": "committed_leader_epoch",
    "metadata": "commit_metadata",
    "commit_timestamp": "commit_timestamp",
    "expire_timestamp": "expire_timestamp",
    "topic_id": "topic_id",
    UNKNOWN_TAGS: UNKNOWN_TAGS,
}
_LEGACY_DEFAULTS: Final[dict[str, object]] = {"leader_epoch": -1, "expire_timestamp": -1, "topic_id": bytes(16)}


def iter_group_tables(
    buffer: Any,  # Any: whatever has the buffer protocol
    *,
    tables: frozenset[str] = frozenset(GROUP_TABLES),
    report: ReadReport,
    file_position: int = 0,
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Read a segment of `__consumer_offsets`; yield (table, rows), each table's rows in file order.

    Options as in `metadata_tables.iter_metadata_tables`. A record that does not parse is a problem of its own: whether
    a coordinator skips it or fails to load the whole partition is for the caller to decide.
    """
    for block in iter_record_blocks(buffer, report, file_position=file_position):
        reader = _BlockReader(block, report)
        commits, others = reader.split()
        if OFFSETS in tables:
            found = [reader.commits(*key, rows) for key, rows in commits.items()]
            parts = [part for part in found if part is not None]
            if parts:
                yield OFFSETS, joined_batch(OFFSET_COMMITS, parts)
        if GROUPS in tables and len(others):
            batch = reader.others(others)
            if batch is not None:
                yield GROUPS, batch


class _BlockReader:
    """The coordinator's records in one block."""

    def __init__(self, block: RecordBlock, report: ReadReport) -> None:
        self._block = block
        self._report = report

    def split(self) -> tuple[dict[tuple[int, int], NDArray[np.int64]], NDArray[np.int64]]:
        """Return the rows of offset commits by (record type, value version), and the rows of all other records."""
        parts = self._block.parts
        record_type = self._int16(parts.key_at, parts.key_size)
        version = self._int16(parts.value_at, parts.value_size)
        left = ~self._block.is_control
        commits: dict[tuple[int, int], NDArray[np.int64]] = {}
        for type_ in _COMMIT_TYPES:
            mine = left & (record_type == type_)
            left &= ~mine
            for found in np.unique(version[mine]).tolist():
                rows = np.flatnonzero(mine & (version == found))
                if found == _TOMBSTONE or found in _value_class(type_).SCHEMA.info.versions:
                    commits[type_, found] = rows
                    self._count(type_, found, len(rows))
                else:
                    for row in rows.tolist():
                        self._read_value(type_, row)
        return commits, np.flatnonzero(left)

    def commits(self, type_: int, version: int, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], Arrays] | None:
        """Decode offset commits of one kind; return the rows that parse, and their columns."""
        block = self._block
        keys = message_columns(
            _key_plan(type_),
            _KEY_TYPES,
            data=block.data,
            start=block.parts.key_at[rows] + _INT16.itemsize,
            end=block.key_end[rows],
            by_row=lambda index: self._read_key(int(rows[index])),
        )
        rows = rows[keys.kept]
        kept, values = self._commit_values(type_, version, rows)
        arrays = keys.arrays
        if not kept.all():
            arrays = {name: array.filter(pa.array(kept)) for name, array in arrays.items()}
            rows = rows[kept]
        if not len(rows):
            return None
        arrays |= values | place_columns(block, rows)
        arrays["record_type"] = pa.array(np.full(len(rows), type_, np.int16))
        return rows, arrays

    def _commit_values(self, type_: int, version: int, rows: NDArray[np.int64]) -> tuple[NDArray[np.bool_], Arrays]:
        block = self._block
        types = {name: OFFSET_COMMITS.field(column).type for name, column in _VALUE_COLUMNS.items()}
        if version == _TOMBSTONE:
            nothing = {_VALUE_COLUMNS[name]: constant_array(None, len(rows), column) for name, column in types.items()}
            return np.ones(len(rows), np.bool_), nothing | {
                "value_version": constant_array(None, len(rows), pa.int16())
            }
        cls = _value_class(type_)
        columns = message_columns(
            field_plan(cls, version),
            {name: column for name, column in types.items() if name in cls.__struct_fields__},
            data=block.data,
            start=block.parts.value_at[rows] + _INT16.itemsize,
            end=block.value_end[rows],
            by_row=lambda index: self._read_value(type_, int(rows[index])),
        )
        count = int(np.count_nonzero(columns.kept))
        arrays: Arrays = {}
        for name, column in _VALUE_COLUMNS.items():
            # The legacy value is a class of its own that lacks what came later.
            if name in columns.arrays:
                arrays[column] = columns.arrays[name]
            else:
                arrays[column] = constant_array(_LEGACY_DEFAULTS.get(name), count, types[name])
        arrays["value_version"] = pa.array(np.full(count, version, np.int16))
        return columns.kept, arrays

    def others(self, rows: NDArray[np.int64]) -> pa.RecordBatch | None:
        """Return the records that are not offset commits; None if none has a key of a known type."""
        found = [(row, *described) for row in rows.tolist() if (described := self._described(row)) is not None]
        if not found:
            return None
        kept = np.array([each[0] for each in found], np.int64)
        arrays = place_columns(self._block, kept)
        for index, name in enumerate(("record_type", "record_name", "group", "key", "value_version"), 1):
            arrays[name] = pa.array([each[index] for each in found], GROUP_RECORDS.field(name).type)
        parts = self._block.parts
        arrays["value"] = view_array(self._block.data, parts.value_at[kept], parts.value_size[kept])
        return table_batch(GROUP_RECORDS, arrays)

    def _described(self, row: int) -> tuple[int, str, str, str, int | None] | None:
        """Return type, name, group and key of a record, and the version of its value."""
        key = self._read_key(row)
        if key is None:
            return None
        value = self._block.value(row)
        if value is not None and len(value) < _INT16.itemsize:
            self._report_bad(row, int(self._block.parts.value_at[row]), "value is too short for a version")
            return None
        info = type(key).SCHEMA.info
        assert info.key is not None
        version = None if value is None else int.from_bytes(value[: _INT16.itemsize], "big", signed=True)
        self._count(info.key, _TOMBSTONE if version is None else version, 1)
        group: str = getattr(key, "group", "") or getattr(key, "group_id", "")
        form = to_json(key, info.versions.ranges[0][0])
        return info.key, info.name.removesuffix("Key"), group, msgspec.json.encode(form).decode(), version

    def _int16(self, at: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
        """Read the int16 at the start of each key or value."""
        found = np.where(size < 0, _TOMBSTONE, _UNREADABLE)
        rows = np.flatnonzero(size >= _INT16.itemsize)
        found[rows] = gather_fixed(self._block.data, at[rows], _INT16)
        return found

    def _count(self, type_: int, version: int, count: int) -> None:
        counted = _TOMBSTONE_COUNTED_AS if version == _TOMBSTONE else version
        self._report.record_counts[GROUP_COORDINATOR_VALUES[type_], counted] += count

    def _read_key(self, row: int) -> WireMessage | None:
        key = self._block.key(row)
        if key is None:
            self._report_bad(row, int(self._block.parts.key_at[row]), "a coordinator's record has no key")
            return None
        return self._read(row, int(self._block.parts.key_at[row]), lambda: decode_key(GROUP_COORDINATOR_KEYS, key))

    def _read_value(self, type_: int, row: int) -> WireMessage | None:
        value = self._block.value(row)
        assert value is not None
        at = int(self._block.parts.value_at[row])
        return self._read(row, at, lambda: decode_value(GROUP_COORDINATOR_VALUES, type_, value)[0])

    def _read(self, row: int, at: int, decode: Callable[[], WireMessage]) -> WireMessage | None:
        try:
            return decode()
        except UnknownCoordinatorRecordError as error:
            position, offset = self._block.file_byte(row, at), int(self._block.offset[row])
            self._report.add_unknown(error.record_type, error.version, error.reason, position=position, offset=offset)
        except RemoteProtocolError as protocol_error:
            where = f" in {protocol_error.path}" if protocol_error.path else ""
            self._report_bad(row, at + protocol_error.offset, protocol_error.reason + where)
        return None

    def _report_bad(self, row: int, at: int, reason: str) -> None:
        position, offset = self._block.file_byte(row, at), int(self._block.offset[row])
        self._report.add(Problem(kind="bad record", position=position, offset=offset, reason=reason))


def _value_class(type_: int) -> type[WireMessage]:
    return message_class(GROUP_COORDINATOR_VALUES[type_])


def _key_plan(type_: int) -> FieldPlan:
    cls = message_class(GROUP_COORDINATOR_KEYS[type_])
    return field_plan(cls, cls.SCHEMA.info.versions.ranges[0][0])
