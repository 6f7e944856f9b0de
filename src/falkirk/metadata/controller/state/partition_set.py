"""A set of partitions that never changes: a changed one shares with it what is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ID_BYTES: Final = 16
# A change copies one of so many parts.
_BUCKETS: Final = 1024
# Partitions of a topic in one bit mask.
_MASK_BITS: Final = 1024


class PartitionKey(NamedTuple):
    """One partition, wherever partitions of many topics are spoken of."""

    topic_id: bytes
    partition_id: int


class PartitionSet:
    """Bit masks of partition numbers by topic id, spread over dicts by the id's end.

    To the garbage collector a dict of bytes and numbers is nothing to visit. In a tree of millions of small objects
    every full collection would take longer than a step may.
    """

    __slots__ = ("_buckets", "_count")

    def __init__(self, buckets: tuple[dict[bytes, int], ...] = ({},) * _BUCKETS, count: int = 0) -> None:
        self._buckets = buckets
        self._count = count

    def changed_by(self, changes: Mapping[PartitionKey, bool]) -> PartitionSet:
        """Return the set after changes: True, the partition is in it; False, it is not."""
        if not changes:
            return self
        copies: dict[int, dict[bytes, int]] = {}
        count = self._count
        for (topic_id, partition_id), is_in in changes.items():
            index = int.from_bytes(topic_id[-2:], "big") % _BUCKETS
            bucket = copies.get(index)
            if bucket is None:
                bucket = copies[index] = self._buckets[index].copy()
            key, bit = _place(topic_id, partition_id)
            mask = bucket.get(key, 0)
            if is_in == bool(mask & bit):
                continue
            mask ^= bit
            count += 1 if is_in else -1
            if mask:
                bucket[key] = mask
            else:
                del bucket[key]
        buckets = list(self._buckets)
        for index, bucket in copies.items():
            buckets[index] = bucket
        return PartitionSet(tuple(buckets), count)

    def __iter__(self) -> Iterator[PartitionKey]:
        """Yield the partitions in an order that nothing but the set decides: whoever decides must not depend on a hash.

        Dicts are sorted one after the other, for a slice of work reads a few of a million.
        """
        for bucket in self._buckets:
            for key, mask in sorted(bucket.items()):
                topic_id, first = key[:_ID_BYTES], int.from_bytes(key[_ID_BYTES:], "big") * _MASK_BITS
                left = mask
                while left:
                    lowest = left & -left
                    yield PartitionKey(topic_id, first + lowest.bit_length() - 1)
                    left ^= lowest

    def __len__(self) -> int:
        """Count the partitions."""
        return self._count

    def __eq__(self, other: object) -> bool:
        """Compare the partitions."""
        return isinstance(other, PartitionSet) and self._count == other._count and self._buckets == other._buckets

    def __hash__(self) -> int:
        return hash(self._count)

    def __repr__(self) -> str:
        """Show the partitions."""
        return f"PartitionSet({list(self)})"


def _place(topic_id: bytes, partition_id: int) -> tuple[bytes, int]:
    """Return the key of a partition's mask, and its bit there."""
    if partition_id < _MASK_BITS:
        return topic_id, 1 << partition_id
    number, bit = divmod(partition_id, _MASK_BITS)
    return topic_id + number.to_bytes(4, "big"), 1 << bit
