"""The record that makes each upgrade of metadata.version irreversible without loss.

That is the first record behind an upgrade that the level before it cannot hold: `LossRule.bearers` in the loss
catalogue. Later records may have overwritten it; `downgrade_losses` has what would be lost now. Records of an aborted
metadata transaction count like any other.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from falkirk.columnar.other_records import KEY_FIELDS
from falkirk.metadata.losses.loss import Outcome
from falkirk.metadata.losses.loss_catalogue import CATALOGUE
from falkirk.metadata.records.record_key import ObjectKey, object_key
from falkirk.pipeline.state.conditions import Columns, equals, holds
from falkirk.pipeline.tables.metadata_records import FEATURE_LEVELS, METADATA_RECORDS
from falkirk.pipeline.tables.metadata_state import BROKERS, TOPICS
from falkirk.pipeline.tables.table import TIMESTAMP
from falkirk.pipeline.transforms.cluster_context import brokers_of
from falkirk.pipeline.transforms.cluster_question import ClusterQuestion
from falkirk.protocol.messages import message_class
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from falkirk.metadata.losses.loss import LossRule
    from falkirk.pipeline.transforms.cluster_context import Brokers
    from falkirk.pipeline.warehouse.cluster_rows import ClusterRows, Part

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Row = dict[str, Any]  # Any: values of columns
    Values = pa.Array[Any]  # Any: of the column's own type

# A loss at every level does not make one upgrade irreversible.
_RULES: Final = tuple(rule for rule in CATALOGUE if rule.outcome is Outcome.LOST and rule.level is not None)
_BEARERS: Final = tuple(dict.fromkeys(record for rule in _RULES for record in rule.bearers))
_TYPED: Final[Mapping[str, str]] = {"PartitionRecord": "partition", "PartitionChangeRecord": "partition_change"}
"""Record type -> its own column; the others are JSON."""
_TYPES: Final[Mapping[str, pa.DataType]] = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "uint16": pa.int32(),
    "int32": pa.int32(),
    "uint32": pa.int64(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "string": pa.string(),
    "uuid": pa.string(),
    "bytes": pa.string(),
}
_COLUMNS: Final[dict[str, pa.DataType]] = {
    "from_level": pa.int16(),
    "to_level": pa.int16(),
    "upgrade_offset": pa.int64(),
    "upgrade_timestamp": TIMESTAMP,
    "kind": pa.string(),
    "record": pa.string(),
    "key": pa.string(),
    "offset": pa.int64(),
    "timestamp": TIMESTAMP,
}
_SCHEMA: Final = pa.schema(_COLUMNS)


def point_of_no_return() -> ClusterQuestion:
    """Return a row for each upgrade of metadata.version that is still in the log.

    Columns: cluster, from_level, to_level, upgrade_offset, upgrade_timestamp, and of the record that makes it
    irreversible kind (of loss), record (its type), key, offset, timestamp: null if there is none up to the end of the
    log, or up to where the level was lowered again.
    """
    needed = [FEATURE_LEVELS, METADATA_RECORDS, TOPICS, BROKERS]
    return ClusterQuestion(needed=needed, work=_of_cluster, schema=_SCHEMA)


class _Upgrade(NamedTuple):
    """An upgrade, and the offset where it was taken back."""

    from_level: int
    to_level: int
    offset: int
    timestamp: Any  # Any: a time
    until: float


class _Bearer(NamedTuple):
    """A record that brings what a rule is about into the log, and where it is read. Told apart by offset and rule."""

    offset: int
    rule: int
    record: str
    part: Part
    at: int


def _of_cluster(rows: ClusterRows) -> pa.Table:
    levels = rows.read(FEATURE_LEVELS, "feature", "from_level", "to_level", "offset", "timestamp").to_pylist()
    moves = [row for row in levels if row["feature"] == METADATA_VERSION and row["offset"] is not None]
    moves.sort(key=lambda row: row["offset"])
    upgrades = list(_upgrades(moves))
    first: dict[_Upgrade, _Bearer] = {}
    # Most clusters have no upgrade in their log, and their records are not read.
    if upgrades:
        brokers = brokers_of(rows)
        for part in rows.parts(METADATA_RECORDS):
            for upgrade, bearer in _first_of_part(part, upgrades, moves, brokers):
                first[upgrade] = min(bearer, first.get(upgrade, bearer), key=lambda each: each[:2])
    return pa.Table.from_pylist([_answer(rows, upgrade, first.get(upgrade)) for upgrade in upgrades], _SCHEMA)


def _upgrades(moves: Sequence[Row]) -> Iterator[_Upgrade]:
    """Yield the upgrades among the changes of the level, which are sorted by offset."""
    for index, move in enumerate(moves):
        before, after = move["from_level"] or 0, move["to_level"] or 0
        if 0 < before < after:
            back = (each["offset"] for each in moves[index + 1 :] if (each["to_level"] or 0) <= before)
            yield _Upgrade(before, after, move["offset"], move["timestamp"], next(back, math.inf))


def _first_of_part(
    part: Part, upgrades: Sequence[_Upgrade], moves: Sequence[Row], brokers: Brokers
) -> Iterator[tuple[_Upgrade, _Bearer]]:
    """Yield for each upgrade the first record of each type behind it, and rule, that the level before cannot hold."""
    batch = part.read("is_snapshot", "offset", "record_name")
    offsets = np.asarray(batch["offset"].fill_null(-1))
    behind = equals(batch["is_snapshot"], wanted=False) & (offsets > min(each.offset for each in upgrades))
    for record in _BEARERS:
        at = np.flatnonzero(behind & equals(batch["record_name"], record))
        if not len(at):
            continue
        columns = _columns(part, record, at, brokers)
        for index, rule in enumerate(_RULES):
            if record not in rule.bearers:
                continue
            held = at[holds(rule.bearers[record], columns)]
            for upgrade in upgrades:
                wanted = held[_makes_irreversible(rule, upgrade, offsets[held], moves)]
                if len(wanted):
                    first = int(wanted[np.argmin(offsets[wanted])])
                    yield upgrade, _Bearer(int(offsets[first]), index, record, part, first)


def _makes_irreversible(rule: LossRule, upgrade: _Upgrade, offsets: Ints, moves: Sequence[Row]) -> Flags:
    """Return which of the records at these offsets, that bear what a rule is about, make an upgrade irreversible."""
    assert rule.level is not None, "see _RULES"
    if rule.level <= upgrade.from_level:
        return np.zeros(len(offsets), np.bool_)
    found = (offsets > upgrade.offset) & (offsets < upgrade.until)
    if rule.by_meaning:
        # The level at which each record was written; all are behind an upgrade.
        written_at = np.searchsorted([move["offset"] for move in moves], offsets) - 1
        found &= np.array([move["to_level"] or 0 for move in moves])[written_at] >= rule.level
    return found


def _columns(part: Part, record: str, at: Ints, brokers: Brokers) -> Columns:
    """Return the fields of the records of one type."""
    struct = _TYPED.get(record)
    [values] = part.read(struct or "json").take(at).columns
    if struct is not None:
        return Columns(
            count=len(at),
            column=lambda name: pc.struct_field(values, name),
            single_log_dirs=brokers.single_log_dirs,
        )
    forms = [msgspec.json.decode(text or "{}") for text in values.to_pylist()]
    return Columns(count=len(at), column=functools.partial(_json_field, record, forms))


def _json_field(record: str, forms: Sequence[dict[str, Any]], name: str) -> Values:  # Any: JSON values
    """Return a field of records in JSON form; null where the JSON leaves it out because it has its default."""
    [field] = [field for field in message_class(record).SCHEMA.fields if field.attribute == name]
    assert isinstance(field.type, str), f"{name} is a struct"
    type_ = pa.list_(_TYPES[field.type]) if field.is_array else _TYPES[field.type]
    return pa.array([form.get(field.json_name(0)) for form in forms], type_)


def _answer(rows: ClusterRows, upgrade: _Upgrade, bearer: _Bearer | None) -> Row:
    found = {
        "from_level": upgrade.from_level,
        "to_level": upgrade.to_level,
        "upgrade_offset": upgrade.offset,
        "upgrade_timestamp": upgrade.timestamp,
    }
    if bearer is None:
        return found
    record, struct = bearer.record, _TYPED.get(bearer.record)
    [row] = bearer.part.read("timestamp", "key", *([struct] if struct else [])).slice(bearer.at, 1).to_pylist()
    return found | {
        "kind": _RULES[bearer.rule].kind,
        "record": record,
        "key": _partition_text(rows, row[struct]) if struct else _key_text(record, row["key"]),
        "offset": bearer.offset,
        "timestamp": row["timestamp"],
    }


def _partition_text(rows: ClusterRows, partition: Row) -> str:
    """Return the phrase for a partition, by the name that its topic has now."""
    topics = rows.read(TOPICS, "topic_id", "name")
    names = topics.filter(pc.equal(topics["topic_id"], pa.scalar(partition["topic_id"])))["name"].to_pylist()
    return ObjectKey("partition", (partition["topic_id"], partition["partition_id"])).text(names[0] if names else None)


def _key_text(record: str, key: str | None) -> str:
    """Return the phrase for the object that a record in JSON form is about."""
    empty = object_key(message_class(record)())
    assert empty is not None, record
    parts = msgspec.json.decode(key or "{}")
    return ObjectKey(empty.kind, tuple(parts.get(name) for name in KEY_FIELDS[record])).text()
