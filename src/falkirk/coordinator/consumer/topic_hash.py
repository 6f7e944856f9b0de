"""The hash of a group's topics (ids, names, partitions, racks) that Kafka 4.1 and later write."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import xxhash

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from falkirk.coordinator.runtime.topics import Topics


_MAGIC = 0
_INT32 = struct.Struct("<i")
_INT64 = struct.Struct("<q")


class TopicHashes:
    """Hashes of topics, computed on demand and cached until a topic changes."""

    def __init__(self) -> None:
        self._hashes: dict[str, int] = {}

    def forget(self, names: Collection[str]) -> None:
        """Drop the cached hashes of topics that have changed."""
        for name in names:
            self._hashes.pop(name, None)

    def group_hash(self, names: Iterable[str], topics: Topics) -> int:
        """Return the hash (int64) of the topics that exist; 0 if none does.

        Source: Kafka's Utils.computeGroupHash.
        """
        packed = bytearray()
        for name in sorted(names):
            hash_ = self._topic_hash(name, topics)
            if hash_ is not None:
                packed += _INT64.pack(hash_)
        return _signed(xxhash.xxh3_64_intdigest(packed)) if packed else 0

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
    """Return the hash (int64) of a topic; `racks`: for each partition those of its replicas.

    Numbers are little endian, also the two halves of the id; a string is its UTF-16, then its number of units, which a
    rack has in front as well. Source: Kafka's Utils.computeTopicHash (4.1 and later).
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
    return _signed(xxhash.xxh3_64_intdigest(packed))


def _string(text: str) -> bytes:
    units = text.encode("utf-16-le")
    return units + _INT32.pack(len(units) // 2)


def _signed(hash_: int) -> int:
    return hash_ - (1 << 64) if hash_ >> 63 else hash_
