"""Log directories of replicas over a partition's changes: either all replicas have one, or none is known (KIP-858).

A log from before 3.7-IV2 never names directories, and a later one always does, so a change hardly ever leaves
directories that do not fit. Such partitions are found here, and replayed one by one elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from falkirk.columnar.arrow_arrays import bytes_of
from falkirk.pipeline.state.conditions import list_lengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from falkirk.pipeline.state.partitions.partition_keys import KeyedRows

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


def odd_directories(created: KeyedRows, changed: KeyedRows, partitions: int) -> Flags:
    """Return which partitions have a change that leaves known directories which do not fit the replicas.

    Wrong for partitions with more than one PartitionRecord.
    """
    odd = np.zeros(partitions, np.bool_)
    changed = changed.select(_sets(changed, "replicas") | _sets(changed, "directories"))
    if not len(changed.key):
        return odd
    is_changed = np.zeros(partitions, np.bool_)
    is_changed[changed.key] = True
    created = created.select(is_changed[created.key])
    events = _Events(created, changed)
    odd[events.key[events.leave_odd_directories()]] = True
    return odd


def all_migrating(directories: pa.Array[Any]) -> Flags:  # Any: lists of uuids
    """Return which lists have only zero uuids, so that no directory is known; an empty or null list counts."""
    assert isinstance(directories, pa.ListArray)
    words = bytes_of(directories.flatten().buffers()[1]).view(np.int64).reshape(-1, 2)
    lengths = list_lengths(directories)
    known = (words != 0).any(axis=1)[: int(lengths.sum())]
    found = np.ones(len(directories), np.bool_)
    found[np.repeat(np.arange(len(directories)), lengths)[known]] = False
    return found


class _Events:
    """The rows that set replicas or directories: partition by partition, its PartitionRecord first."""

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

    def leave_odd_directories(self) -> Flags:
        """Return which changes leave known directories that do not fit."""
        replicas = self._replicas[_filled(self._sets_replicas)]
        migrating = self._migrating[_filled(self._sets_directories)]
        # The state before the row; the first row of a partition is not a change.
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
    """Return for each row the last one up to it where `there` is true; it is for the first row of a partition."""
    return np.maximum.accumulate(np.where(there, np.arange(len(there)), 0))
