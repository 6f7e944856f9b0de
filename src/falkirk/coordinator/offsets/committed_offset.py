"""One committed offset, read out of the bytes that the log has of it."""

from __future__ import annotations

import struct
from typing import Final

import msgspec

from falkirk.coordinator.records.offset_records import NO_EXPIRY, TOPIC_ID_LAYOUT
from falkirk.protocol.coordinator_record import decode_value
from falkirk.protocol.messages import GROUP_COORDINATOR_VALUES, OffsetCommitValue
from falkirk.protocol.schema import ZERO_UUID


class CommittedOffset(msgspec.Struct, frozen=True, gc=False):
    """Times in ms. `leader_epoch` -1: unknown; `expire_timestamp` -1: the broker's retention counts."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int = NO_EXPIRY
    topic_id: bytes = ZERO_UUID


def decode_offset(value: bytes) -> CommittedOffset:
    """Read a value that was found to be whole when it was stored."""
    if value[1] == _WITHOUT_TAGS:
        offset, leader_epoch, length = _FIXED_HEAD.unpack_from(value, 2)
        end = _FIXED_METADATA + length
        metadata = value[_FIXED_METADATA:end].decode("utf-8", "replace") if length else ""
        return CommittedOffset(offset, leader_epoch, metadata, _INT64.unpack_from(value, end)[0])
    decoded, _ = decode_value(GROUP_COORDINATOR_VALUES, 1, value, layout=TOPIC_ID_LAYOUT)
    assert isinstance(decoded, OffsetCommitValue)
    return CommittedOffset(
        decoded.offset,
        decoded.leader_epoch,
        decoded.metadata,
        decoded.commit_timestamp,
        decoded.expire_timestamp,
        decoded.topic_id,
    )


_WITHOUT_TAGS: Final = 3
_FIXED_HEAD: Final = struct.Struct(">qih")
_FIXED_METADATA: Final = 16
_INT64: Final = struct.Struct(">q")
