"""Rows of the tables `partitions` and `topics`.

They are made lazily, some ten thousand at a time: texts, ids and places take many times the memory of numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from falkirk.pipeline.readers.uuid_columns import uuid_lists, uuid_texts
from falkirk.pipeline.state.metadata.metadata_rows import (
    PARTITION,
    PARTITION_CHANGE,
    SETS_DIRECTORIES,
    SETS_REPLICA_STATE,
    TOPIC,
)
from falkirk.pipeline.state.metadata.written_places import WritingRows, joined, written_places
from falkirk.pipeline.state.partitions.partition_keys import changed_partitions, created_partitions
from falkirk.pipeline.state.partitions.partition_overlay import LISTS, NUMBERS, overlay
from falkirk.pipeline.tables.metadata_state import PARTITIONS, TOPICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from falkirk.pipeline.state.metadata.inconsistencies import Inconsistencies
    from falkirk.pipeline.state.metadata.metadata_rows import BulkRows, MetadataRows
    from falkirk.pipeline.state.metadata.other_state import Lowering
    from falkirk.pipeline.state.metadata.written_places import WrittenPlaces
    from falkirk.pipeline.state.partitions.elr_clears import ElrClear
    from falkirk.pipeline.state.partitions.partition_keys import KeyedRows, PartitionKeys
    from falkirk.pipeline.state.partitions.partition_overlay import ListState, PartitionState
    from falkirk.pipeline.state.partitions.topic_lives import TopicLives

    Ints = NDArray[np.int64]
    Column = pa.Array[Any]  # Any: of the column's own type

ROWS_PER_BATCH: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitions:
    """All partitions that exist at the end; iterating yields their rows, any number of times."""

    keys: PartitionKeys
    lives: TopicLives
    state: PartitionState
    # By column.
    places: dict[str, WrittenPlaces]
    files: Sequence[str]
    # Keys of those that exist; the others went with their topics.
    alive: Ints
    # Records that were not refused, by type.
    sound_rows: dict[str, BulkRows]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the table `partitions`."""
        topic_ids, files = uuid_texts(self.lives.rows.columns["topic_id"]), pa.array(self.files, pa.string())
        for start in range(0, len(self.alive), ROWS_PER_BATCH):
            keys = self.alive[start : start + ROWS_PER_BATCH]
            life = self.keys.life[keys]
            arrays: dict[str, Column] = {
                "topic_id": topic_ids.take(life),
                "topic": self.lives.names.take(life),
                "partition_id": pa.array(self.keys.number[keys], pa.int32()),
            }
            arrays |= {name: _lists(self.state.lists[name], keys) for name in LISTS}
            arrays["directories"] = uuid_lists(arrays["directories"])
            for name in NUMBERS:
                type_ = PARTITIONS.schema.field(name).type
                arrays[name] = pa.array(self.state.numbers[name][keys].astype(type_.to_pandas_dtype()), type_)
            arrays |= {name: places.array(files, keys) for name, places in self.places.items()}
            yield pa.RecordBatch.from_arrays(
                [arrays[name] for name in PARTITIONS.schema.names], schema=PARTITIONS.schema
            )

    def lists(self, name: str) -> Column:
        """Return a list of each partition that exists, by the name of its column; uuids as bytes."""
        if not len(self.alive):
            return self.state.lists[name].values.slice(0, 0)
        return _lists(self.state.lists[name], self.alive)

    def of_each_topic(self) -> Ints:
        """Count the partitions of each topic's life."""
        return np.bincount(self.keys.life[self.alive], minlength=len(self.lives))


def partitions_of(
    rows: MetadataRows,
    lives: TopicLives,
    clears: Sequence[ElrClear],
    lowerings: Sequence[Lowering],
    problems: Inconsistencies,
) -> Partitions:
    """Apply all records of partitions."""
    keys, created = created_partitions(rows.bulk[PARTITION], lives, problems)
    changed = changed_partitions(rows.bulk[PARTITION_CHANGE], lives, keys, created, problems)
    state = overlay(keys, created, changed, clears, lowerings, problems=problems)
    counted = np.ones(len(changed.key), np.bool_)
    counted[state.refused] = False
    changed = changed.select(counted)
    return Partitions(
        keys=keys,
        lives=lives,
        state=state,
        places=_places(rows, lives, keys, created, changed),
        files=rows.files,
        alive=np.flatnonzero(lives.is_alive[keys.life]) if len(keys) else np.empty(0, np.int64),
        sound_rows={PARTITION: created.rows, PARTITION_CHANGE: changed.rows},
    )


def topic_rows(rows: MetadataRows, lives: TopicLives, partitions: Partitions) -> pa.RecordBatch:
    """Return the rows of the table `topics`."""
    earlier = rows.earlier[TOPIC]
    life = lives.last(earlier.columns["topic_id"])
    writers = joined(
        _writing(TOPIC, lives.rows, np.arange(len(lives))), _writing(TOPIC, earlier, life).select(life >= 0)
    )
    alive = np.flatnonzero(lives.is_alive)
    arrays: list[Column] = [
        uuid_texts(lives.rows.columns["topic_id"].take(alive)),
        lives.names.take(alive),
        pa.array(partitions.of_each_topic()[alive], pa.int32()),
        written_places(len(lives), [writers]).array(pa.array(rows.files, pa.string()), alive),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=TOPICS.schema)


def _places(
    rows: MetadataRows, lives: TopicLives, keys: PartitionKeys, created: KeyedRows, changed: KeyedRows
) -> dict[str, WrittenPlaces]:
    """Find where each partition, its directories and its replicas' state were written last."""
    earlier = _earlier(PARTITION, rows.earlier[PARTITION], lives, keys)
    writes = joined(_writing(PARTITION, created.rows, created.key), earlier.select(earlier.key >= 0))
    more = rows.earlier[PARTITION_CHANGE]
    changes = _writing(PARTITION_CHANGE, changed.rows, changed.key)
    columns = {"directories_written": SETS_DIRECTORIES, "replica_state_written": SETS_REPLICA_STATE}
    if not len(changes.key) and not len(more):
        return dict.fromkeys(["written", *columns], written_places(len(keys), [writes]))
    before = _earlier(PARTITION_CHANGE, more, lives, keys)
    found = {"written": written_places(len(keys), [writes, joined(changes, before.select(before.key >= 0))])}
    for column, sets in columns.items():
        those = joined(
            changes.select(changed.rows.numbers(sets)), before.select((before.key >= 0) & more.numbers(sets))
        )
        found[column] = written_places(len(keys), [writes, those])
    return found


def _earlier(record: str, rows: BulkRows, lives: TopicLives, keys: PartitionKeys) -> WritingRows:
    """Return earlier records; those of partitions that do not exist at the end have a negative key."""
    key = keys.index_of(lives.last(rows.columns["topic_id"]), rows.numbers("partition_id").astype(np.int64))
    return _writing(record, rows, key)


def _writing(record: str, rows: BulkRows, key: Ints) -> WritingRows:
    return WritingRows(record=record, key=key, order=rows.order, offset=rows.offset, file=rows.file)


def _lists(state: ListState, keys: Ints) -> Column:
    """Return a list of some partitions; one that a record leaves out is empty."""
    if state.row is None and int(keys[-1]) - int(keys[0]) + 1 == len(keys):
        lists = state.values.slice(int(keys[0]), len(keys))
    else:
        lists = state.values.take(keys if state.row is None else state.row[keys])
    assert isinstance(lists, pa.ListArray)
    return pa.ListArray.from_arrays(lists.offsets, lists.values) if lists.null_count else lists
