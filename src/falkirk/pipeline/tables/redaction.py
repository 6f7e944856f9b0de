"""Secrets of the metadata are left out of the tables: SCRAM credentials, passwords among the configs.

Kafka's brokers store dynamic configs in clear text in the metadata log, passwords, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from falkirk.metadata.image.configs import BROKER, CLIENT_METRICS, GROUP, TOPIC
from falkirk.pipeline.tables.metadata_records import METADATA_RECORDS
from falkirk.pipeline.tables.metadata_state import CONFIGS, UNKNOWN_TAGS
from falkirk.versions.configs.sensitive import is_sensitive

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from falkirk.versions.configs.tables import Kind

    Array = pa.Array[Any]  # Any: of the column's own type

REDACTED: Final = "(redacted)"
"""Kafka's replacement for secret values (RecordRedactor)."""
_KINDS: Final[dict[int, Kind]] = {TOPIC: "topic", BROKER: "server", CLIENT_METRICS: "client_metrics", GROUP: "group"}
# Records -> fields of their JSON form.
_SECRET_FIELDS: Final = {"UserScramCredentialRecord": ("salt", "storedKey", "serverKey")}
# Columns of a record that may have secrets; those of partitions and topics cannot.
_TOLD_IN: Final = ("json", "config", "unknown_tagged_fields")
# What a later release adds to these may be a secret, too.
_WITH_SECRETS: Final = (*_SECRET_FIELDS, "ConfigRecord")


def redacted(table: str, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of a table without secrets."""
    redact = _REDACT.get(table)
    return rows if redact is None else redact(rows)


def _redacted_configs(rows: pa.RecordBatch) -> pa.RecordBatch:
    value = _values(rows.column("resource_type"), rows.column("name"), rows.column("value"))
    return _replaced(rows, {"value": value})


def _redacted_unknown_tags(rows: pa.RecordBatch) -> pa.RecordBatch:
    data = pc.if_else(_has_secrets(rows.column("record")), pa.scalar(None, pa.binary()), rows.column("data"))
    return _replaced(rows, {"data": data})


def _redacted_records(rows: pa.RecordBatch) -> pa.RecordBatch:
    if all(rows.column(name).null_count == rows.num_rows for name in _TOLD_IN):
        return rows
    names, columns = rows.column("record_name"), {}
    with_secrets = _has_secrets(names)
    if not pc.any(with_secrets).as_py():
        return rows
    tags = rows.column("unknown_tagged_fields")
    columns["unknown_tagged_fields"] = pc.if_else(with_secrets, pa.scalar(None, tags.type), tags)
    config = rows.column("config")
    if config.null_count < len(config):
        fields = {name: pc.struct_field(config, name) for name in ("resource_type", "resource_name", "name", "value")}
        fields["value"] = _values(fields["resource_type"], fields["name"], fields["value"])
        children, types = list(fields.values()), list(config.type)
        columns["config"] = pa.StructArray.from_arrays(children, fields=types, mask=config.is_null())
    pairs = zip(names.to_pylist(), rows.column("json").to_pylist(), strict=True)
    if pc.any(pc.is_in(names, value_set=pa.array(list(_SECRET_FIELDS)))).as_py():
        columns["json"] = pa.array([_redacted_json(name, text) for name, text in pairs], pa.string())
    return _replaced(rows, columns)


def _redacted_json(name: str | None, text: str | None) -> str | None:
    if text is None or name not in _SECRET_FIELDS:
        return text
    form = msgspec.json.decode(text)
    return msgspec.json.encode(form | dict.fromkeys(_SECRET_FIELDS[name], REDACTED)).decode()


def _has_secrets(names: Array) -> Array:
    found: Array = pc.is_in(names, value_set=pa.array(_WITH_SECRETS))
    return found


def _values(types: Array, names: Array, values: Array) -> Array:
    """Return the values of configs, redacted where they are secrets; null stays null."""
    found: Array = pc.if_else(
        pc.and_(pa.array(_are_sensitive(types, names)), values.is_valid()), pa.scalar(REDACTED, values.type), values
    )
    return found


def _are_sensitive(types: Array, names: Array) -> NDArray[np.bool_]:
    """Return whether each config is sensitive; each name of each type is looked up once."""
    encoded: Any = names.fill_null("").dictionary_encode()  # Any: a dictionary array
    dictionary = encoded.dictionary.to_pylist()
    numbers = types.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    codes = numbers * max(len(dictionary), 1) + encoded.indices.to_numpy(zero_copy_only=False)
    distinct, inverse = np.unique(codes, return_inverse=True)
    pairs = (divmod(code, max(len(dictionary), 1)) for code in distinct.tolist())
    sensitive = [is_sensitive(_KINDS.get(number), dictionary[index]) for number, index in pairs]
    return np.array(sensitive, np.bool_)[inverse.reshape(-1)]


def _replaced(rows: pa.RecordBatch, columns: dict[str, Array]) -> pa.RecordBatch:
    arrays = [columns.get(field.name, rows.column(field.name)) for field in rows.schema]
    return pa.RecordBatch.from_arrays(arrays, schema=rows.schema)


_REDACT: Final[dict[str, Callable[[pa.RecordBatch], pa.RecordBatch]]] = {
    CONFIGS.name: _redacted_configs,
    METADATA_RECORDS.name: _redacted_records,
    UNKNOWN_TAGS.name: _redacted_unknown_tags,
}
