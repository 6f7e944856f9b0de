"""Writes partitions straight into values of PartitionRecords, several times faster than record by record.

The counterpart of `partition_reader`: the arrays are packed here; what follows the directories is the same bytes for
many partitions of a cluster, so it is encoded once and looked up afterwards. Arrays are not: partitions of 50 brokers
have 100,000 different ones, and to free that many pieces at the end would be a long step.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from falkirk.metadata.image.partition_reader import (
    HEAD_AT,
    NUMBERS_BYTES,
    ONE_BYTE_COUNT_MAX,
    TOPIC_ID_AT,
    head_size,
)
from falkirk.protocol.metadata_record import encode_metadata_record

if TYPE_CHECKING:
    from falkirk.metadata.image.partition import Partition
    from falkirk.versions.metadata_version import MetadataVersion

_Ints = tuple[int, ...]
_PARTITION_ID: Final = struct.Struct(">i")
_NUMBERS: Final = struct.Struct(">iii")
_COUNTS: Final = tuple(bytes((count + 1,)) for count in range(ONE_BYTE_COUNT_MAX))
_ARRAYS: Final = tuple(struct.Struct(f">B{count}i").pack for count in range(ONE_BYTE_COUNT_MAX))
_TAGS_MAX: Final = 4_096
"""Pieces that are kept at most."""


class PartitionWriter:
    """Writes values at one metadata.version; keeps encoded tagged fields for the next ones."""

    def __init__(self, at: MetadataVersion, *, elr_enabled: bool) -> None:
        self._at = at
        self._elr_enabled = elr_enabled
        self._has_directories = at.directory_assignment_supported
        self._frame = b""
        self._tags: dict[tuple[int, _Ints, _Ints], bytes] = {}

    def value(self, topic_id: bytes, partition_id: int, partition: Partition) -> bytes:
        """Return the value of the record that `Partition.to_record` makes, frame included."""
        lists = (partition.replicas, partition.isr, partition.removing_replicas, partition.adding_replicas)
        tagged = (partition.leader_recovery_state, partition.eligible_leader_replicas, partition.last_known_elr)
        tags = self._tags.get(tagged)
        if tags is None or max(map(len, lists)) >= ONE_BYTE_COUNT_MAX:
            return self._learn(topic_id, partition_id, partition, lists, tagged)
        numbers = _NUMBERS.pack(partition.leader, partition.leader_epoch, partition.partition_epoch)
        arrays = [_ARRAYS[len(ints)](len(ints) + 1, *ints) for ints in lists]
        directories = _encoded(partition.directories) if self._has_directories else b""
        return b"".join((self._frame, _PARTITION_ID.pack(partition_id), topic_id, *arrays, numbers, directories, tags))

    def _learn(
        self,
        topic_id: bytes,
        partition_id: int,
        partition: Partition,
        lists: tuple[_Ints, _Ints, _Ints, _Ints],
        tagged: tuple[int, _Ints, _Ints],
    ) -> bytes:
        record, version = partition.to_record(topic_id, partition_id, self._at, elr_enabled=self._elr_enabled)
        value = encode_metadata_record(record, version)
        if all(len(ints) < ONE_BYTE_COUNT_MAX for ints in lists):
            directories_at = HEAD_AT + head_size(value) + NUMBERS_BYTES
            size = len(_encoded(partition.directories)) if self._has_directories else 0
            self._frame = value[: TOPIC_ID_AT - _PARTITION_ID.size]
            if len(self._tags) >= _TAGS_MAX:
                self._tags.clear()
            self._tags[tagged] = value[directories_at + size :]
        return value


def _encoded(directories: tuple[bytes, ...]) -> bytes:
    """Encode as many directories as one byte counts."""
    return b"".join((_COUNTS[len(directories)], *directories))
