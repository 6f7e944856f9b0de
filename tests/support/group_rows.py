"""Entries of a coordinator as rows of the table `group_records`, decoded one by one by the row codec."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from falkirk.coordinator.records.log_entry import LogEntry, LoggedRecord
from falkirk.pipeline.tables.groups import GROUP_RECORDS
from falkirk.protocol.coordinator_record import decode_key, decode_value
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import GROUP_COORDINATOR_KEYS, GROUP_COORDINATOR_VALUES
from falkirk.protocol.uuid import uuid_text

NOW_MS = 1_800_000_000_000


def group_rows(entries: Iterable[LogEntry], *, partition: int = 0, source: str = "d/__consumer_offsets-0/0.log"):
    """Return one batch of rows; each timestamp is NOW_MS plus the offset, in milliseconds."""
    head = {"node_id": 1, "partition": partition, "source": source, "position": 0, "epoch": 0, "producer_epoch": 0}
    rows = [head | {"timestamp": NOW_MS + entry.offset} | _row(entry) for entry in entries]
    return GROUP_RECORDS.rows(rows)


def rows_of_chunks(entries: list[LogEntry], size: int, **options: Any) -> list[pa.RecordBatch]:
    return [group_rows(entries[at : at + size], **options) for at in range(0, len(entries), size)]


def _row(entry: LogEntry) -> dict[str, Any]:
    row = {"offset": entry.offset, "producer_id": entry.producer_id, "is_transactional": True}
    if not isinstance(entry, LoggedRecord):
        return row | {"control_type": int(entry.is_commit)}
    row |= {"is_transactional": entry.is_transactional, "key": entry.key, "value": entry.value, "unknown_tags": 0}
    if entry.value is not None and len(entry.value) >= 2:
        row["value_version"] = int.from_bytes(entry.value[:2], "big", signed=True)
    if entry.key is None or len(entry.key) < 2:
        return row
    type_ = int.from_bytes(entry.key[:2], "big", signed=True)
    row |= {"record_type": type_, "record_name": GROUP_COORDINATOR_KEYS.get(type_, "").removesuffix("Key") or None}
    try:
        key = decode_key(GROUP_COORDINATOR_KEYS, entry.key)
        row["group"] = getattr(key, "group", "") or getattr(key, "group_id", "")
        value = None if entry.value is None else decode_value(GROUP_COORDINATOR_VALUES, type_, entry.value)[0]
    except RemoteProtocolError:
        return row
    row["unknown_tags"] = len(getattr(value, "unknown_tagged_fields", ()))
    if type_ in (0, 1):
        row["offset_commit"] = _commit(key, value)
    return row


def _commit(key: Any, value: Any) -> dict[str, Any]:
    found = {"topic": key.topic, "partition": key.partition}
    if value is None:
        return found
    expires = getattr(value, "expire_timestamp", -1)
    topic_id = getattr(value, "topic_id", bytes(16))
    return found | {
        "committed_offset": value.offset,
        "leader_epoch": getattr(value, "leader_epoch", -1),
        "metadata": value.metadata,
        "commit_timestamp": value.commit_timestamp,
        "expire_timestamp": None if expires < 0 else expires,
        "topic_id": None if topic_id == bytes(16) else uuid_text(topic_id),
    }
