"""Fields of metadata records as columns, both of types with columns in METADATA_RECORDS and of those in JSON form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as sf

from falkirk.columnar.other_records import KEY_FIELDS
from falkirk.metadata.records.record_key import object_key
from falkirk.pipeline.transforms.object_keys import key_text
from falkirk.protocol.messages import message_class

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyspark.sql import Column, DataFrame

TYPED: Final[Mapping[str, str]] = {
    "PartitionRecord": "partition",
    "PartitionChangeRecord": "partition_change",
    "TopicRecord": "topic",
    "ConfigRecord": "config",
}
"""Record type -> its own column."""
_SPARK_TYPES: Final[Mapping[str, str]] = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "uint16": "int",
    "int32": "int",
    "uint32": "bigint",
    "int64": "bigint",
    "float64": "double",
    "string": "string",
    "uuid": "string",
    "bytes": "string",
}


def with_parsed(rows: DataFrame, records: Iterable[str]) -> DataFrame:
    """Add, for each type in JSON form, a column with its fields, named after the type; null in other records."""
    parsed = {
        record: sf.from_json(sf.when(sf.col("record_name") == record, sf.col("json")), _json_schema(record))
        for record in records
        if record not in TYPED
    }
    return rows.withColumns(parsed)


def record_field(record: str, name: str) -> Column:
    """Return a field of a type, of rows `with_parsed`; null if the JSON leaves it out because it has its default."""
    column = TYPED.get(record)
    if column is not None:
        return sf.col(f"{column}.{name}")
    [field] = [field for field in message_class(record).SCHEMA.fields if field.attribute == name]
    return sf.col(f"{record}.{field.json_name(0)}")


def record_key_text(record: str, topic: Column) -> Column:
    """Return the phrase for the object that a record is about; `topic` is the name of a partition's topic."""
    key = object_key(message_class(record)())
    assert key is not None, record
    column = TYPED.get(record)
    if column is not None:
        return key_text(key.kind, [sf.col("topic_id"), sf.col("partition_id")], topic)
    return key_text(key.kind, [sf.get_json_object("key", f"$.{name}") for name in KEY_FIELDS[record]])


def _json_schema(record: str) -> str:
    fields = ((field.json_name(0), field.type, field.is_array) for field in message_class(record).SCHEMA.fields)
    types = ((name, _SPARK_TYPES[type_], is_array) for name, type_, is_array in fields if isinstance(type_, str))
    return ", ".join(f"`{name}` {f'array<{type_}>' if is_array else type_}" for name, type_, is_array in types)
