"""A committed offset, decoded from its bytes in the log."""

from __future__ import annotations

import struct
from typing import Final

import msgspec

from falkirk.coordinator.offsets.offset_records import EXPIRING_VERSION, NO_EXPIRY, TOPIC_ID_LAYOUT
from falkirk.coordinator.records.offset_commit import is_plain_offset_value
from falkirk.protocol.coordinator_record import decode_value
from falkirk.protocol.lax_reader import decoded
from falkirk.protocol.messages import GROUP_COORDINATOR_VALUES, OffsetCommitValue
from falkirk.protocol.schema import ZERO_UUID

_FIRST_WITH_EPOCH: Final = 3
_OLD_HEAD: Final = struct.Struct(">qh")
_OLD_METADATA: Final = 12
_FIXED_HEAD: Final = struct.Struct(">qih")
_FIXED_METADATA: Final = 16
_COMPACT_HEAD: Final = struct.Struct(">qiB")
_COMPACT_METADATA: Final = 15
_INT64: Final = struct.Struct(">q")


class CommittedOffset(msgspec.Struct, frozen=True, gc=False):
    """Times in ms. `leader_epoch` -1: unknown; `expire_timestamp` -1: the broker's retention applies."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int = NO_EXPIRY
    topic_id: bytes = ZERO_UUID


def decode_offset(value: bytes) -> CommittedOffset:
    """Decode a value: a plain one (see `is_plain_offset_value`), or any that the codec accepts."""
    version = value[1]
    if version < _FIRST_WITH_EPOCH:
        offset, length = _OLD_HEAD.unpack_from(value, 2)
        end = _OLD_METADATA + length
        expire = _INT64.unpack_from(value, end + 8)[0] if version == EXPIRING_VERSION else NO_EXPIRY
        metadata = decoded(value[_OLD_METADATA:end])
        return CommittedOffset(offset, -1, metadata, _INT64.unpack_from(value, end)[0], expire)
    if version == _FIRST_WITH_EPOCH:
        offset, epoch, length = _FIXED_HEAD.unpack_from(value, 2)
        end = _FIXED_METADATA + length
        return CommittedOffset(offset, epoch, decoded(value[_FIXED_METADATA:end]), _INT64.unpack_from(value, end)[0])
    if is_plain_offset_value(value):
        offset, epoch, length = _COMPACT_HEAD.unpack_from(value, 2)
        end = _COMPACT_METADATA + length - 1
        topic_id = value[end + 11 : end + 27] if value[end + 8] else ZERO_UUID
        metadata = decoded(value[_COMPACT_METADATA:end])
        return CommittedOffset(offset, epoch, metadata, _INT64.unpack_from(value, end)[0], NO_EXPIRY, topic_id)
    message, _ = decode_value(GROUP_COORDINATOR_VALUES, 1, value, layout=TOPIC_ID_LAYOUT)
    assert isinstance(message, OffsetCommitValue)
    return CommittedOffset(
        message.offset,
        message.leader_epoch,
        message.metadata,
        message.commit_timestamp,
        message.expire_timestamp,
        message.topic_id,
    )
