"""Log directories of replicas over a partition's changes: each replica has one, or nobody knows any (KIP-858).

A log from before 3.7-IV2 never says where replicas lie, and a later one always does, so hardly ever does a change
leave directories that do not fit: such partitions are found here, and replayed one by one elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from falkirk.columnar.arrow_arrays import bytes_of
from falkirk.pipeline.state.partition_keys import list_lengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from falkirk.pipeline.state.partition_keys import KeyedRows

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


def odd_directories(created: KeyedRows, changed: KeyedRows, partitions: int) -> Flags:
    """Say of which partitions some change leaves directories that are known and do not fit the replicas.

    Partitions with more than one PartitionRecord are not told right.
    """
    odd = np.zeros(partitions, np.bool_)
    changed = changed.select(_sets(changed, "replicas") | _sets(changed, "directories"))
    if not len(changed.key):
        return odd
    is_concerned = np.zeros(partitions, np.bool_)
    is_concerned[changed.key] = True
    created = created.select(is_concerned[created.key])
    events = _Events(created, changed)
    odd[events.key[events.leave_known_directories_over()]] = True
    return odd


def all_migrating(directories: pa.Array[Any]) -> Flags:  # Any: lists of uuids
    """Say of which lists nobody has said anything: all uuids are zero; an empty or null list counts."""
    assert isinstance(directories, pa.ListArray)
    words = bytes_of(directories.flatten().buffers()[1]).view(np.int64).reshape(-1, 2)
    lengths = list_lengths(directories)
    known = (words != 0).any(axis=1)[: int(lengths.sum())]
    found = np.ones(len(directories), np.bool_)
    found[np.repeat(np.arange(len(directories)), lengths)[known]] = False
    return found


class _Events:
    """The rows that say something of replicas or directories: partition by partition, its PartitionRecord first."""

    def __init__(self, created: KeyedRows, changed: KeyedRows) -> None:
        key = np.concatenate([created.key, changed.key])
        order = np.argsort(key, kind="stable")
        self.key = key[order]
        parts = (created, changed)
        self._is_change = order >= len(created.key)
        self._sets_replicas = (_joined([_sets(part, "replicas") for part in parts]))[order]
        self._sets_directories = (_joined([_sets(part, "directories") for part in parts]))[order]
        self._replicas = _joined([list_lengths(part.rows.columns["replicas"]) for part in parts])[order]
        self._directories = _joined([list_lengths(part.rows.columns["directories"]) for part in parts])[order]
        self._migrating = _joined([all_migrating(part.rows.columns["directories"]) for part in parts])[order]

    def leave_known_directories_over(self) -> Flags:
        """Say which changes do."""
        replicas = self._replicas[_filled(self._sets_replicas)]
        migrating = self._migrating[_filled(self._sets_directories)]
        # What was there before the row; the first of a partition is no change.
        before, migrating_before = np.roll(replicas, 1), np.roll(migrating, 1)
        named = self._sets_directories & (self._directories != replicas) & ~self._migrating
        unnamed = ~self._sets_directories & (replicas != before) & ~migrating_before
        found: Flags = self._is_change & (named | unnamed)
        return found


def _sets(rows: KeyedRows, name: str) -> Flags:
    return np.asarray(rows.rows.columns[name].is_valid().to_numpy(zero_copy_only=False))


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:  # Any: same in all parts
    return np.concatenate(parts)


def _filled(there: Flags) -> Ints:
    """Give for each row the last one up to it where something is there; a partition's first row has everything."""
    return np.maximum.accumulate(np.where(there, np.arange(len(there)), 0))
