"""Decodes records that a release can read into the messages that the shard replays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from falkirk.coordinator.runtime.outcome import CoordinatorRecord
from falkirk.protocol import codec
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import GroupMetadataValue, message_class
from falkirk.versions.message_layouts import layout_in

if TYPE_CHECKING:
    from falkirk.coordinator.prediction.readability import DecodedRecord
    from falkirk.coordinator.records.log_entry import LoggedRecord
    from falkirk.protocol.lax_reader import Fields
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.record_support import CoordinatorRecordSupport
    from falkirk.versions.release import Release


# The type before a key, or the version before a value.
_TYPE_BYTES = 2


class RecordDecoder:
    """Converts records that the lax reader has accepted."""

    def __init__(self, release: Release) -> None:
        self._release = release
        # By record type: the class of the key, with its version, and that of the value, with its layout.
        self._keys: dict[int, tuple[type[WireMessage], int]] = {}
        self._values: dict[int, tuple[type[WireMessage], int | None]] = {}

    def decode(self, record: DecodedRecord, entry: LoggedRecord) -> CoordinatorRecord:
        """Return key and value; `version` is the highest one that the release knows if the value's own is above it.

        Unknown tagged fields are kept if the bytes are a proper message. Otherwise only what Kafka's reader reads is
        kept.
        """
        support = self._release.kraft.group_records[record.type]
        if record.type not in self._keys:
            self._add_type(record.type, support)
        key_class, key_version = self._keys[record.type]
        key = self._message(key_class, key_version, entry.key, record.key, None)
        if record.value is None or entry.value is None:
            return CoordinatorRecord(key)
        known = support.value_versions
        version = min(max(int.from_bytes(entry.value[:2], signed=True), known.lowest), known.highest)
        value_class, layout = self._values[record.type]
        value = self._message(value_class, version, entry.value, record.value, layout)
        if isinstance(value, GroupMetadataValue):
            # Of a member that stands there twice the last counts.
            value.members = list({member.member_id: member for member in value.members}.values())
        return CoordinatorRecord(key, value, version)

    def _add_type(self, type_: int, support: CoordinatorRecordSupport) -> None:
        key_class, value_class = message_class(support.key_name), message_class(support.value_name)
        self._keys[type_] = key_class, key_class.SCHEMA.info.versions.ranges[0][0]
        self._values[type_] = value_class, layout_in(self._release, support.value_name)

    def _message(
        self, cls: type[WireMessage], version: int, data: bytes | None, fields: Fields, layout: int | None
    ) -> WireMessage:
        try:
            return codec.decode_prefix(cls, version, data or b"", _TYPE_BYTES, layout=layout)[0]
        except RemoteProtocolError:
            return msgspec.convert(fields, cls, builtin_types=(bytes,))
