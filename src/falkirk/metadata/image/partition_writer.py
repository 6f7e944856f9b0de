"""Writes partitions straight into values of PartitionRecords, several times faster than record by record.

The counterpart of `partition_reader`: the lists before the leader and what follows the epochs are the same bytes for
many partitions of a cluster, so each piece is encoded once and looked up afterwards.
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


class PartitionWriter:
    """Writes values at one metadata.version; keeps encoded pieces for the next ones."""

    def __init__(self, at: MetadataVersion, *, elr_enabled: bool) -> None:
        self._at = at
        self._elr_enabled = elr_enabled
        self._frame = b""
        self._heads: dict[tuple[_Ints, _Ints, _Ints, _Ints], bytes] = {}
        self._tails: dict[tuple[tuple[bytes, ...], int, _Ints, _Ints], bytes] = {}

    def value(self, topic_id: bytes, partition_id: int, partition: Partition) -> bytes:
        """Return the value of the record that `Partition.to_record` makes, frame included."""
        lists = (partition.replicas, partition.isr, partition.removing_replicas, partition.adding_replicas)
        rest = (
            partition.directories,
            partition.leader_recovery_state,
            partition.eligible_leader_replicas,
            partition.last_known_elr,
        )
        head, tail = self._heads.get(lists), self._tails.get(rest)
        if head is None or tail is None:
            return self._learn(topic_id, partition_id, partition, lists, rest)
        numbers = _NUMBERS.pack(partition.leader, partition.leader_epoch, partition.partition_epoch)
        return b"".join((self._frame, _PARTITION_ID.pack(partition_id), topic_id, head, numbers, tail))

    def _learn(
        self,
        topic_id: bytes,
        partition_id: int,
        partition: Partition,
        lists: tuple[_Ints, _Ints, _Ints, _Ints],
        rest: tuple[tuple[bytes, ...], int, _Ints, _Ints],
    ) -> bytes:
        record, version = partition.to_record(topic_id, partition_id, self._at, elr_enabled=self._elr_enabled)
        value = encode_metadata_record(record, version)
        if all(len(ints) < ONE_BYTE_COUNT_MAX for ints in lists):
            numbers_at = HEAD_AT + head_size(value)
            self._frame = value[: TOPIC_ID_AT - _PARTITION_ID.size]
            self._heads[lists] = value[HEAD_AT:numbers_at]
            self._tails[rest] = value[numbers_at + NUMBERS_BYTES :]
        return value
