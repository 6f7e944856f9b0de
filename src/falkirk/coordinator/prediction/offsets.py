"""Committed offsets, and pending ones of open transactions, as a coordinator counts them.

Only their existence is kept: a partition is identified by the bytes at the end of its key.
"""

from __future__ import annotations

from typing import Final

Partition = bytes
"""Topic and partition as in an offset's key; see `offset_commit.offset_topic_partition`."""


_NONE: Final[set[Partition]] = set()


class Offsets:
    """The offsets of all groups in one partition of `__consumer_offsets`."""

    def __init__(self, *, tombstones_end_pending: bool = True) -> None:
        self.committed: dict[str, set[Partition]] = {}
        self.pending: dict[int, dict[str, set[Partition]]] = {}
        """By producer id, then by group; no entry is empty."""
        self._tombstones_end_pending = tombstones_end_pending

    def commit(self, group_id: str, partition: Partition, producer_id: int | None) -> None:
        """Add an offset; with a producer id it is pending until the producer's transaction ends."""
        offsets = self.committed if producer_id is None else self.pending.setdefault(producer_id, {})
        of_group = offsets.get(group_id)
        if of_group is None:
            of_group = offsets[group_id] = set()
        of_group.add(partition)

    def delete(self, group_id: str, partition: Partition) -> None:
        """Apply a tombstone; see LoaderRules.tombstones_end_pending_offsets."""
        _discard(self.committed, group_id, partition)
        if self._tombstones_end_pending:
            for producer_id in list(self.pending):
                self.delete_pending(group_id, partition, producer_id)

    def delete_pending(self, group_id: str, partition: Partition, producer_id: int) -> None:
        """Remove one producer's pending offset."""
        offsets = self.pending.get(producer_id)
        if offsets is not None:
            _discard(offsets, group_id, partition)
            if not offsets:
                del self.pending[producer_id]

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply a transaction marker: pending offsets are committed or dropped."""
        offsets = self.pending.pop(producer_id, {})
        if is_commit:
            for group_id, partitions in offsets.items():
                # A newer commit without a transaction wins over an older one with it, but either way there is one.
                self.committed.setdefault(group_id, set()).update(partitions)

    def committed_by(self, group_id: str) -> set[Partition]:
        """Return the partitions for which a group has a committed offset."""
        return self.committed.get(group_id, _NONE)

    def pending_by_group(self) -> dict[str, set[Partition]]:
        """Return each group's partitions with offsets in open transactions."""
        groups: dict[str, set[Partition]] = {}
        for offsets in self.pending.values():
            for group_id, partitions in offsets.items():
                groups.setdefault(group_id, set()).update(partitions)
        return groups


def _discard(offsets: dict[str, set[Partition]], group_id: str, partition: Partition) -> None:
    partitions = offsets.get(group_id)
    if partitions is not None:
        partitions.discard(partition)
        if not partitions:
            del offsets[group_id]
