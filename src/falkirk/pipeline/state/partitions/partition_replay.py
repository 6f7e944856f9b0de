"""Partitions whose state depends on more than one row, replayed one by one by the image's own code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from falkirk.metadata.image.partition import Partition
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.pipeline.state.metadata.metadata_rows import PARTITION, PARTITION_CHANGE
from falkirk.protocol.messages import PartitionChangeRecord, PartitionRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from falkirk.pipeline.state.metadata.inconsistencies import Inconsistencies
    from falkirk.pipeline.state.metadata.metadata_rows import BulkRows
    from falkirk.pipeline.state.metadata.other_state import Lowering
    from falkirk.pipeline.state.partitions.elr_clears import ElrClear
    from falkirk.pipeline.state.partitions.partition_keys import KeyedRows, PartitionKeys

_CLEAR = "ClearElrRecord"
_LOWERING = "metadata.version is lowered"
_TAGS = "unknown_tagged_fields"


class ReplayedPartitions(NamedTuple):
    """Partitions by key, and the indexes of the changes that were refused."""

    partitions: dict[int, Partition]
    refused: list[int]


def replay_partitions(
    wanted: NDArray[np.int64],
    keys: PartitionKeys,
    created: KeyedRows,
    changed: KeyedRows,
    clears: Sequence[ElrClear],
    *,
    lowerings: Sequence[Lowering],
    problems: Inconsistencies,
) -> ReplayedPartitions:
    """Replay all records of some partitions; an invalid change is reported, and changes nothing."""
    events: dict[int, list[tuple[int, str, int]]] = {key: [] for key in wanted.tolist()}
    for record, rows in ((PARTITION, created), (PARTITION_CHANGE, changed)):
        for row in np.flatnonzero(np.isin(rows.key, wanted)).tolist():
            events[int(rows.key[row])].append((int(rows.rows.order[row]), record, row))
    found = ReplayedPartitions({}, [])
    for key, of_key in events.items():
        life = int(keys.life[key])
        of_key += [(clear.order, _CLEAR, 0) for clear in clears if clear.life in {None, life}]
        of_key += [(lowering.order, _LOWERING, index) for index, lowering in enumerate(lowerings)]
        partition: Partition | None = None
        for _, record, row in sorted(of_key):
            if record == PARTITION:
                partition = Partition.from_record(_message(PartitionRecord, created.rows, row))
            elif partition is not None and record == _LOWERING:
                partition = lowerings[row].partitions.lowered(partition)
            elif partition is not None:
                partition = (
                    partition.without_elr()
                    if record == _CLEAR
                    else _changed(partition, changed.rows, row, found.refused, problems)
                )
        assert partition is not None, "a partition has a PartitionRecord"
        found.partitions[key] = partition
    return found


def _changed(
    partition: Partition, rows: BulkRows, row: int, refused: list[int], problems: Inconsistencies
) -> Partition:
    try:
        return partition.changed_by(_message(PartitionChangeRecord, rows, row))
    except InconsistentRecordError as error:
        refused.append(row)
        refusal = error  # the name of an `except` ends with it
        problems.add_rows(rows, np.array([row]), lambda _: refusal)
        return partition


def _message(cls: Any, rows: BulkRows, row: int) -> Any:  # Any: one of the two generated classes
    fields = {name: rows.columns[name][row].as_py() for name in cls.__struct_fields__ if name != _TAGS}
    return cls(**fields)
