"""The expected output of the bulk readers, made by the row reader and row codec record by record."""

from typing import Any

import msgspec

from falkirk.columnar.message_columns import UNKNOWN_TAGS
from falkirk.columnar.other_records import KEY_FIELDS
from falkirk.columnar.schemas import OFFSET_COMMITS
from falkirk.protocol.coordinator_record import decode_key, decode_value
from falkirk.protocol.json_form import to_json, unknown_tags_of
from falkirk.protocol.messages import GROUP_COORDINATOR_KEYS, GROUP_COORDINATOR_VALUES
from falkirk.protocol.metadata_record import decode_metadata_record
from falkirk.protocol.record import split_records
from falkirk.protocol.record_batch import HEADER_BYTES, read_batches

Row = dict[str, Any]


def rows_of(batches):
    """Return all rows of Arrow batches."""
    return [row for batch in batches for row in batch.to_pylist()]


def record_rows(data: bytes, *, file_position: int = 0) -> list[tuple[Row, Any]]:
    """Return each record's row in `records`, with the record itself."""
    out = []
    for batch in read_batches(data):
        spans = split_records(batch.uncompressed(), batch.record_count)
        for record, (start, _) in zip(batch.records(), spans, strict=True):
            compressed = bool(batch.attributes & 7)
            position = batch.position + (0 if compressed else HEADER_BYTES + start)
            sequence = -1
            if batch.base_sequence >= 0:
                sequence = (batch.base_sequence + record.offset - batch.base_offset) & 0x7FFFFFFF
            row = {
                "position": position + file_position,
                "base_offset": batch.base_offset,
                "offset": record.offset,
                "epoch": batch.leader_epoch,
                "timestamp": record.timestamp,
                "attributes": batch.attributes,
                "producer_id": batch.producer_id,
                "producer_epoch": batch.producer_epoch,
                "sequence": sequence,
                "is_control": batch.is_control,
                "key": record.key,
                "value": record.value,
                "headers": [
                    {"key": key.encode("utf-8", "surrogateescape"), "value": value} for key, value in record.headers
                ],
            }
            out.append((row, record))
    return out


def _place(row: Row) -> Row:
    return {name: row[name] for name in ("position", "offset", "epoch", "timestamp")}


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _tags(message: Any) -> list[Row] | None:
    return [{"tag": tag, "data": data} for tag, data in getattr(message, UNKNOWN_TAGS, ())] or None


def metadata_rows(data: bytes, tables: frozenset[str]) -> dict[str, list[Row]]:
    """Return the metadata rows of sound bytes: by record name for those in `tables`, others under "other"."""
    out: dict[str, list[Row]] = {name: [] for name in [*tables, "other"]}
    for row, record in record_rows(data):
        if row["is_control"]:
            continue
        message, version = decode_metadata_record(record.value)
        name = type(message).__name__
        head = _place(row) | {"record_version": version}
        if name in tables:
            fields = {field: _listed(getattr(message, field)) for field in message.__struct_fields__}
            out[name].append(head | fields | {"unknown_tagged_fields": _tags(message)})
            continue
        form = to_json(message, version)
        key = {field: form[field] for field in KEY_FIELDS[name] if field in form}
        tags = [{"path": path, "tag": tag, "data": data} for path, tag, data in unknown_tags_of(message, version)]
        out["other"].append(
            head
            | {
                "record_type": type(message).SCHEMA.info.key,
                "record_name": name,
                "key": msgspec.json.encode(key).decode(),
                "json": msgspec.json.encode(form).decode(),
                "unknown_tagged_fields": tags or None,
            }
        )
    return out


_COMMITTED = ("committed_offset", "committed_leader_epoch", "commit_metadata")


def group_rows(data: bytes) -> dict[str, list[Row]]:
    """Return the rows of the two `__consumer_offsets` tables of sound bytes."""
    out: dict[str, list[Row]] = {"OffsetCommit": [], "group": []}
    for row, record in record_rows(data):
        if row["is_control"]:
            continue
        key = decode_key(GROUP_COORDINATOR_KEYS, record.key)
        type_ = type(key).SCHEMA.info.key
        version = None if record.value is None else int.from_bytes(record.value[:2], "big", signed=True)
        head = _place(row) | {"record_type": type_, "value_version": version}
        if type_ > 1:
            form = to_json(key, type(key).SCHEMA.info.versions.ranges[0][0])
            out["group"].append(
                head
                | {
                    "record_name": type(key).__name__.removesuffix("Key"),
                    "group": form.get("group", form.get("groupId")),
                    "key": msgspec.json.encode(form).decode(),
                    "value": record.value,
                }
            )
            continue
        commit: Row = dict.fromkeys(OFFSET_COMMITS.names)
        commit |= head | {"group": key.group, "topic": key.topic, "partition": key.partition}
        if record.value is not None:
            value, _ = decode_value(GROUP_COORDINATOR_VALUES, type_, record.value)
            commit |= {
                "committed_offset": value.offset,
                "committed_leader_epoch": getattr(value, "leader_epoch", -1),
                "commit_metadata": value.metadata,
                "commit_timestamp": value.commit_timestamp,
                "expire_timestamp": getattr(value, "expire_timestamp", -1),
                "topic_id": getattr(value, "topic_id", bytes(16)),
                "unknown_tagged_fields": _tags(value),
            }
        out["OffsetCommit"].append(commit)
    return out
