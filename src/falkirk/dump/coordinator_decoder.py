"""Records of the coordinators' topics as JSON, as the tools print them from 3.8 (groups) and 4.1 (transactions) on."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from falkirk.dump.json_text import json_writer
from falkirk.dump.message_reader import read_message
from falkirk.dump.record_decoder import DecodedRecord, RecordText, UndecodableRecordError
from falkirk.dump.wire_text import UNUSUAL, wire_text
from falkirk.protocol.lax_reader import ReadError
from falkirk.protocol.messages import message_class
from falkirk.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from falkirk.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from falkirk.protocol.messages.group_metadata_value import GroupMetadataValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.dump.tool import DecoderKind, DumpTool
    from falkirk.protocol.record import Record
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.record_support import CoordinatorRecordSupport

TOMBSTONE: Final = "<DELETE>"
_INT16_BYTES: Final = 2
_CONSUMER_PROTOCOL: Final = "consumer"


class CoordinatorDecoder:
    """Decodes the records of one coordinator as one release knows them."""

    def __init__(self, tool: DumpTool, kind: DecoderKind) -> None:
        self._tool = tool
        self._records = tool.coordinator_records(kind)
        self._checks_versions = tool.text.checks_value_versions
        self._version_name = "type" if tool.text.share_version_is_type and kind is kind.SHARE_STATE else "version"
        self._key_parts: dict[int, _Part] = {}
        self._value_parts: dict[tuple[int, int], _Part] = {}

    def text(self, record: Record) -> RecordText:
        """Return key and payload. Raises UndecodableRecordError if there is no key."""
        if record.key is None:
            raise UndecodableRecordError("record of a coordinator's topic has no key")
        try:
            type_, key, version, value = self._read(record.key, record.value)
        except UnknownTypeError as error:
            return RecordText(f"Unknown record type {error.record_type} at offset {record.offset}, skipping.", None)
        except ReadError as read_error:
            return RecordText(f"Error at offset {record.offset}, skipping. {read_error}", None)
        payload = TOMBSTONE if value is None else f'{{"{self._version_name}":"{version}","data":{value}}}'
        return RecordText(f'{{"type":"{type_}","data":{key}}}', payload)

    def document(self, record: Record) -> DecodedRecord:
        """Return type, name, key, version and data; a tombstone's version and data are null."""
        if record.key is None:
            return DecodedRecord(None, "record of a coordinator's topic has no key")
        try:
            type_, key, version, value = self._read(record.key, record.value)
        except UnknownTypeError as error:
            return DecodedRecord(None, f"unknown record type {error.record_type}")
        except ReadError as read_error:
            return DecodedRecord(None, str(read_error))
        name = self._records[type_].key_name.removesuffix("Key")
        version_text = "null" if version is None else str(version)
        text = f'{{"type":{type_},"name":"{name}","key":{key},"version":{version_text},"data":{value or "null"}}}'
        return DecodedRecord(msgspec.Raw(text.encode()))

    def _read(self, key: bytes, value: bytes | None) -> tuple[int, str, int | None, str | None]:
        """Return type, key, value version and value. Raises ReadError and UnknownTypeError."""
        type_ = _int16(key, "key")
        key_text = (self._key_parts.get(type_) or self._key_part(type_)).text(key)
        if value is None:
            return type_, key_text, None, None
        version = _int16(value, "value")
        part = self._value_parts.get((type_, version)) or self._value_part(type_, version)
        return type_, key_text, version, part.text(value)

    def _record(self, type_: int) -> CoordinatorRecordSupport:
        record = self._records.get(type_)
        if record is None:
            raise UnknownTypeError(type_)
        return record

    def _key_part(self, type_: int) -> _Part:
        cls = message_class(self._record(type_).key_name)
        # Until 4.0 the type was the version of a key; a key has one version.
        version = cls.SCHEMA.info.versions.ranges[0][0]
        part = _Part(what="key", cls=cls, version=version, read_version=version, version_max=version, layout=None)
        self._key_parts[type_] = part
        return part

    def _value_part(self, type_: int, version: int) -> _Part:
        record = self._record(type_)
        if version not in record.value_versions and self._checks_versions:
            raise ReadError(f"{record.value_name} has no version {version}", 0)
        cls = message_class(record.value_name)
        part = _Part(
            what="value",
            cls=cls,
            version=max(0, min(version, record.value_versions.highest)),
            read_version=version,
            version_max=record.value_versions.highest,
            layout=self._tool.layout(record.value_name),
        )
        self._value_parts[type_, version] = part
        return part


class UnknownTypeError(Exception):
    """A type of record that the release does not know."""

    def __init__(self, record_type: int) -> None:
        super().__init__(record_type)
        self.record_type = record_type


class _Part:
    """How to write a key or a value of one type."""

    def __init__(
        self,
        *,
        what: str,
        cls: type[WireMessage],
        version: int,
        read_version: int,
        version_max: int,
        layout: int | None,
    ) -> None:
        self._what = what
        self._cls = cls
        self._version = version
        self._read_version = read_version
        self._version_max = version_max
        self._layout = layout
        is_fast = read_version == version and cls is not GroupMetadataValue
        self._fast_text = wire_text(cls, version, layout) if is_fast else None

    def text(self, data: bytes) -> str:
        """Write the message after the number; extra bytes are ignored, as by Kafka. Raises ReadError."""
        if self._fast_text is not None:
            try:
                return self._fast_text(data, _INT16_BYTES)[0]
            except UNUSUAL:
                # The slow way below decides.
                pass
        message = self._message(data)
        if isinstance(message, GroupMetadataValue) and message.protocol_type == _CONSUMER_PROTOCOL:
            return _consumer_group_writer(self._version, self._layout)(message)
        return json_writer(self._cls, self._version, layout=self._layout)(message)

    def _message(self, data: bytes) -> WireMessage:
        try:
            return read_message(
                self._cls,
                data,
                _INT16_BYTES,
                version=self._read_version,
                version_max=self._version_max,
                layout=self._layout,
            )[0]
        except ReadError as error:
            raise ReadError(f"{self._what}: {error.reason}", error.offset) from error


def _int16(data: bytes, what: str) -> int:
    if len(data) < _INT16_BYTES:
        raise ReadError(f"{what} is too short for its number", 0)
    return int.from_bytes(data[:_INT16_BYTES], "big", signed=True)


@cache
def _consumer_group_writer(version: int, layout: int | None) -> Callable[[Any], str]:  # Any: GroupMetadataValue
    return json_writer(
        GroupMetadataValue,
        version,
        layout=layout,
        bytes_writers={
            "subscription": lambda data: _consumer_protocol(ConsumerProtocolSubscription, data),
            "assignment": lambda data: _consumer_protocol(ConsumerProtocolAssignment, data),
        },
    )


def _consumer_protocol(cls: type[WireMessage], data: bytes | None) -> str:
    """Write a consumer's subscription or assignment; in base64 if it is not in the format of Kafka's own assignors."""
    if data is None:
        return "null"
    version, highest = int.from_bytes(data[:_INT16_BYTES], "big", signed=True), cls.SCHEMA.info.versions.ranges[-1][1]
    try:
        message, _ = read_message(cls, data, _INT16_BYTES, version=version, version_max=highest)
    except ReadError:
        return f'"{b64encode(data).decode()}"'
    return json_writer(cls, max(0, min(version, highest)))(message)
