"""Short notation for records of `__consumer_offsets` as a release writes them."""

import struct
from typing import Any

from falkirk.coordinator.records.log_entry import LogEntry, LoggedRecord, TransactionEnd
from falkirk.protocol import codec
from falkirk.protocol.messages import message_class
from falkirk.versions.message_layouts import layout_in
from falkirk.versions.release import Release


class Log:
    """A partition that grows: every call appends an entry at the next offset and returns it."""

    def __init__(self, release: str = "4.4") -> None:
        self.release = Release.parse(release)
        self.entries: list[LogEntry] = []

    def commit(self, group: str, partition: int = 0, *, producer: int = -1, topic: str = "t") -> LoggedRecord:
        return self._append(offset_key(group, partition, topic), offset_value(), producer)

    def forget(self, group: str, partition: int = 0, *, producer: int = -1) -> LoggedRecord:
        return self._append(offset_key(group, partition), None, producer)

    def end(self, producer: int, *, commit: bool) -> TransactionEnd:
        entry = TransactionEnd(len(self.entries), producer, commit)
        self.entries.append(entry)
        return entry

    def classic(self, group: str, *members: str, protocol_type: str = "consumer") -> LoggedRecord:
        joined = [
            {"member_id": member, "subscription": subscription("t"), "client_id": "c", "client_host": "h"}
            for member in members
        ]
        fields = {"protocol_type": protocol_type, "protocol": "range", "leader": "l", "members": joined}
        return self.value(2, {"group": group}, **fields)

    def value(self, type_: int, key: dict[str, Any] | str, **fields: Any) -> LoggedRecord:
        """Append a record of any type; for most types the group's name is the whole key."""
        support = self.release.kraft.group_records[type_]
        version = min(support.value_versions.highest, 3)
        layout = layout_in(self.release, support.value_name)
        value = struct_of(message_class(support.value_name), fields)
        data = struct.pack(">h", version) + codec.encode(value, version, layout=layout)
        return self._append(self.key(type_, key), data)

    def tombstone(self, type_: int, key: dict[str, Any] | str) -> LoggedRecord:
        return self._append(self.key(type_, key), None)

    def raw(self, key: bytes | None, value: bytes | None) -> LoggedRecord:
        return self._append(key, value)

    def key(self, type_: int, key: dict[str, Any] | str) -> bytes:
        cls = message_class(self.release.kraft.group_records[type_].key_name)
        fields = {"group_id": key} if isinstance(key, str) else key
        return struct.pack(">h", type_) + codec.encode(cls(**fields), cls.SCHEMA.info.versions.ranges[0][0])

    def _append(self, key: bytes | None, value: bytes | None, producer: int = -1) -> LoggedRecord:
        record = LoggedRecord(len(self.entries), key, value, producer, producer >= 0)
        self.entries.append(record)
        return record


def member(group: str, member_id: str = "m") -> dict[str, str]:
    """Return the key fields that name a member."""
    return {"group_id": group, "member_id": member_id}


def offset_key(group: str, partition: int = 0, topic: str = "t") -> bytes:
    texts = b"".join(struct.pack(">h", len(text)) + text.encode() for text in (group, topic))
    return b"\0\1" + texts + struct.pack(">i", partition)


def offset_value(version: int = 3) -> bytes:
    """Return an offset commit value of one of the fixed versions."""
    epoch = struct.pack(">i", 0) if version >= 3 else b""
    expiry = struct.pack(">q", -1) if version == 1 else b""
    return struct.pack(">hq", version, 5) + epoch + b"\0\0" + struct.pack(">q", 1) + expiry


def subscription(*topics: str) -> bytes:
    """Return a classic consumer's subscription, version 0."""
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


def struct_of(cls: Any, fields: dict[str, Any]) -> Any:
    """Make a message or struct from plain dicts and lists."""
    types = {field.attribute: field.type for field in cls.SCHEMA.fields}
    return cls(
        **{
            name: [struct_of(types[name], each) for each in value]
            if isinstance(value, list) and not isinstance(types[name], str)
            else value
            for name, value in fields.items()
        }
    )
