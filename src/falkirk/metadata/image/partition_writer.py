"""Writes partitions straight into values of PartitionRecords, several times faster than record by record.

The counterpart of `partition_reader`: the arrays are packed here; what follows the directories is the same bytes for
many partitions of a cluster, so it is encoded once and looked up afterwards. Arrays are not: partitions of 50 brokers
have 100,000 different ones, and to free that many pieces at the end would be a long step.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
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
_Pack = Callable[..., bytes]
_PARTITION_ID_BYTES: Final = 4
_COUNTS: Final = tuple(bytes((count + 1,)) for count in range(ONE_BYTE_COUNT_MAX))
_KEPT_MAX: Final = 4_096
"""Pieces that are kept at most, and shapes."""


class PartitionWriter:
    """Writes values at one metadata.version; keeps encoded tagged fields for the next ones."""

    def __init__(self, at: MetadataVersion, *, elr_enabled: bool) -> None:
        self._at = at
        self._elr_enabled = elr_enabled
        self._has_directories = at.directory_assignment_supported
        self._frame = b""
        self._tags: dict[tuple[int, _Ints, _Ints], bytes] = {}
        # How to pack all before the directories, by the lengths of the lists.
        self._packs: dict[tuple[int, int, int, int], _Pack] = {}

    def value(self, topic_id: bytes, partition_id: int, partition: Partition) -> bytes:
        """Return the value of the record that `Partition.to_record` makes, frame included."""
        replicas, isr = partition.replicas, partition.isr
        removing, adding = partition.removing_replicas, partition.adding_replicas
        sizes = (len(replicas), len(isr), len(removing), len(adding))
        pack = self._packs.get(sizes)
        tags = self._tags.get(
            (partition.leader_recovery_state, partition.eligible_leader_replicas, partition.last_known_elr)
        )
        if pack is None or tags is None:
            return self._learn(topic_id, partition_id, partition, sizes)
        head = pack(
            self._frame,
            partition_id,
            topic_id,
            sizes[0] + 1,
            *replicas,
            sizes[1] + 1,
            *isr,
            sizes[2] + 1,
            *removing,
            sizes[3] + 1,
            *adding,
            partition.leader,
            partition.leader_epoch,
            partition.partition_epoch,
        )
        if not self._has_directories:
            return head + tags
        return b"".join((head, _COUNTS[len(partition.directories)], *partition.directories, tags))

    def _learn(
        self, topic_id: bytes, partition_id: int, partition: Partition, sizes: tuple[int, int, int, int]
    ) -> bytes:
        record, version = partition.to_record(topic_id, partition_id, self._at, elr_enabled=self._elr_enabled)
        value = encode_metadata_record(record, version)
        if max(sizes) < ONE_BYTE_COUNT_MAX:
            self._frame = value[: TOPIC_ID_AT - _PARTITION_ID_BYTES]
            if max(len(self._tags), len(self._packs)) >= _KEPT_MAX:
                self._tags.clear()
                self._packs.clear()
            arrays = "".join(f"B{size}i" for size in sizes)
            self._packs[sizes] = struct.Struct(f">{len(self._frame)}si16s{arrays}iii").pack
            tagged = (partition.leader_recovery_state, partition.eligible_leader_replicas, partition.last_known_elr)
            directories = 1 + sum(map(len, partition.directories)) if self._has_directories else 0
            self._tags[tagged] = value[HEAD_AT + head_size(value) + NUMBERS_BYTES + directories :]
        return value
