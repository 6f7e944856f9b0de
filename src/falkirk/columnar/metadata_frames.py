"""Which metadata records a block holds: the frame of each (frame version, type, record version), and the row codec.

Null values, frames that do not parse, types and versions that no release has: all of them end up in the report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from falkirk.columnar.kernels import NO_TYPE
from falkirk.columnar.kernels.numpy_varints import unsigned_varints
from falkirk.columnar.report import Problem, ReadReport
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import METADATA_RECORDS, message_class
from falkirk.protocol.metadata_record import FRAME_VERSION, UnknownMetadataRecordError, decode_metadata_record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from falkirk.columnar.record_frames import RecordBlock
    from falkirk.protocol.schema import WireMessage

_VERSIONS_MAX: Final = 256
"""Types and versions near this and above it are told apart row by row; no release has any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataFrames:
    """The data records of a block that have a type and version which some release has."""

    # (record type, record version) -> rows of the block, rising.
    rows: dict[tuple[int, int], NDArray[np.int64]]
    # Where each record's body starts; for all rows of the block, meaningless in those that are in no group.
    body_at: NDArray[np.int64]

    def of_type(self, record_type: int) -> dict[int, NDArray[np.int64]]:
        """Give the rows of one type by record version."""
        return {version: rows for (type_, version), rows in self.rows.items() if type_ == record_type}


def metadata_frames(block: RecordBlock, report: ReadReport) -> MetadataFrames:
    """Read the frames of a block's data records and count them in `report.record_counts`."""
    value_at, value_end = block.parts.value_at, block.value_end
    code = block.kernels.frame_types(block.data, value_at, value_end)
    body_at = value_at + _FRAME_BYTES
    code[block.is_control] = _NO_RECORD
    odd = np.flatnonzero((code == NO_TYPE) & ~block.is_control)
    if len(odd):
        code[odd], body_at[odd] = _odd_frames(block, odd, report)
    found: dict[tuple[int, int], NDArray[np.int64]] = {}
    unknown: list[int] = []
    for each in np.flatnonzero(np.bincount(code)[:_NO_RECORD]).tolist():
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
    """Read one record by the row codec; None if it is a problem, which is then in the report."""
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
    except RemoteProtocolError as error:
        at = block.file_byte(row, int(block.parts.value_at[row]) + error.offset)
        where = f" in {error.path}" if error.path else ""
        report.add(Problem(kind="bad record", position=at, offset=offset, reason=error.reason + where))
    return None


_FRAME_BYTES: Final = 3
_NO_RECORD: Final = NO_TYPE


def _odd_frames(
    block: RecordBlock, rows: NDArray[np.int64], report: ReadReport
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Read frames that are not three bytes; give (code, position of the body). Those that do not parse are reported."""
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
    return np.where(sound, code, _NO_RECORD).astype(np.uint16), body_at
