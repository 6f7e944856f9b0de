"""The lives of topics: each lasts from a TopicRecord to its RemoveTopicRecord, or to the end.

A name or an id may be used again once it is free. Nearly all topics are created once and removed at most once, and are
handled all at once; the others one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from falkirk.columnar.arrow_arrays import bytes_of
from falkirk.columnar.schemas import UUID
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.metadata.records.record_key import topic_key
from falkirk.protocol.messages import RemoveTopicRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from falkirk.pipeline.state.metadata.inconsistencies import Inconsistencies
    from falkirk.pipeline.state.metadata.metadata_rows import BulkRows, OtherRecord

    Ints = NDArray[np.int64]

NEVER: Final = 1 << 62
"""End of a life that has not ended."""
NO_LIFE: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicLives:
    """The lives of all topics, in the order they began. `rows` has the TopicRecords that began them."""

    rows: BulkRows
    # Order of the record that ended the life, or NEVER.
    end: Ints
    # All ids; the index in them of each life's, and of each id its last life.
    ids: pa.Array[Any]  # Any: binary(16)
    id_index: Ints
    last_life: Ints
    # Ids with several lives -> all of them.
    several: dict[int, list[int]]
    # (order, name) of each removal.
    removals: list[tuple[int, str]]

    def __len__(self) -> int:
        return len(self.end)

    @property
    def names(self) -> pa.Array[Any]:  # Any: string
        """Name of each life's topic."""
        return self.rows.columns["name"]

    @property
    def is_alive(self) -> NDArray[np.bool_]:
        """Which lives last to the end."""
        alive: NDArray[np.bool_] = self.end == NEVER
        return alive

    def at(self, topic_ids: pa.Array[Any], order: Ints) -> Ints:  # Any: binary(16)
        """Return the life that each record falls into by topic id and order; NO_LIFE if there is none."""
        index = self._index_of(topic_ids)
        life = np.where(index >= 0, self._last_life_of(index), NO_LIFE)
        falls = self._falls(life, order)
        for each, lives in self.several.items():
            for earlier in lives[:-1]:
                missed = (index == each) & ~falls
                inside = missed & (order > self.rows.order[earlier]) & (order < self.end[earlier])
                life[inside], falls[inside] = earlier, True
        return np.where(falls, life, NO_LIFE)

    def last(self, topic_ids: pa.Array[Any]) -> Ints:  # Any: binary(16)
        """Return the life that each topic has at the end; NO_LIFE if it has none."""
        index = self._index_of(topic_ids)
        life = np.where(index >= 0, self._last_life_of(index), NO_LIFE)
        return np.where((life >= 0) & self.is_alive[life], life, NO_LIFE) if len(self) else life

    def named(self, names: Sequence[str]) -> dict[str, list[int]]:
        """Return all lives of topics with some names."""
        positions = pc.index_in(self.names, value_set=pa.array(sorted(set(names)), pa.string()))
        found: dict[str, list[int]] = {name: [] for name in names}
        for life in np.flatnonzero(positions.is_valid().to_numpy(zero_copy_only=False)).tolist():
            found[self.names[life].as_py()].append(life)
        return found

    def _falls(self, life: Ints, order: Ints) -> NDArray[np.bool_]:
        if not len(self):
            return np.zeros(len(order), np.bool_)
        falls: NDArray[np.bool_] = (life >= 0) & (order > self.rows.order[life]) & (order < self.end[life])
        return falls

    def _last_life_of(self, index: Ints) -> Ints:
        return self.last_life[index] if len(self.ids) else np.full(len(index), NO_LIFE)

    def _index_of(self, topic_ids: pa.Array[Any]) -> Ints:  # Any: binary(16)
        """Look up ids; those of partitions of one topic mostly come together."""
        starts = run_starts(topic_ids)
        found = pc.index_in(topic_ids.take(starts), value_set=self.ids).fill_null(NO_LIFE)
        counts = np.diff(np.append(starts, len(topic_ids)))
        return np.repeat(found.to_numpy(zero_copy_only=False).astype(np.int64), counts)


def run_starts(uuids: pa.Array[Any]) -> Ints:  # Any: binary(16)
    """Return the rows whose uuid differs from that of the row before."""
    words = bytes_of(uuids.buffers()[1]).view(np.int64).reshape(-1, 2)[uuids.offset : uuids.offset + len(uuids)]
    changes = (words[1:] != words[:-1]).any(axis=1)
    return np.concatenate([np.zeros(min(len(uuids), 1), np.int64), np.flatnonzero(changes) + 1])


def topic_lives(rows: BulkRows, removals: Sequence[OtherRecord], problems: Inconsistencies) -> TopicLives:
    """Find the lives of all topics; TopicRecords and removals that contradict each other are reported, and ignored."""
    builder = _Builder(rows, removals, problems)
    builder.run()
    return builder.lives()


class _Builder:
    """Processes TopicRecords and removals."""

    def __init__(self, rows: BulkRows, removals: Sequence[OtherRecord], problems: Inconsistencies) -> None:
        ids, names = rows.columns["topic_id"].dictionary_encode(), rows.columns["name"].dictionary_encode()
        self._rows = rows
        self._problems = problems
        self._ids = ids.dictionary
        self._id_index, self._name_index = _indices(ids), _indices(names)
        self._begins = np.ones(len(rows), np.bool_)
        self._end = np.full(len(rows), NEVER, np.int64)
        # (order, row of the topic) of each valid removal.
        self._removed: list[tuple[int, int]] = []
        self._removals = list(zip(removals, self._removed_ids(removals), strict=True))

    def run(self) -> None:
        """Find where each topic's life ends, and which TopicRecords begin none."""
        row_of = np.full(len(self._ids), -1, np.int64)
        row_of[self._id_index] = np.arange(len(self._rows))
        is_odd = self._odd_ids(row_of)
        odd: list[tuple[int, int, OtherRecord | None]] = []
        for removal, index in self._removals:
            if index < 0:
                self._reject_removal(removal)
            elif is_odd[index]:
                odd.append((removal.order, index, removal))
            else:
                self._end_life(int(row_of[index]), removal)
        rows = np.flatnonzero(is_odd[self._id_index])
        odd += [(order, row, None) for order, row in zip(self._rows.order[rows].tolist(), rows.tolist(), strict=True)]
        self._one_by_one(sorted(odd, key=lambda event: event[0]))

    def lives(self) -> TopicLives:
        """Return the lives found."""
        rows = self._rows.select(self._begins)
        id_index = self._id_index[self._begins]
        last_life = np.full(len(self._ids), NO_LIFE, np.int64)
        last_life[id_index] = np.arange(len(rows))
        counts = np.bincount(id_index, minlength=1)
        return TopicLives(
            rows=rows,
            end=self._end[self._begins],
            ids=self._ids,
            id_index=id_index,
            last_life=last_life,
            several={each: np.flatnonzero(id_index == each).tolist() for each in np.flatnonzero(counts > 1).tolist()},
            removals=[(order, self._name(row)) for order, row in sorted(self._removed)],
        )

    def _removed_ids(self, removals: Sequence[OtherRecord]) -> list[int]:
        messages = [other.message for other in removals]
        ids = [message.topic_id for message in messages if isinstance(message, RemoveTopicRecord)]
        assert len(ids) == len(removals)
        found = pc.index_in(pa.array(ids, UUID), value_set=self._ids).fill_null(-1)
        return [int(index) for index in found.to_numpy(zero_copy_only=False)]

    def _odd_ids(self, row_of: Ints) -> NDArray[np.bool_]:
        """Return which ids have several lives, share their name with another, or are removed before their creation."""
        created = np.bincount(self._id_index, minlength=len(self._ids))
        removed = np.bincount([index for _, index in self._removals if index >= 0], minlength=len(self._ids))
        is_odd = (created > 1) | (removed > 1)
        shares_name = np.bincount(self._name_index, minlength=1)[self._name_index] > 1
        is_odd[self._id_index[shares_name]] = True
        for removal, index in self._removals:
            if index >= 0 and removal.order < self._rows.order[row_of[index]]:
                is_odd[index] = True
        # A topic that shares a name with an odd one is odd as well, so all others are independent.
        return is_odd

    def _one_by_one(self, events: Sequence[tuple[int, int, OtherRecord | None]]) -> None:
        """Replay (order, id, removal) and (order, row, None) as TopicsDelta does."""
        by_id: dict[int, int] = {}
        by_name: dict[int, int] = {}
        for _, at, removal in events:
            if removal is not None:
                row = by_id.pop(at, None)
                if row is None:
                    self._reject_removal(removal)
                else:
                    del by_name[int(self._name_index[row])]
                    self._end_life(row, removal)
                continue
            id_index, name_index = int(self._id_index[at]), int(self._name_index[at])
            if id_index in by_id:
                self._reject_topic(at, f"topic {self._name(at)}: the id is taken")
            elif name_index in by_name:
                self._reject_topic(at, f"the name {self._name(at)} is taken")
            else:
                by_id[id_index] = by_name[name_index] = at

    def _end_life(self, row: int, removal: OtherRecord) -> None:
        self._end[row] = removal.order
        self._removed.append((removal.order, row))

    def _reject_topic(self, row: int, reason: str) -> None:
        self._begins[row] = False
        key = topic_key(self._rows.columns["topic_id"][row].as_py())
        error = InconsistentRecordError("TopicRecord", reason, key=key)
        self._problems.add_rows(self._rows, np.array([row]), lambda _: error)

    def _reject_removal(self, removal: OtherRecord) -> None:
        assert isinstance(removal.message, RemoveTopicRecord)
        key = topic_key(removal.message.topic_id)
        self._problems.add(removal, InconsistentRecordError("RemoveTopicRecord", "no topic has this id", key=key))

    def _name(self, row: int) -> str:
        return str(self._rows.columns["name"][row].as_py())


def _indices(encoded: pa.DictionaryArray[Any, Any]) -> Ints:  # Any: of what
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False)).astype(np.int64)
