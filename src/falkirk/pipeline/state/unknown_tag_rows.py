"""Rows of the table `unknown_tags`: tagged fields that no release up to 4.4 has. There is hardly ever one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from falkirk.columnar.message_columns import UNKNOWN_TAGS
from falkirk.columnar.schemas import UUID
from falkirk.metadata.image.unknown_tags import UnknownTagsDelta, UnknownTagsImage, has_unknown_tags
from falkirk.metadata.records.record_key import object_key
from falkirk.pipeline.state.metadata.metadata_rows import CONFIG, PARTITION, PARTITION_CHANGE, TOPIC
from falkirk.pipeline.state.partitions.topic_lives import NO_LIFE
from falkirk.protocol.messages import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    TopicRecord,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from falkirk.metadata.image.unknown_tags import UnknownTag
    from falkirk.metadata.records.record_key import ObjectKey
    from falkirk.pipeline.state.metadata.metadata_rows import BulkRows
    from falkirk.pipeline.state.metadata.other_state import OtherState
    from falkirk.pipeline.state.partitions.topic_lives import TopicLives
    from falkirk.protocol.schema import WireMessage

    Row = dict[str, Any]  # Any: values of columns

# Any: each is called with rows that have its class's own fields.
_MESSAGES: Final[Mapping[str, Callable[[Any], WireMessage]]] = {
    TOPIC: lambda row: TopicRecord(row["name"], row["topic_id"]),
    PARTITION: lambda row: PartitionRecord(row["partition_id"], row["topic_id"]),
    PARTITION_CHANGE: lambda row: PartitionChangeRecord(row["partition_id"], row["topic_id"]),
    CONFIG: lambda row: ConfigRecord(row["resource_type"], row["resource_name"], row["name"], row.get("value")),
}
_FIELDS: Final = ("topic_id", "partition_id", "resource_type", "resource_name", "name", "value", UNKNOWN_TAGS)
# Identity of an object, column by column; a row equal to a tagged one in each may be of the same object.
_KEY: Final = ("topic_id", "partition_id", "resource_name")


class _Record(NamedTuple):
    """A record that may set unknown fields of its object, or remove them."""

    order: int
    offset: int
    file: int
    is_earlier: bool
    message: WireMessage


def unknown_tag_rows(
    state: Mapping[str, BulkRows],
    earlier: Mapping[str, BulkRows],
    others: OtherState,
    lives: TopicLives,
    files: Sequence[str],
) -> list[Row]:
    """Return the unknown fields of all objects. Refused records must not be among the others or the rows."""
    records = [
        _Record(other.order, other.offset, other.file, other.is_earlier, other.message) for other in others.records
    ]
    if not any(has_unknown_tags(each.message) for each in records) and not any(
        _tagged(rows).any() for part in (state, earlier) for rows in part.values()
    ):
        return []
    records += [each for record, rows in state.items() for each in _rows_of_tagged_objects(record, rows, state)]
    records += [each for record, rows in earlier.items() for each in _tagged_rows(record, rows)]
    records.sort(key=lambda each: each.order)
    names = dict(lives.removals)
    delta = UnknownTagsDelta(UnknownTagsImage())
    lowered = {lowering.order for lowering in others.lowerings}
    for each in records:
        if each.order in lowered:
            delta.clear()
        elif not each.is_earlier:
            delta.replay(each.message, names.get(each.order))
    places = _places(records, files)
    return [row for key, tags in delta.apply().tags.items() for row in _rows(key, tags, places, lives)]


def _tagged(rows: BulkRows) -> NDArray[np.bool_]:
    return np.asarray(rows.columns[UNKNOWN_TAGS].is_valid().to_numpy(zero_copy_only=False))


def _tagged_rows(record: str, rows: BulkRows) -> Iterator[_Record]:
    return _messages(record, rows, np.flatnonzero(_tagged(rows)), is_earlier=True)


def _rows_of_tagged_objects(record: str, rows: BulkRows, state: Mapping[str, BulkRows]) -> Iterator[_Record]:
    """Return the rows of objects of which some row has unknown fields: each of them may remove these."""
    wanted = np.ones(len(rows), np.bool_)
    for column in _KEY:
        if column in rows.columns:
            values = [
                part.columns[column].filter(pa.array(_tagged(part)))
                for part in state.values()
                if column in part.columns
            ]
            wanted &= np.asarray(pc.is_in(rows.columns[column], value_set=pa.concat_arrays(values)))
    return _messages(record, rows, np.flatnonzero(wanted), is_earlier=False)


def _messages(record: str, rows: BulkRows, wanted: NDArray[np.int64], *, is_earlier: bool) -> Iterator[_Record]:
    columns = {name: rows.columns[name].take(wanted).to_pylist() for name in _FIELDS if name in rows.columns}
    for index, at in enumerate(wanted.tolist()):
        row = {name: values[index] for name, values in columns.items()}
        message: Any = _MESSAGES[record](row)  # Any: generated classes without a common field
        message.unknown_tagged_fields = tuple((tag["tag"], tag["data"]) for tag in row[UNKNOWN_TAGS] or ())
        yield _Record(int(rows.order[at]), int(rows.offset[at]), int(rows.file[at]), is_earlier, message)


def _places(records: Iterable[_Record], files: Sequence[str]) -> dict[tuple[ObjectKey, str], tuple[int, Row]]:
    """Return, by object and type of record, order and place of the last record with unknown fields."""
    found: dict[tuple[ObjectKey, str], tuple[int, Row]] = {}
    for each in records:
        key = object_key(each.message)
        if key is not None and has_unknown_tags(each.message):
            record = type(each.message).__name__
            found[key, record] = each.order, {"record": record, "offset": each.offset, "source": files[each.file]}
    return found


def _rows(
    key: ObjectKey,
    tags: Sequence[UnknownTag],
    places: Mapping[tuple[ObjectKey, str], tuple[int, Row]],
    lives: TopicLives,
) -> Iterator[Row]:
    # As in `metadata.losses.locate`, all fields of one object have one place.
    _, place = max((places[key, record] for record in {tag.record for tag in tags}), key=lambda found: found[0])
    name = _topic_name(key.identity[0], lives) if key.kind in {"topic", "partition"} else None
    for tag in tags:
        yield {
            "key": key.text(name),
            "record": tag.record,
            "path": tag.path,
            "tag": tag.tag,
            "data": tag.data,
            "written": place,
        }


def _topic_name(topic_id: bytes, lives: TopicLives) -> str | None:
    life = int(lives.last(pa.array([topic_id], UUID))[0])
    return None if life == NO_LIFE else str(lives.names[life])
