"""The metadata records of a block by type and version, from the frame of each (frame version, type, record version).

Null values, frames that do not parse, and types and versions that no release has go to the report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from falkirk.columnar.kernels.spans import window
from falkirk.columnar.kernels.varints import unsigned_varints
from falkirk.columnar.report import Problem, ReadReport
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import METADATA_RECORDS, message_class
from falkirk.protocol.metadata_record import FRAME_VERSION, UnknownMetadataRecordError, decode_metadata_record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from falkirk.columnar.record_frames import RecordBlock
    from falkirk.protocol.schema import WireMessage

    _Codes = NDArray[np.uint16]

_VERSIONS_MAX: Final = 256
"""No release has a type or version near this; such records go to the row codec."""
_FRAME_BYTES: Final = 3
_NO_TYPE: Final = 0xFFFF
"""Not a metadata record, or one with a type or version above 127."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataFrames:
    """The data records of a block whose type and version some release has."""

    # (record type, record version) -> rows of the block, rising.
    rows: dict[tuple[int, int], NDArray[np.int64]]
    # Start of each record's body, for all rows of the block; meaningless for those not in `rows`.
    body_at: NDArray[np.int64]

    def of_type(self, record_type: int) -> dict[int, NDArray[np.int64]]:
        """Return the rows of one type by record version."""
        return {version: rows for (type_, version), rows in self.rows.items() if type_ == record_type}


def metadata_frames(block: RecordBlock, report: ReadReport) -> MetadataFrames:
    """Read the frames of a block's data records and count them in `report.record_counts`."""
    value_at, value_end = block.parts.value_at, block.value_end
    code = _frame_types(block.data, value_at, value_end)
    body_at = value_at + _FRAME_BYTES
    code[block.is_control] = _NO_TYPE
    odd = np.flatnonzero((code == _NO_TYPE) & ~block.is_control)
    if len(odd):
        code[odd], body_at[odd] = _odd_frames(block, odd, report)
    found: dict[tuple[int, int], NDArray[np.int64]] = {}
    unknown: list[int] = []
    for each in np.flatnonzero(np.bincount(code)[:_NO_TYPE]).tolist():
        rows = np.flatnonzero(code == each)
        key = divmod(each, _VERSIONS_MAX)
        name = METADATA_RECORDS.get(key[0])
        if name is not None and key[1] in message_class(name).SCHEMA.info.versions:
            found[key] = rows
            report.record_counts[name, key[1]] += len(rows)
        else:
            unknown += rows.tolist()
    for row in sorted(unknown):
        read_record(block, row, report)
    return MetadataFrames(rows=found, body_at=body_at)


def read_record(block: RecordBlock, row: int, report: ReadReport) -> WireMessage | None:
    """Read one record by the row codec; None if it does not parse, which is then in the report."""
    value = block.value(row)
    position = block.file_byte(row, int(block.parts.value_at[row]))
    offset = int(block.offset[row])
    if value is None:
        reason = "a metadata record has no value"
        report.add(Problem(kind="bad record", position=position, offset=offset, reason=reason))
        return None
    try:
        return decode_metadata_record(value)[0]
    except UnknownMetadataRecordError as error:
        report.add_unknown(error.record_type, error.version, error.reason, position=position, offset=offset)
    except RemoteProtocolError as protocol_error:
        at = block.file_byte(row, int(block.parts.value_at[row]) + protocol_error.offset)
        where = f" in {protocol_error.path}" if protocol_error.path else ""
        report.add(Problem(kind="bad record", position=at, offset=offset, reason=protocol_error.reason + where))
    return None


def _frame_types(data: NDArray[np.uint8], value_at: NDArray[np.int64], value_end: NDArray[np.int64]) -> _Codes:
    """Return `record type << 8 | record version` of each value whose frame is three bytes, else _NO_TYPE.

    Kafka writes three bytes for all types and versions below 128.
    """
    whole = value_end - value_at >= _FRAME_BYTES
    if not whole.all():
        found = np.full(len(value_at), _NO_TYPE, np.uint16)
        found[whole] = _frame_types(data, value_at[whole], value_end[whole])
        return found
    frames = window(data, _FRAME_BYTES)[value_at].view(np.uint8).reshape(len(value_at), _FRAME_BYTES)
    record_type, version = frames[:, 1], frames[:, 2]
    sound = (frames[:, 0] == FRAME_VERSION) & ((record_type | version) < 0x80)
    return np.where(sound, record_type.astype(np.uint16) << 8 | version, np.uint16(_NO_TYPE))


def _odd_frames(block: RecordBlock, rows: NDArray[np.int64], report: ReadReport) -> tuple[_Codes, NDArray[np.int64]]:
    """Read frames longer than three bytes: (code, position of the body). Frames that do not parse are reported."""
    sound = np.ones(len(rows), np.bool_)
    frame_version, at = unsigned_varints(block.data, block.parts.value_at[rows], sound)
    record_type, at = unsigned_varints(block.data, at, sound)
    version, body_at = unsigned_varints(block.data, at, sound)
    # A null value ends before its first byte.
    sound &= (frame_version == FRAME_VERSION) & (body_at <= block.value_end[rows])
    for row in rows[~sound].tolist():
        record = read_record(block, row, report)
        assert record is None, "the row codec reads a frame that the columns refuse"
    limit = _VERSIONS_MAX - 1
    code = np.minimum(record_type, limit - 1) * _VERSIONS_MAX + np.minimum(version, limit)
    return np.where(sound, code, _NO_TYPE).astype(np.uint16), body_at
