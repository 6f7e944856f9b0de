"""The partition of each record, and the records that contradict earlier ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from falkirk.metadata.image.partition import NO_RECOVERY_CHANGE, RECOVERED, RECOVERING
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.metadata.records.record_key import partition_key
from falkirk.pipeline.state.conditions import list_lengths
from falkirk.pipeline.state.metadata.metadata_rows import PARTITION, PARTITION_CHANGE
from falkirk.pipeline.state.partitions.topic_lives import NEVER, NO_LIFE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from falkirk.pipeline.state.metadata.inconsistencies import Inconsistencies
    from falkirk.pipeline.state.metadata.metadata_rows import BulkRows
    from falkirk.pipeline.state.partitions.topic_lives import TopicLives

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionKeys:
    """All partitions, sorted by the life of their topic and their number."""

    life: Ints
    number: Ints

    def __len__(self) -> int:
        return len(self.life)

    def index_of(self, life: Ints, number: Ints) -> Ints:
        """Look partitions up; UNKNOWN for those that do not exist."""
        found = np.full(len(life), UNKNOWN)
        if not len(self):
            return found
        # Partitions of a topic are numbered from 0: if none is missing, the number is the position.
        first = np.searchsorted(self.life, np.arange(int(self.life[-1]) + 1))
        known = np.flatnonzero((life >= 0) & (life < len(first)))
        guess = np.clip(first[life[known]] + number[known], 0, len(self) - 1)
        hit = (self.life[guess] == life[known]) & (self.number[guess] == number[known])
        found[known[hit]] = guess[hit]
        missed = known[~hit]
        if len(missed):
            codes, wanted = _codes(self.life, self.number), _codes(life[missed], number[missed])
            index = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
            found[missed] = np.where(codes[index] == wanted, index, UNKNOWN)
        return found

    def of_life(self, life: int) -> slice:
        """Return the slice of one topic's partitions."""
        return slice(*np.searchsorted(self.life, [life, life + 1]).tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedRows:
    """Records that do not contradict earlier ones, and the index of each one's partition."""

    rows: BulkRows
    key: Ints

    def select(self, wanted: Flags) -> KeyedRows:
        """Return some of them."""
        return KeyedRows(rows=self.rows.select(wanted), key=self.key[wanted])


def created_partitions(rows: BulkRows, lives: TopicLives, problems: Inconsistencies) -> tuple[PartitionKeys, KeyedRows]:
    """Check PartitionRecords; invalid ones are reported, and left out."""
    life = lives.at(rows.columns["topic_id"], rows.order)
    number = rows.numbers("partition_id").astype(np.int64)
    replicas, directories = list_lengths(rows.columns["replicas"]), list_lengths(rows.columns["directories"])
    state = rows.numbers("leader_recovery_state")
    sound = _sound(
        rows,
        PARTITION,
        [
            (number < 0, lambda _: "the number is negative"),
            (life == NO_LIFE, lambda _: "no topic has this id"),
            (
                (directories > 0) & (directories != replicas),
                lambda row: f"{directories[row]} directories for {replicas[row]} replicas",
            ),
            (_is_no_state(state), lambda row: f"unknown leader recovery state {state[row]}"),
        ],
        problems,
    )
    rows, life, number = rows.select(sound), life[sound], number[sound]
    codes = _codes(life, number)
    if (codes[1:] > codes[:-1]).all():
        # As in a snapshot: topic by topic, number by number.
        return PartitionKeys(life=life, number=number), KeyedRows(rows=rows, key=np.arange(len(rows)))
    codes, first, key = np.unique(codes, return_index=True, return_inverse=True)
    return PartitionKeys(life=life[first], number=number[first]), KeyedRows(rows=rows, key=key)


def changed_partitions(
    rows: BulkRows, lives: TopicLives, keys: PartitionKeys, created: KeyedRows, problems: Inconsistencies
) -> KeyedRows:
    """Check PartitionChangeRecords in the same way, except for their directories."""
    life = lives.at(rows.columns["topic_id"], rows.order)
    key = keys.index_of(life, rows.numbers("partition_id").astype(np.int64))
    since = np.full(len(keys) + 1, NEVER)
    since[created.key[::-1]] = created.rows.order[::-1]
    state = rows.numbers("leader_recovery_state")
    sound = _sound(
        rows,
        PARTITION_CHANGE,
        [
            (life == NO_LIFE, lambda _: "no topic has this id"),
            (since[key] > rows.order, lambda row: f"topic {lives.names[int(life[row])]} has no such partition"),
            (
                _is_no_state(state) & (state != NO_RECOVERY_CHANGE),
                lambda row: f"unknown leader recovery state {state[row]}",
            ),
        ],
        problems,
    )
    return KeyedRows(rows=rows.select(sound), key=key[sound])


def partition_error(rows: BulkRows, record: str, row: int, reason: str) -> InconsistentRecordError:
    """Return the error of one record."""
    topic_id, number = rows.columns["topic_id"][row].as_py(), rows.columns["partition_id"][row].as_py()
    return InconsistentRecordError(record, reason, key=partition_key(topic_id, number))


def _codes(life: Ints, number: Ints) -> Ints:
    return (life << 32) | number


def _is_no_state(state: NDArray[np.int8]) -> Flags:
    found: Flags = (state != RECOVERED) & (state != RECOVERING)
    return found


def _sound(
    rows: BulkRows,
    record: str,
    checks: Sequence[tuple[Flags, Callable[[int], str]]],
    problems: Inconsistencies,
) -> Flags:
    """Return the rows that pass all checks; for each other row the first check that it fails is reported."""
    sound = np.ones(len(rows), np.bool_)
    for fails, reason in checks:
        wrong = np.flatnonzero(fails & sound)
        if len(wrong):
            problems.add_rows(rows, wrong, lambda row: partition_error(rows, record, row, reason(row)))  # noqa: B023
            sound[wrong] = False
    return sound
