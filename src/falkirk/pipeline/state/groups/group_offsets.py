"""The offsets at the end of a partition of `__consumer_offsets`: the last of each key, in bulk.

The rules are those of `coordinator.prediction.offsets`: a tombstone deletes committed and pending offsets, a
transaction's marker commits or drops what its producer has pending, and of two committed offsets the later record wins.
Commits are rows of columns throughout; only keys that do not parse cleanly are read one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from falkirk.columnar.arrow_arrays import constant_array
from falkirk.coordinator.records.offset_commit import offset_key, offset_topic_partition
from falkirk.coordinator.records.record_type import OFFSET_TYPES
from falkirk.pipeline.tables.groups import COMMITTED_OFFSETS, OFFSET_COMMIT_TYPE
from falkirk.protocol.control_record import ControlRecordType
from falkirk.protocol.lax_reader import decoded
from falkirk.protocol.record_batch import NO_PRODUCER_ID

if TYPE_CHECKING:
    from numpy.typing import NDArray

MERGE_ROWS: Final = 1 << 18
"""So many rows are collected before a merge with those of all chunks before, which costs as much as there is."""
_PAYLOAD: Final = (
    "group",
    "topic",
    "topic_partition",
    "committed_offset",
    "leader_epoch",
    "metadata",
    "commit_timestamp",
    "expire_timestamp",
    "topic_id",
    "offset",
)
# Field of the column `offset_commit` -> column.
_COMMIT_COLUMNS: Final = {
    field.name: "topic_partition" if field.name == "partition" else field.name for field in OFFSET_COMMIT_TYPE
}
_EVENT_TYPES: Final[dict[str, pa.DataType]] = {
    "key": pa.binary(),
    "sequence": pa.int64(),
    "producer_id": pa.int64(),
    "is_tombstone": pa.bool_(),
    **{name: COMMITTED_OFFSETS.schema.field(name).type for name in _PAYLOAD},
}
_SCHEMA: Final = pa.schema(_EVENT_TYPES)
_NO_TYPE: Final = -2
_NO_CONTROL: Final = -1
_TYPES: Final = sorted(OFFSET_TYPES)
_ENDS: Final = [ControlRecordType.ABORT, ControlRecordType.COMMIT]
_TYPE_BYTES: Final = 2
# To the end; PyArrow 26 fails without an end if there are nulls.
_KEY_BYTES_MAX: Final = 2**31 - 1


class LastOffsets:
    """Collects the rows of a partition in log order (table `group_records`); returns the last offset of each key."""

    def __init__(self, *, merge_rows: int = MERGE_ROWS) -> None:
        self._merge_rows = merge_rows
        self._state = _SCHEMA.empty_table()
        self._waiting: list[pa.Table] = []
        self._waiting_rows = 0
        # Of control records: sequence, producer, whether it commits.
        self._ends: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]] = []
        self._sequence = 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Add the next rows; those of other types are ignored."""
        sequence = np.arange(self._sequence, self._sequence + len(rows), dtype=np.int64)
        self._sequence += len(rows)
        control = rows["control_type"].fill_null(_NO_CONTROL).to_numpy(zero_copy_only=False)
        ends = np.flatnonzero(np.isin(control, _ENDS))
        if len(ends):
            producers = rows["producer_id"].to_numpy(zero_copy_only=False)
            self._ends.append((sequence[ends], producers[ends], control[ends] == ControlRecordType.COMMIT))
        offsets = np.isin(rows["record_type"].fill_null(_NO_TYPE).to_numpy(zero_copy_only=False), _TYPES)
        offsets &= control == _NO_CONTROL
        if offsets.any():
            found = _events(_commits(rows, sequence, offsets))
            self._waiting.append(found)
            self._waiting_rows += len(found)
        if self._waiting_rows >= max(self._merge_rows, len(self._state)):
            self._merge()

    def table(self, partition: int) -> pa.Table:
        """Return the table `committed_offsets`, sorted by group, topic and partition.

        A commit whose value no release can read has only its key.
        """
        self._merge()
        state = self._state
        arrays = {name: state[name] for name in _PAYLOAD}
        is_pending = state["producer_id"].to_numpy() != NO_PRODUCER_ID
        arrays["is_pending"] = pa.chunked_array([pa.array(is_pending)])
        arrays["partition"] = pa.chunked_array([constant_array(partition, len(state), pa.int32())])
        table = pa.table([arrays[name] for name in COMMITTED_OFFSETS.schema.names], schema=COMMITTED_OFFSETS.schema)
        table = _last_pending(table)
        return table.sort_by([(name, "ascending") for name in ("group", "topic", "topic_partition", "is_pending")])

    def _merge(self) -> None:
        """Merge the collected rows into the state: for each key one committed row, and one for each producer."""
        if not self._waiting and not self._ends:
            return
        table = pa.concat_tables([self._state, *self._waiting])
        self._waiting, self._waiting_rows = [], 0
        keys = table["key"].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
        sequence = table["sequence"].to_numpy()
        producers = table["producer_id"].to_numpy().copy()
        alive = _behind_tombstones(keys, sequence, table["is_tombstone"].to_numpy(zero_copy_only=False))
        self._end_transactions(sequence, producers, alive)
        rows = np.flatnonzero(alive)
        kept = rows[_last_rows(keys[rows], producers[rows])]
        at = table.schema.get_field_index("producer_id")
        table = table.set_column(at, table.schema.field(at), pa.array(producers))
        self._state = table.take(kept)

    def _end_transactions(
        self, sequence: NDArray[np.int64], producers: NDArray[np.int64], alive: NDArray[np.bool_]
    ) -> None:
        """Mark rows of committed transactions as committed, and drop those of aborted ones."""
        if not self._ends:
            return
        at, of, commits = (np.concatenate(parts) for parts in zip(*self._ends, strict=True))
        self._ends = []
        order = np.lexsort((at, of))
        at, of, commits = at[order], of[order], commits[order]
        known, first = np.unique(of, return_index=True)
        rows = np.flatnonzero(alive & np.isin(producers, known))
        number = np.searchsorted(known, producers[rows])
        # The first marker of the same producer behind the row: markers are sorted by producer, then by place.
        marks = np.searchsorted(known, of) * self._sequence + at
        end = np.searchsorted(marks, number * self._sequence + sequence[rows])
        is_ended = end < np.append(first[1:], len(of))[number]
        rows, end = rows[is_ended], end[is_ended]
        producers[rows[commits[end]]] = NO_PRODUCER_ID
        alive[rows[~commits[end]]] = False


def _commits(rows: pa.RecordBatch, sequence: NDArray[np.int64], offsets: NDArray[np.bool_]) -> pa.RecordBatch:
    """Return the rows about offsets, with the columns needed here."""
    arrays: dict[str, Any] = {name: rows[name] for name in ("key", "producer_id", "group", "offset", "offset_commit")}
    arrays |= {"sequence": pa.array(sequence), "is_tombstone": rows["value"].is_null()}
    found = pa.RecordBatch.from_pydict(arrays)
    return found if offsets.all() else found.filter(pa.array(offsets))


def _events(commits: pa.RecordBatch) -> pa.Table:
    """Return commits and tombstones as rows of the state; a key that cannot be read has none."""
    commit = commits["offset_commit"]
    arrays: dict[str, Any] = {name: commits[name] for name in commits.schema.names}
    # Both types have the same fields behind the number of the type.
    arrays["key"] = pc.binary_slice(commits["key"], _TYPE_BYTES, _KEY_BYTES_MAX)
    arrays |= {column: pc.struct_field(commit, name) for name, column in _COMMIT_COLUMNS.items()}
    found = pa.table([arrays[name] for name in _SCHEMA.names], schema=_SCHEMA)
    clean = commit.is_valid()
    if clean.false_count == 0:
        return found
    odd = [_odd(commit) for commit in commits.filter(pc.invert(clean)).to_pylist()]
    events = pa.Table.from_pylist([event for event in odd if event is not None], schema=_SCHEMA)
    return pa.concat_tables([found.filter(clean), events]).sort_by("sequence")


def _odd(commit: dict[str, Any]) -> dict[str, Any] | None:  # Any: values of columns
    """Read a key or value that does not parse cleanly as Kafka's readers do."""
    parts = offset_key(commit["key"])
    if parts is None:
        return None
    group = decoded(parts[0])
    encoded = group.encode()
    topic, partition = offset_topic_partition(parts[1])
    return {
        **{name: commit[name] for name in ("sequence", "producer_id", "is_tombstone", "offset")},
        "key": (len(encoded) & 0xFFFF).to_bytes(2, "big") + encoded + parts[1],
        "group": group,
        "topic": topic,
        "topic_partition": partition,
    }


def _behind_tombstones(
    keys: NDArray[np.int32], sequence: NDArray[np.int64], is_tombstone: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which rows are commits without a later tombstone of their key."""
    if not is_tombstone.any():
        return ~is_tombstone
    last = np.full(int(keys.max()) + 1, -1, np.int64)
    np.maximum.at(last, keys[is_tombstone], sequence[is_tombstone])
    return ~is_tombstone & (sequence > last[keys])


def _last_rows(keys: NDArray[np.int32], producers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the last row of each key and producer, rising."""
    _, number = np.unique(producers, return_inverse=True)
    both = keys.astype(np.int64) * (int(number.max(initial=0)) + 1) + number
    _, from_end = np.unique(both[::-1], return_index=True)
    return np.sort(len(both) - 1 - from_end)


def _last_pending(table: pa.Table) -> pa.Table:
    """Keep only the last of the offsets that several producers have pending for one partition."""
    pending = table.filter(pc.field("is_pending"))
    if not len(pending):
        return table
    last = pending.group_by(["group", "topic", "topic_partition"]).aggregate([("offset", "max")])["offset_max"]
    is_last = pc.is_in(table["offset"], value_set=last.combine_chunks())
    return table.filter(pc.or_(pc.invert(table["is_pending"]), is_last))
