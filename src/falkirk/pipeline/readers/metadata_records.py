"""Metadata logs and snapshots as rows of the table `metadata_records`.

Each Arrow batch has one type of record, or all types without columns of their own: within a block of some ten thousand
records, the rows of one type come in offset order, one type after the other. Interleaving them would take as long as
decoding them. Control records (leader changes, voters, a snapshot's header and footer) have no rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from falkirk.columnar.arrow_arrays import constant_array
from falkirk.columnar.metadata_tables import OTHER, iter_metadata_tables
from falkirk.pipeline.readers.row_columns import null_if, origin_columns, timestamps
from falkirk.pipeline.readers.uuid_columns import uuid_lists, uuid_texts
from falkirk.pipeline.tables.metadata_records import (
    CONFIG_TYPE,
    METADATA_RECORDS,
    PARTITION_CHANGE_TYPE,
    PARTITION_TYPE,
    TOPIC_TYPE,
    UNKNOWN_TAGS_TYPE,
)
from falkirk.protocol import messages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.columnar.report import ReadReport
    from falkirk.pipeline.readers.chunks import Chunk
    from falkirk.pipeline.readers.origin import Origin

    Arrays = dict[str, pa.Array[Any]]  # Any: of the column's own type

SNAPSHOT_SUFFIX: Final = ".checkpoint"
_NUMBERS: Final = {name: number for number, name in messages.METADATA_RECORDS.items()}
# Table of columnar -> column, and its type.
_TYPED: Final = {
    "PartitionRecord": ("partition", PARTITION_TYPE),
    "PartitionChangeRecord": ("partition_change", PARTITION_CHANGE_TYPE),
    "TopicRecord": ("topic", TOPIC_TYPE),
    "ConfigRecord": ("config", CONFIG_TYPE),
}
_UUID: Final = pa.binary(16)
# Fields of a change that cannot be null on the wire -> their value for "as before".
_AS_BEFORE: Final = {"leader": -2, "leader_recovery_state": -1}


def read_metadata_records(chunks: Iterable[Chunk], origin: Origin, report: ReadReport) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a metadata log or snapshot; problems go to `report`."""
    for chunk in chunks:
        for table, rows in iter_metadata_tables(chunk.data, report=report, file_position=chunk.position):
            yield metadata_rows(table, rows, origin)


def metadata_rows(table: str, rows: pa.RecordBatch, origin: Origin) -> pa.RecordBatch:
    """Convert rows of one of the tables of `columnar.metadata_tables` to rows of `metadata_records`."""
    count = rows.num_rows
    arrays: Arrays = origin_columns(origin, count) | {
        "is_snapshot": constant_array(origin.source.endswith(SNAPSHOT_SUFFIX), count, pa.bool_()),
        "timestamp": timestamps(rows.column("timestamp")),
    }
    for name in ("position", "offset", "epoch", "record_version"):
        arrays[name] = rows.column(name)
    if table == OTHER:
        for name in ("record_type", "record_name", "key", "json", "unknown_tagged_fields"):
            arrays[name] = rows.column(name)
    else:
        column, type_ = _TYPED[table]
        arrays[column] = _struct(rows, type_)
        arrays["record_type"] = constant_array(_NUMBERS[table], count, pa.int16())
        arrays["record_name"] = constant_array(table, count, pa.string())
        arrays["unknown_tagged_fields"] = _unknown_tags(rows.column("unknown_tagged_fields"))
    found = [
        arrays[field.name] if field.name in arrays else constant_array(None, count, field.type)
        for field in METADATA_RECORDS.schema
    ]
    return pa.RecordBatch.from_arrays(found, schema=METADATA_RECORDS.schema)


def _struct(rows: pa.RecordBatch, type_: pa.StructType) -> pa.StructArray:
    fields = [type_.field(index) for index in range(type_.num_fields)]
    children = []
    for field in fields:
        values = rows.column(field.name)
        if values.type == _UUID:
            values = uuid_texts(values)
        elif pa.types.is_list(values.type) and values.type.value_type == _UUID:
            values = uuid_lists(values)
        elif type_ is PARTITION_CHANGE_TYPE and field.name in _AS_BEFORE:
            values = null_if(values, _AS_BEFORE[field.name])
        children.append(values)
    return pa.StructArray.from_arrays(children, fields=fields)


def _unknown_tags(tags: pa.Array[Any]) -> pa.Array[Any]:  # Any: lists of tags, which here get the path of the record
    if tags.null_count == len(tags):
        return constant_array(None, len(tags), UNKNOWN_TAGS_TYPE)
    rows = [tags_ and [tag | {"path": ""} for tag in tags_] for tags_ in tags.to_pylist()]
    return pa.array(rows, UNKNOWN_TAGS_TYPE)
