"""Offset commits, the bulk of `__consumer_offsets`: recognized and checked without decoding them.

key    type int16 (0 or 1), group string, topic string, partition int32
value  version int16, offset int64, leader epoch int32 (from v3), metadata string, commit timestamp int64,
       expire timestamp int64 (v1 alone); from v4 compact and with tagged fields (0: the topic's id)
"""

from __future__ import annotations

import struct

_SHORTEST_KEY = 10
_SHORTEST_VALUE = 20
_LAST_FIXED_VERSION = 3
_LAST_VERSION = 4
_NEGATIVE = 0x80
_LONGER_LENGTH = 0x80
_TOPIC_ID_TAG = b"\x01\x00\x10"


def offset_key(key: bytes) -> tuple[bytes, bytes] | None:
    """Split an offset's key into the bytes of the group and those of topic and partition; None where it does not parse.

    The type is not checked. Trailing bytes are ignored, as by Kafka.
    """
    if len(key) < _SHORTEST_KEY:
        return None
    group_end = 4 + ((key[2] << 8) | key[3])
    if group_end + 2 > len(key) or key[2] & 0x80:
        return None
    topic_length = (key[group_end] << 8) | key[group_end + 1]
    end = group_end + 6 + topic_length
    if end > len(key) or topic_length & 0x8000:
        return None
    return key[4:group_end], key[group_end:end]


def is_plain_offset_value(value: bytes) -> bool:
    """Return whether a value is a complete one of version 0 to 3, or of 4 as Kafka writes it.

    The latter has metadata of less than 127 bytes, and no tag but the topic's id. Other values need the reader.
    """
    if len(value) < _SHORTEST_VALUE or value[0] or value[1] > _LAST_VERSION:
        return False
    version = value[1]
    if version == _LAST_FIXED_VERSION:
        # By far most.
        return value[14] < _NEGATIVE and 24 + (value[14] << 8 | value[15]) <= len(value)
    if version == _LAST_VERSION:
        return _is_plain_compact_value(value)
    at = 10
    if len(value) < at + 2:
        return False
    length = (value[at] << 8) | value[at + 1]
    if length & 0x8000:
        return False
    end = at + 2 + length + (16 if version == 1 else 8)
    return end <= len(value)


def offset_topic_partition(position: bytes) -> tuple[str, int]:
    """Return topic and partition from the second part of `offset_key`."""
    topic = position[2:-4].decode("utf-8", "replace")
    return topic, int(struct.unpack(">i", position[-4:])[0])


def _is_plain_compact_value(value: bytes) -> bool:
    # One more than the metadata's length; a null is 0, and longer lengths have the highest bit.
    length = value[14]
    tags = 22 + length
    if not 0 < length < _LONGER_LENGTH or tags >= len(value):
        return False
    return value[tags] == 0 or (value[tags : tags + 3] == _TOPIC_ID_TAG and len(value) >= tags + 19)
