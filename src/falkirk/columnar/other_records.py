"""Metadata records of the less frequent types, as rows of their JSON form."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from falkirk.columnar.metadata_frames import read_record
from falkirk.columnar.record_columns import place_columns, table_batch
from falkirk.columnar.schemas import OTHER_METADATA_RECORDS
from falkirk.protocol import codec
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.json_form import to_json, unknown_tags_of
from falkirk.protocol.messages import METADATA_RECORDS, message_class

if TYPE_CHECKING:
    from falkirk.columnar.metadata_frames import MetadataFrames
    from falkirk.columnar.record_frames import RecordBlock
    from falkirk.columnar.report import ReadReport
    from falkirk.protocol.schema import WireMessage

KEY_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "RegisterBrokerRecord": ("brokerId",),
    "UnregisterBrokerRecord": ("brokerId",),
    "FenceBrokerRecord": ("id",),
    "UnfenceBrokerRecord": ("id",),
    "RemoveTopicRecord": ("topicId",),
    "DelegationTokenRecord": ("tokenId",),
    "UserScramCredentialRecord": ("name", "mechanism"),
    "FeatureLevelRecord": ("name",),
    "ClientQuotaRecord": ("entity", "key"),
    "ProducerIdsRecord": (),
    "BrokerRegistrationChangeRecord": ("brokerId",),
    "AccessControlEntryRecord": ("id",),
    "RemoveAccessControlEntryRecord": ("id",),
    "NoOpRecord": (),
    "ZkMigrationStateRecord": (),
    "RemoveUserScramCredentialRecord": ("name", "mechanism"),
    "BeginTransactionRecord": (),
    "EndTransactionRecord": (),
    "AbortTransactionRecord": (),
    "RemoveDelegationTokenRecord": ("tokenId",),
    "RegisterControllerRecord": ("controllerId",),
    "ClearElrRecord": ("topicName",),
    "UnregisterControllerRecord": ("controllerId",),
}
"""JSON names of the fields that identify the object a record is about; none if there is only one such object."""
_COLUMNS: Final = ("record_version", "record_type", "record_name", "key", "json", "unknown_tagged_fields")


class OtherMessage(NamedTuple):
    """A record decoded by the row codec, and its row in the block."""

    row: int
    record_type: int
    version: int
    message: WireMessage


def other_messages(
    block: RecordBlock, frames: MetadataFrames, record_types: frozenset[int], report: ReadReport
) -> list[OtherMessage]:
    """Decode the records of some types by the row codec, in block order; problems go to `report`."""
    found = []
    for (record_type, version), rows in frames.rows.items():
        if record_type in record_types:
            cls = message_class(METADATA_RECORDS[record_type])
            for row in rows.tolist():
                message = _decoded(block, frames, cls, version, row) or read_record(block, row, report)
                if message is not None:
                    found.append(OtherMessage(row, record_type, version, message))
    found.sort(key=lambda other: other.row)
    return found


def other_records(
    block: RecordBlock, frames: MetadataFrames, record_types: frozenset[int], report: ReadReport
) -> pa.RecordBatch | None:
    """Return the records of some types as rows of their JSON form; None if the block has none."""
    found = other_messages(block, frames, record_types, report)
    if not found:
        return None
    values = [_columns(other.message, other.record_type, other.version) for other in found]
    arrays = place_columns(block, np.array([other.row for other in found], np.int64))
    for index, name in enumerate(_COLUMNS):
        arrays[name] = pa.array([row[index] for row in values], OTHER_METADATA_RECORDS.field(name).type)
    return table_batch(OTHER_METADATA_RECORDS, arrays)


def _decoded(
    block: RecordBlock, frames: MetadataFrames, cls: type[WireMessage], version: int, row: int
) -> WireMessage | None:
    """Decode a record whose frame is known; None if it does not parse (`read_record` then finds the reason)."""
    # Of this row alone: `value_end` is computed for all rows of the block.
    end = int(block.parts.value_at[row]) + max(int(block.parts.value_size[row]), 0)
    body = block.data[int(frames.body_at[row]) : end].tobytes()
    try:
        return codec.decode(cls, version, body)
    except RemoteProtocolError:
        return None


def _columns(message: WireMessage, record_type: int, version: int) -> tuple[Any, ...]:  # Any: one value a column
    name = type(message).__name__
    form = to_json(message, version)
    key = {field: form[field] for field in KEY_FIELDS[name] if field in form}
    tags = None
    if getattr(message, "unknown_tagged_fields", ()) or _has_structs(type(message)):
        found = unknown_tags_of(message, version)
        tags = [{"path": path, "tag": tag, "data": data} for path, tag, data in found] or None
    return version, record_type, name, _json(key), _json(form), tags


@cache
def _has_structs(cls: type[WireMessage]) -> bool:
    return any(not isinstance(field.type, str) for field in cls.SCHEMA.fields)


def _json(form: dict[str, Any]) -> str:  # Any: JSON
    return msgspec.json.encode(form).decode()
