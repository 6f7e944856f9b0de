"""What Kafka 4.1 and later remember of a group's topics: a hash of their ids, names, partitions and racks."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from falkirk.coordinator.consumer.xxh3 import xxh3_64

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from falkirk.coordinator.shard.topics import Topics


class TopicHashes:
    """Hashes of topics, made when they are asked for, and kept until a topic changes."""

    def __init__(self) -> None:
        self._hashes: dict[str, int] = {}

    def forget(self, names: Collection[str]) -> None:
        """Let go of topics that have changed."""
        for name in names:
            self._hashes.pop(name, None)

    def group_hash(self, names: Iterable[str], topics: Topics) -> int:
        """Give the hash (int64) of those topics that exist; 0 of none.

        Source: Kafka's Utils.computeGroupHash.
        """
        packed = bytearray()
        for name in sorted(names):
            hash_ = self._topic_hash(name, topics)
            if hash_ is not None:
                packed += _INT64.pack(hash_)
        return _signed(xxh3_64(bytes(packed))) if packed else 0

    def _topic_hash(self, name: str, topics: Topics) -> int | None:
        hash_ = self._hashes.get(name)
        if hash_ is None:
            topic_id = topics.id_of(name)
            if topic_id is None:
                return None
            hash_ = topic_hash(topic_id, name, topics.racks_of(name))
            self._hashes[name] = hash_
        return hash_


def topic_hash(topic_id: bytes, name: str, racks: Iterable[Collection[str]]) -> int:
    """Give the hash (int64) of a topic; `racks`: of each of its partitions those of its replicas.

    Numbers are little endian, the id's two halves also; a string is its UTF-16, then how many units that is, and before
    a rack that stands once more.
    Source: Kafka's Utils.computeTopicHash (4.1 and later).
    """
    racks = list(racks)
    packed = bytearray((_MAGIC,))
    packed += topic_id[7::-1] + topic_id[:7:-1]
    packed += _string(name)
    packed += _INT32.pack(len(racks))
    for partition, of_partition in enumerate(racks):
        packed += _INT32.pack(partition)
        for rack in sorted(of_partition):
            units = _string(rack)
            packed += units[-_INT32.size :] + units
    return _signed(xxh3_64(bytes(packed)))


_MAGIC = 0
_INT32 = struct.Struct("<i")
_INT64 = struct.Struct("<q")


def _string(text: str) -> bytes:
    units = text.encode("utf-16-le")
    return units + _INT32.pack(len(units) // 2)


def _signed(hash_: int) -> int:
    return hash_ - (1 << 64) if hash_ >> 63 else hash_
