"""Partitions with all their changes applied, for all partitions at once.

A change sets some fields and leaves the others, so the value of a field is that of the last row that sets it. Rows
write their index in log order, and the last one written stays. What depends on more than one row (directories that do
not fit the replicas, a partition that is written anew, eligible leader replicas that a lowered metadata.version makes
in-sync ones) is rare, and replayed by the image's own code, partition by partition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from falkirk.metadata.image.partition import MIGRATING, NO_LEADER_CHANGE, NO_RECOVERY_CHANGE
from falkirk.pipeline.state.conditions import list_lengths
from falkirk.pipeline.state.partitions.elr_clears import ClearedPartitions, cleared_partitions
from falkirk.pipeline.state.partitions.partition_directories import odd_directories
from falkirk.pipeline.state.partitions.partition_replay import replay_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from falkirk.metadata.image.partition import Partition
    from falkirk.pipeline.state.metadata.inconsistencies import Inconsistencies
    from falkirk.pipeline.state.metadata.other_state import Lowering
    from falkirk.pipeline.state.partitions.elr_clears import ElrClear
    from falkirk.pipeline.state.partitions.partition_keys import KeyedRows, PartitionKeys

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Column = pa.Array[Any]  # Any: of the column's own type

LISTS: Final = (
    "replicas",
    "isr",
    "removing_replicas",
    "adding_replicas",
    "directories",
    "eligible_leader_replicas",
    "last_known_elr",
)
NUMBERS: Final = ("leader", "leader_recovery_state", "leader_epoch", "partition_epoch")
_ELR: Final = ("eligible_leader_replicas", "last_known_elr")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListState:
    """A list of each partition: the element of `values` at `row`; None: at the partition's own index."""

    values: Column
    row: Ints | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """The fields of all partitions, and the changes that replaying refused."""

    lists: dict[str, ListState]
    numbers: dict[str, Ints]
    refused: list[int]


def overlay(
    keys: PartitionKeys,
    created: KeyedRows,
    changed: KeyedRows,
    clears: Sequence[ElrClear],
    lowerings: Sequence[Lowering],
    *,
    problems: Inconsistencies,
) -> PartitionState:
    """Apply all changes; a change with impossible directories is reported, and left out."""
    is_plain = not len(changed.key) and not clears and not lowerings
    if is_plain and len(created.key) == len(keys) and _has_all_directories(created):
        return _as_created(created)
    return _Overlay(keys, created, changed, clears, lowerings, problems=problems).state()


def _has_all_directories(created: KeyedRows) -> bool:
    columns = created.rows.columns
    return bool((list_lengths(columns["directories"]) == list_lengths(columns["replicas"])).all())


def _as_created(created: KeyedRows) -> PartitionState:
    """Return the fields of one PartitionRecord for each partition, as in a snapshot."""
    row = None if (created.key[1:] > created.key[:-1]).all() else _last(created.key, len(created.key))
    numbers = {name: created.rows.numbers(name).astype(np.int64) for name in NUMBERS}
    return PartitionState(
        lists={name: ListState(values=created.rows.columns[name], row=row) for name in LISTS},
        numbers=numbers if row is None else {name: values[row] for name, values in numbers.items()},
        refused=[],
    )


def _last(key: Ints, count: int) -> Ints:
    last = np.full(count, -1)
    last[key] = np.arange(len(key))
    return last


class _Overlay:
    def __init__(
        self,
        keys: PartitionKeys,
        created: KeyedRows,
        changed: KeyedRows,
        clears: Sequence[ElrClear],
        lowerings: Sequence[Lowering],
        *,
        problems: Inconsistencies,
    ) -> None:
        self._keys = keys
        self._created = created
        self._changed = changed
        self._base = _last(created.key, len(keys))
        odd = odd_directories(created, changed, len(keys)) | (np.bincount(created.key, minlength=len(keys)) > 1)
        self._cleared = cleared_partitions(keys, created, changed, clears, lowerings)
        odd[self._cleared.converted] = True
        replayed = replay_partitions(
            np.flatnonzero(odd), keys, created, changed, clears, lowerings=lowerings, problems=problems
        )
        self._replayed: dict[int, Partition] = replayed.partitions
        self._refused = replayed.refused
        # Directories set before that are dropped.
        self._forgets_directories_at = max(
            (lowering.order for lowering in lowerings if lowering.partitions.drops_directories), default=-1
        )

    def state(self) -> PartitionState:
        """Return all fields."""
        lists = {name: self._list(name) for name in LISTS if name != "directories"}
        lists["directories"] = self._directories(lists["replicas"])
        return PartitionState(lists=lists, numbers=self._numbers(), refused=self._refused)

    def _list(self, name: str) -> ListState:
        key, row = self._changes_of(name)
        extra: list[list[Any]] = [[]]  # Any: of the list's own type
        created, changed = self._created.rows.columns[name], self._changed.rows.columns[name]
        first_extra = len(created) + len(changed)
        if name in _ELR and len(self._cleared.key):
            key, row = self._with_clears(key, row, first_extra)
        found = self._base.copy()
        found[key] = row
        if name == "directories" and self._forgets_directories_at >= 0:
            order = np.concatenate([self._created.rows.order, self._changed.rows.order])[found]
            found[order < self._forgets_directories_at] = first_extra
        for partition_key, partition in self._replayed.items():
            found[partition_key] = first_extra + len(extra)
            extra.append(list(getattr(partition, name)))
        return ListState(values=pa.concat_arrays([created, changed, pa.array(extra, created.type)]), row=found)

    def _changes_of(self, name: str) -> tuple[Ints, Ints]:
        """Return the partitions whose list is set by changes, in order, and the element that each gets."""
        rows = np.flatnonzero(self._changed.rows.columns[name].is_valid().to_numpy(zero_copy_only=False))
        return self._changed.key[rows], rows + len(self._created.key)

    def _with_clears(self, key: Ints, row: Ints, empty: int) -> tuple[Ints, Ints]:
        cleared: ClearedPartitions = self._cleared
        order = np.concatenate([self._changed.rows.order[row - len(self._created.key)], cleared.order])
        sequence = np.argsort(order, kind="stable")
        return (
            np.concatenate([key, cleared.key])[sequence],
            np.concatenate([row, np.full(len(cleared.key), empty)])[sequence],
        )

    def _directories(self, replicas: ListState) -> ListState:
        """Return the directories; for partitions without any known, as many zeros as replicas."""
        state = self._list("directories")
        assert state.row is not None
        assert replicas.row is not None
        wanted = list_lengths(replicas.values)[replicas.row]
        unknown = np.flatnonzero(list_lengths(state.values)[state.row] != wanted)
        if not len(unknown):
            return state
        counts = np.unique(wanted[unknown])
        zeros = pa.array([[MIGRATING] * count for count in counts.tolist()], state.values.type)
        state.row[unknown] = len(state.values) + np.searchsorted(counts, wanted[unknown])
        return ListState(values=pa.concat_arrays([state.values, zeros]), row=state.row)

    def _numbers(self) -> dict[str, Ints]:
        found = {name: self._created.rows.numbers(name).astype(np.int64)[self._base] for name in NUMBERS}
        key, count = self._changed.key, len(self._keys)
        leader, state = self._changed.rows.numbers("leader"), self._changed.rows.numbers("leader_recovery_state")
        names_leader, names_state = leader != NO_LEADER_CHANGE, state != NO_RECOVERY_CHANGE
        found["leader"][key[names_leader]] = leader[names_leader]
        found["leader_recovery_state"][key[names_state]] = state[names_state]
        found["leader_epoch"] += np.bincount(key[names_leader], minlength=count)
        found["partition_epoch"] += np.bincount(key, minlength=count)
        found["partition_epoch"] += np.bincount(self._cleared.key, minlength=count)
        for partition_key, partition in self._replayed.items():
            for name in NUMBERS:
                found[name][partition_key] = getattr(partition, name)
        return found
