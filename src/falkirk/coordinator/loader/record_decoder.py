"""Records as the messages that the shard's parts take, out of what a release's lax reader made of their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from falkirk.coordinator.shard.outcome import CoordinatorRecord
from falkirk.protocol import codec
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import GroupMetadataValue, message_class
from falkirk.versions.message_layouts import layout_in

if TYPE_CHECKING:
    from falkirk.coordinator.log_entry import LoggedRecord
    from falkirk.coordinator.prediction.kafka_reader import Fields
    from falkirk.coordinator.prediction.readability import DecodedRecord
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.record_support import CoordinatorRecordSupport
    from falkirk.versions.release import Release


class RecordDecoder:
    """Makes messages of records that the release was found to read."""

    def __init__(self, release: Release) -> None:
        self._release = release
        # By record type: the class of the key, with its version, and that of the value, with its layout.
        self._keys: dict[int, tuple[type[WireMessage], int]] = {}
        self._values: dict[int, tuple[type[WireMessage], int | None]] = {}

    def decode(self, record: DecodedRecord, entry: LoggedRecord) -> CoordinatorRecord:
        """Give key and value; `version` is the highest that the release knows where the value's own is above it.

        Tagged fields that are unknown are kept, where the bytes are those of a proper message. Of others, which Kafka
        reads all the same, what it read is all there is.
        """
        support = self._release.kraft.group_records[record.type]
        if record.type not in self._keys:
            self._look_up(record.type, support)
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

    def _look_up(self, type_: int, support: CoordinatorRecordSupport) -> None:
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


# The type before a key, or the version before a value.
_TYPE_BYTES = 2
