"""ClearElrRecords, which remove the eligible leader replicas of one topic, or of all (KIP-966). They are few."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.metadata.records.record_key import ObjectKey
from falkirk.pipeline.state.conditions import list_lengths
from falkirk.protocol.messages import ClearElrRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from falkirk.pipeline.state.metadata.inconsistencies import Inconsistencies
    from falkirk.pipeline.state.metadata.metadata_rows import OtherRecord
    from falkirk.pipeline.state.metadata.other_state import Lowering
    from falkirk.pipeline.state.partitions.partition_keys import KeyedRows, PartitionKeys
    from falkirk.pipeline.state.partitions.topic_lives import TopicLives

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]


class ElrClear(NamedTuple):
    """One record. `life` is the topic's; None: all topics."""

    order: int
    life: int | None


class ClearedPartitions(NamedTuple):
    """Partitions that lost their eligible or last known leader replicas to a record, in that order.

    `converted`: those that lost them to a lowered metadata.version, which may have made them in-sync replicas.
    """

    key: Ints
    order: Ints
    converted: Ints


def elr_clears(others: Sequence[OtherRecord], lives: TopicLives, problems: Inconsistencies) -> list[ElrClear]:
    """Find the topics of ClearElrRecords; one whose topic does not exist at that point is reported, and left out."""
    found = []
    clears = [(other, other.message) for other in others if isinstance(other.message, ClearElrRecord)]
    named = lives.named([message.topic_name for _, message in clears if message.topic_name])
    for other, message in clears:
        if not message.topic_name:
            found.append(ElrClear(other.order, None))
            continue
        for life in named[message.topic_name]:
            if lives.rows.order[life] < other.order < lives.end[life]:
                found.append(ElrClear(other.order, life))
                break
        else:
            key = ObjectKey("topic_elr", (message.topic_name,))
            problems.add(other, InconsistentRecordError("ClearElrRecord", "no topic has this name", key=key))
    return found


def cleared_partitions(
    keys: PartitionKeys,
    created: KeyedRows,
    changed: KeyedRows,
    clears: Sequence[ElrClear],
    lowerings: Sequence[Lowering],
) -> ClearedPartitions:
    """Find the partitions that each clear changes; wrong for partitions with more than one PartitionRecord."""
    parts: list[tuple[Ints, Ints]] = []
    converted: list[Ints] = []
    has_elr = np.zeros(len(keys), np.bool_)
    has_last_known = np.zeros(len(keys), np.bool_)
    fields = {"eligible_leader_replicas": has_elr, "last_known_elr": has_last_known}
    walks = [_Walk(created, field, flags, sets_all=True) for field, flags in fields.items()]
    walks += [_Walk(changed, field, flags, sets_all=False) for field, flags in fields.items()]
    losing = {lowering.order for lowering in lowerings if lowering.partitions.drops_elr}
    for clear in sorted([*clears, *(ElrClear(order, None) for order in losing)], key=lambda clear: clear.order):
        for walk in walks:
            walk.advance(clear.order)
        span = slice(None) if clear.life is None else keys.of_life(clear.life)
        key = np.flatnonzero(has_elr[span] | has_last_known[span]) + (span.start or 0)
        has_elr[key] = has_last_known[key] = False
        if clear.order in losing:
            converted.append(key)
        else:
            parts.append((key, np.full(len(key), clear.order)))
    nothing = np.empty(0, np.int64)
    return ClearedPartitions(
        np.concatenate([nothing, *(key for key, _ in parts)]),
        np.concatenate([nothing, *(order for _, order in parts)]),
        np.concatenate([nothing, *converted]),
    )


class _Walk:
    """Walks through rows, keeping track of which partitions have a non-empty list.

    A PartitionRecord `sets_all`: a list that it leaves out is empty.
    """

    def __init__(self, rows: KeyedRows, field: str, flags: Flags, *, sets_all: bool) -> None:
        column = rows.rows.columns[field]
        at = np.arange(len(column)) if sets_all else np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
        self._order = rows.rows.order[at]
        self._key = rows.key[at]
        self._has_any = list_lengths(column)[at] > 0
        self._flags = flags
        self._next = 0

    def advance(self, order: int) -> None:
        """Walk on to the rows below an order."""
        until = int(np.searchsorted(self._order, order))
        self._flags[self._key[self._next : until]] = self._has_any[self._next : until]
        self._next = until
