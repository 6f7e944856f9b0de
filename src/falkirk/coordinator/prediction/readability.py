"""Which records a release's coordinators can read: the decision of their deserializers, one record at a time.

A record of `__consumer_offsets` that can be read may still fail when it is replayed: see `loading`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.coordinator.records.loader_rules import read_limits
from falkirk.coordinator.records.record_type import record_type_name
from falkirk.protocol import codec
from falkirk.protocol.codec.layout import StructLayout, message_layout
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.lax_reader import Fields, KafkaReader, ReadError, message_fields
from falkirk.protocol.messages import message_class
from falkirk.versions.message_layouts import layout_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.coordinator.records.loader_rules import LoaderRules
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.record_support import CoordinatorRecordSupport
    from falkirk.versions.release import Release


# Values with structs of their own. Those that are declared apart from the fields (types 2 and 8) check nothing.
_CHECKED_IN_STRUCTS = frozenset({4, 5, 7})


@dataclass(frozen=True, slots=True)
class DecodedRecord:
    """A record as a release's coordinator sees it. `value` is None for a tombstone."""

    type: int
    key: Fields
    value: Fields | None


class UnknownTypeError(Exception):
    """A type that this coordinator does not know, and skips."""


class RecordReader:
    """The deserializer of one topic's records in one release; `group_record_reader` returns that of group records."""

    def __init__(
        self,
        release: Release,
        records: Mapping[int, CoordinatorRecordSupport],
        *,
        checks_value_versions: bool = True,
        reads_newer_versions: bool = False,
    ) -> None:
        self._release = release
        self._reads_newer_versions = reads_newer_versions
        self._records = records
        self._checks_value_versions = checks_value_versions
        self._limits = read_limits(release)
        self._keys: dict[int, StructLayout] = {}
        self._values: dict[tuple[int, int], StructLayout] = {}
        # By record type: the value's class, and the number of its layout.
        self._value_classes: dict[int, tuple[type[WireMessage], int | None]] = {}

    def decode(self, key: bytes | None, value: bytes | None) -> DecodedRecord:
        """Decode a record. Raises UnknownTypeError, and ReadError where Kafka's deserializer would throw."""
        type_, key_fields = self.decode_key(key)
        return DecodedRecord(type_, key_fields, None if value is None else self.decode_value(type_, value))

    def decode_key(self, key: bytes | None) -> tuple[int, Fields]:
        """Return a key's type and fields. Raises as `decode` does."""
        if key is None:
            raise ReadError("the record has no key", 0)
        reader = KafkaReader(key)
        type_ = reader.int16()
        if type_ not in self._records:
            raise UnknownTypeError
        return type_, reader.message(self._key_layout(type_))

    def decode_value(self, type_: int, value: bytes) -> Fields:
        """Decode the value of a record whose key has a known type. Raises as `decode` does."""
        version = KafkaReader(value).int16()
        known = self._records[type_].value_versions
        nearest = min(max(version, known.lowest), known.highest)
        error = None
        if version != nearest and not (self._reads_newer_versions and version > nearest):
            error = f"{record_type_name(type_)} has no value version {version}, only {known}"
            if self._checks_value_versions:
                raise ReadError(error, 0)
        # Of what is newer some readers of structs inside the message take notice, and throw.
        nested_error = error if version > nearest and type_ in _CHECKED_IN_STRUCTS else None
        if nested_error is None:
            fields = self._proper_fields(type_, nearest, value)
            if fields is not None:
                return fields
        reader = KafkaReader(value, 2, limits=self._limits, nested_version_error=nested_error)
        try:
            return reader.message(self._value_layout(type_, nearest))
        except ReadError as read_error:
            reason = f"not a {self._records[type_].value_name} of Kafka {self._release}: {read_error.reason}"
            raise ReadError(reason, read_error.offset, underflow=read_error.underflow) from read_error

    def _proper_fields(self, type_: int, version: int, value: bytes) -> Fields | None:
        """Decode a value with our codec, which is many times faster; None if it cannot decide.

        It accepts proper messages only, which Kafka's reader reads alike.
        """
        layout = self._value_layout(type_, version)
        # A decoded message does not show which tagged fields were present; and an element takes at least a byte.
        if layout.flexible or (self._limits is not None and len(value) > self._limits.elements_max):
            return None
        cls, number = self._value_classes[type_]
        try:
            message, _ = codec.decode_prefix(cls, version, value, 2, layout=number)
        except RemoteProtocolError:
            return None
        return message_fields(message, layout)

    def _key_layout(self, type_: int) -> StructLayout:
        layout = self._keys.get(type_)
        if layout is None:
            cls = message_class(self._records[type_].key_name)
            # Keys have one layout in all releases, whatever number their version had.
            layout = self._keys[type_] = message_layout(cls, cls.SCHEMA.info.versions.ranges[0][0])
        return layout

    def _value_layout(self, type_: int, version: int) -> StructLayout:
        layout = self._values.get((type_, version))
        if layout is None:
            name = self._records[type_].value_name
            cls, number = self._value_classes[type_] = message_class(name), layout_in(self._release, name)
            layout = self._values[type_, version] = message_layout(cls, version, number)
        return layout


@functools.cache
def group_record_reader(release: Release, rules: LoaderRules, *, reads_newer_versions: bool = False) -> RecordReader:
    """Return the deserializer of `__consumer_offsets` in a release's coordinator.

    `reads_newer_versions`: a value version above the highest known is read as the highest known one (KIP-915).
    """
    known = {type_: support for type_, support in release.kraft.group_records.items() if type_ in rules.known_types}
    assert known.keys() == rules.known_types, f"{release} has no schema of {rules.known_types - known.keys()}"
    return RecordReader(
        release,
        known,
        checks_value_versions=rules.checks_value_versions,
        reads_newer_versions=reads_newer_versions,
    )
