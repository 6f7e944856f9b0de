"""One topic and its partitions."""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain, count
from typing import TYPE_CHECKING, Final

from falkirk.structs import FrozenStruct

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from falkirk.metadata.image.partition import Partition

CHUNK: Final = 16
"""Partitions are stored in tuples of this length, so that a change of one copies few others, however many there are."""


class Topic(FrozenStruct):
    """A topic. Its partitions are in the order of their numbers, all chunks but the last one full.

    `partition_ids` is None if the numbers are 0, 1, 2, ... Gaps do not happen in a cluster, but a log can hold them,
    and they must not make a list as long as the highest number.
    """

    name: str
    topic_id: bytes
    chunks: "tuple[tuple[Partition, ...], ...]" = ()
    partition_ids: tuple[int, ...] | None = None

    @classmethod
    def of(cls, name: str, topic_id: bytes, partitions: Mapping[int, Partition]) -> Topic:
        """Make a topic from partitions by number."""
        ids = tuple(sorted(partitions))
        chunks = _chunks([partitions[partition_id] for partition_id in ids])
        has_gaps = bool(ids) and (ids[0] != 0 or ids[-1] != len(ids) - 1)
        return cls(name, topic_id, chunks, ids if has_gaps else None)

    @classmethod
    def in_order(cls, name: str, topic_id: bytes, partitions: Sequence[Partition]) -> Topic:
        """Make a topic from its partitions 0, 1, 2, ..."""
        return cls(name, topic_id, _chunks(partitions))

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """All partitions in the order of their numbers."""
        return tuple(chain.from_iterable(self.chunks))

    @property
    def partition_count(self) -> int:
        """Number of partitions, gaps not counted."""
        chunks = self.chunks
        return (len(chunks) - 1) * CHUNK + len(chunks[-1]) if chunks else 0

    def partition(self, partition_id: int) -> Partition | None:
        """Return a partition, None if the topic does not have it."""
        position = partition_id
        if self.partition_ids is not None:
            position = bisect_left(self.partition_ids, partition_id)
            if position == len(self.partition_ids) or self.partition_ids[position] != partition_id:
                return None
        elif partition_id < 0:
            return None
        try:
            return self.chunks[position // CHUNK][position % CHUNK]
        except IndexError:
            return None

    def items(self) -> Iterator[tuple[int, Partition]]:
        """Yield (number, partition), rising."""
        ids: Iterable[int] = count() if self.partition_ids is None else self.partition_ids
        return zip(ids, chain.from_iterable(self.chunks), strict=False)

    def with_partitions(self, changes: Mapping[int, Partition]) -> Topic:
        """Return the topic with some partitions new or changed."""
        if self.partition_ids is None:
            chunks = self._changed_chunk(changes) if len(changes) == 1 else self._changed_chunks(changes)
            if chunks is not None:
                return Topic(self.name, self.topic_id, chunks)
        return Topic.of(self.name, self.topic_id, {**dict(self.items()), **changes})

    def _changed_chunk(self, changes: Mapping[int, Partition]) -> tuple[tuple[Partition, ...], ...] | None:
        """Return the chunks after a single change, by far the most common case; None if there would be gaps."""
        ((partition_id, partition),) = changes.items()
        index, place = divmod(partition_id, CHUNK)
        chunks = self.chunks
        if not (0 <= index < len(chunks) and place < len(chunks[index])):
            return self._changed_chunks(changes)
        chunk = chunks[index]
        return (*chunks[:index], (*chunk[:place], partition, *chunk[place + 1 :]), *chunks[index + 1 :])

    def _changed_chunks(self, changes: Mapping[int, Partition]) -> tuple[tuple[Partition, ...], ...] | None:
        """Return the chunks after the changes; None if there would be gaps."""
        chunks = list(self.chunks)
        partition_count = self.partition_count
        opened: dict[int, list[Partition]] = {}
        for partition_id in sorted(changes):
            if not 0 <= partition_id <= partition_count:
                return None
            index, place = divmod(partition_id, CHUNK)
            if index == len(chunks):
                chunks.append(())
            chunk = opened.get(index)
            if chunk is None:
                chunk = opened[index] = list(chunks[index])
            if partition_id == partition_count:
                chunk.append(changes[partition_id])
                partition_count += 1
            else:
                chunk[place] = changes[partition_id]
        for index, chunk in opened.items():
            chunks[index] = tuple(chunk)
        return tuple(chunks)


def _chunks(partitions: Sequence[Partition]) -> tuple[tuple[Partition, ...], ...]:
    return tuple(tuple(partitions[at : at + CHUNK]) for at in range(0, len(partitions), CHUNK))
