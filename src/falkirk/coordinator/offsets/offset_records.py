"""The records of committed offsets (type 1), and their bytes.

The value's version: 1 for a commit with its own expiry time (OffsetCommit v2 to v4), otherwise 4 in releases that store
the topic's id with the offset, 3 in earlier ones.
Source: `offsetCommitValueVersion` of 3.7 to 4.4.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.records.offset_commit import offset_topic_partition
from falkirk.coordinator.runtime.outcome import CoordinatorRecord
from falkirk.protocol.coordinator_record import encode_value
from falkirk.protocol.messages import OffsetCommitKey, OffsetCommitValue
from falkirk.protocol.schema import ZERO_UUID
from falkirk.versions.message_layouts import layout_in

if TYPE_CHECKING:
    from falkirk.versions.release import Release

EXPIRING_VERSION: Final = 1
NO_EXPIRY: Final = -1


TOPIC_ID_LAYOUT: Final = 1
"""The layout of OffsetCommitValue that has the topic's id (tag 0 of version 4)."""
_WITH_TOPIC_ID: Final = 4
_WITHOUT_TAGS: Final = 3
_TYPE: Final = 1
_KEY_HEAD: Final = struct.Struct(">hh")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_INT64: Final = struct.Struct(">q")
_FIXED_HEAD: Final = struct.Struct(">hqih")
_COMPACT_HEAD: Final = struct.Struct(">hqiB")
_ONE_BYTE_LENGTH_MAX: Final = 127
_NO_TAGS: Final = b"\x00"
_TOPIC_ID_TAG: Final = b"\x01\x00\x10"


def offset_value_version(release: Release) -> int:
    """Return the version in which a release writes offsets without an expiry time of their own."""
    return _WITH_TOPIC_ID if layout_in(release, "OffsetCommitValue") == TOPIC_ID_LAYOUT else _WITHOUT_TAGS


def offset_commit_record(
    group_id: str, topic: str, partition: int, value: OffsetCommitValue, version: int
) -> CoordinatorRecord:
    """Return the record of an offset, at the `version` of `offset_value_version`. Fields that it lacks are dropped."""
    if value.expire_timestamp != NO_EXPIRY:
        version = EXPIRING_VERSION
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition), value, version)


def offset_tombstone(group_id: str, position: bytes) -> CoordinatorRecord:
    """Return the tombstone of an offset; `position`: see `offset_position`."""
    topic, partition = offset_topic_partition(position)
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=topic, partition=partition))


def offset_position(topic: str, partition: int) -> bytes:
    """Return topic and partition as encoded in an offset's key, after the group."""
    name = topic.encode()
    return _INT16.pack(len(name)) + name + _INT32.pack(partition)


def offset_position_of(key: bytes) -> bytes:
    """Return the `offset_position` in a key made by `offset_key_bytes`."""
    return key[4 + (key[2] << 8 | key[3]) :]


def offset_key_bytes(key: OffsetCommitKey) -> bytes:
    """Return a key as in the log, with the record's type in front."""
    group = key.group.encode()
    return _KEY_HEAD.pack(_TYPE, len(group)) + group + offset_position(key.topic, key.partition)


def offset_value_bytes(value: OffsetCommitValue, version: int) -> bytes:
    """Return a value as in the log, with its version in front; fast for the values written most.

    It needs no layout: a value without a topic id gets none.
    """
    metadata = value.metadata.encode()
    length = len(metadata)
    if version == _WITHOUT_TAGS:
        head = _FIXED_HEAD.pack(version, value.offset, value.leader_epoch, length)
        return head + metadata + _INT64.pack(value.commit_timestamp)
    if version == _WITH_TOPIC_ID and length < _ONE_BYTE_LENGTH_MAX and not value.unknown_tagged_fields:
        head = _COMPACT_HEAD.pack(version, value.offset, value.leader_epoch, length + 1)
        tags = _NO_TAGS if value.topic_id == ZERO_UUID else _TOPIC_ID_TAG + value.topic_id
        return head + metadata + _INT64.pack(value.commit_timestamp) + tags
    return encode_value(value, version, layout=TOPIC_ID_LAYOUT)
