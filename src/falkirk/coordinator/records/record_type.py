"""The types of records in `__consumer_offsets`, and the group type and part to which each belongs."""

from __future__ import annotations

import enum
from typing import Final


class GroupRecordType(enum.IntEnum):
    """The int16 with which a key begins, over all releases. 18 was never used."""

    LEGACY_OFFSET_COMMIT = 0
    OFFSET_COMMIT = 1
    GROUP_METADATA = 2
    CONSUMER_GROUP_METADATA = 3
    CONSUMER_GROUP_PARTITION_METADATA = 4
    CONSUMER_GROUP_MEMBER_METADATA = 5
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA = 6
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER = 7
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT = 8
    SHARE_GROUP_PARTITION_METADATA = 9
    SHARE_GROUP_MEMBER_METADATA = 10
    SHARE_GROUP_METADATA = 11
    SHARE_GROUP_TARGET_ASSIGNMENT_METADATA = 12
    SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER = 13
    SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT = 14
    SHARE_GROUP_STATE_PARTITION_METADATA = 15
    CONSUMER_GROUP_REGULAR_EXPRESSION = 16
    STREAMS_GROUP_METADATA = 17
    STREAMS_GROUP_MEMBER_METADATA = 19
    STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA = 20
    STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER = 21
    STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT = 22
    STREAMS_GROUP_TOPOLOGY = 23


class GroupType(enum.StrEnum):
    """Types of groups. SIMPLE: offsets committed without any membership, in Kafka's words."""

    SIMPLE = "simple"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class Part(enum.Enum):
    """The part of a group that a record holds; the three types with server-side assignment share these."""

    GROUP = enum.auto()
    SUBSCRIPTION = enum.auto()
    MEMBER = enum.auto()
    TARGET_EPOCH = enum.auto()
    TARGET_MEMBER = enum.auto()
    CURRENT_ASSIGNMENT = enum.auto()
    REGULAR_EXPRESSION = enum.auto()
    STATE_PARTITIONS = enum.auto()
    TOPOLOGY = enum.auto()


OFFSET_TYPES: Final = frozenset({GroupRecordType.LEGACY_OFFSET_COMMIT, GroupRecordType.OFFSET_COMMIT})

PARTS: Final[dict[int, tuple[GroupType, Part]]] = {
    3: (GroupType.CONSUMER, Part.GROUP),
    4: (GroupType.CONSUMER, Part.SUBSCRIPTION),
    5: (GroupType.CONSUMER, Part.MEMBER),
    6: (GroupType.CONSUMER, Part.TARGET_EPOCH),
    7: (GroupType.CONSUMER, Part.TARGET_MEMBER),
    8: (GroupType.CONSUMER, Part.CURRENT_ASSIGNMENT),
    9: (GroupType.SHARE, Part.SUBSCRIPTION),
    10: (GroupType.SHARE, Part.MEMBER),
    11: (GroupType.SHARE, Part.GROUP),
    12: (GroupType.SHARE, Part.TARGET_EPOCH),
    13: (GroupType.SHARE, Part.TARGET_MEMBER),
    14: (GroupType.SHARE, Part.CURRENT_ASSIGNMENT),
    15: (GroupType.SHARE, Part.STATE_PARTITIONS),
    16: (GroupType.CONSUMER, Part.REGULAR_EXPRESSION),
    17: (GroupType.STREAMS, Part.GROUP),
    19: (GroupType.STREAMS, Part.MEMBER),
    20: (GroupType.STREAMS, Part.TARGET_EPOCH),
    21: (GroupType.STREAMS, Part.TARGET_MEMBER),
    22: (GroupType.STREAMS, Part.CURRENT_ASSIGNMENT),
    23: (GroupType.STREAMS, Part.TOPOLOGY),
}
"""All types except those of offsets (0, 1) and of classic groups (2)."""


def record_type_name(number: int | None) -> str:
    """Return the name of a type in words: `share group metadata (11)`."""
    if number is None:
        return "no type"
    try:
        return f"{GroupRecordType(number).name.lower().replace('_', ' ')} ({number})"
    except ValueError:
        return f"unknown type ({number})"
