"""Which records the coordinators of a release can read: what their deserialisers decide, one record at a time.

    group_record_verdict(Release.parse("4.0"), key, value)         # READ, SKIPPED, or FAILS with a reason
    transaction_record_verdict(Release.parse("3.9"), key, value)
    share_state_record_verdict(Release.parse("4.0"), key, value)

A record of `__consumer_offsets` that can be read may still fail when it is replayed: see `loading`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.coordinator.loader_rules import (
    CoordinatorKind,
    LoaderRules,
    loader_rules,
    reader_rules,
)
from falkirk.coordinator.prediction.kafka_reader import Fields, KafkaReader, ReadError, message_fields
from falkirk.coordinator.prediction.offset_commit import is_plain_offset_value, offset_key
from falkirk.coordinator.prediction.verdict import READ, SKIPPED, Verdict, fails
from falkirk.coordinator.record_type import record_type_name
from falkirk.protocol import codec
from falkirk.protocol.codec.layout import StructLayout, message_layout
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import message_class
from falkirk.versions.message_layouts import layout_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.record_support import CoordinatorRecordSupport
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True)
class DecodedRecord:
    """A record as a release's coordinator sees it. `value` is None for a tombstone."""

    type: int
    key: Fields
    value: Fields | None


class UnknownTypeError(Exception):
    """A type that this coordinator does not know, and skips."""


class RecordReader:
    """The deserialiser of one topic's records in one release; `group_record_reader` makes that of group records."""

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
        self._limits = reader_rules(release).limits
        self._keys: dict[int, StructLayout] = {}
        self._values: dict[tuple[int, int], StructLayout] = {}
        # By record type: the value's class, and the number of its layout.
        self._value_classes: dict[int, tuple[type[WireMessage], int | None]] = {}

    def decode(self, key: bytes | None, value: bytes | None) -> DecodedRecord:
        """Read a record. Raises UnknownTypeError, and ReadError where Kafka's deserialiser would throw."""
        type_, key_fields = self.decode_key(key)
        return DecodedRecord(type_, key_fields, None if value is None else self.decode_value(type_, value))

    def decode_key(self, key: bytes | None) -> tuple[int, Fields]:
        """Read a key: its type and fields. Raises as `decode` does."""
        if key is None:
            raise ReadError("the record has no key", 0)
        reader = KafkaReader(key)
        type_ = reader.int16()
        if type_ not in self._records:
            raise UnknownTypeError
        return type_, reader.message(self._key_layout(type_))

    def decode_value(self, type_: int, value: bytes) -> Fields:
        """Read the value of a record whose key has a type that is known. Raises as `decode` does."""
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
        """Read a value with our own codec, which is many times faster; None if that is none that it can tell of.

        It takes but proper messages, of which Kafka's reader thinks the same.
        """
        layout = self._value_layout(type_, version)
        # What is tagged is told only where it is there, which nobody knows afterwards; and an element takes a byte.
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
    """Give the deserialiser of `__consumer_offsets` in a release's coordinator.

    `reads_newer_versions`: a value version above the highest known is read with the highest known one (KIP-915).
    """
    known = {type_: support for type_, support in release.kraft.group_records.items() if type_ in rules.known_types}
    assert known.keys() == rules.known_types, f"{release} has no schema of {rules.known_types - known.keys()}"
    return RecordReader(
        release,
        known,
        checks_value_versions=rules.checks_value_versions,
        reads_newer_versions=reads_newer_versions,
    )


def group_record_verdict(
    release: Release, key: bytes | None, value: bytes | None, kind: CoordinatorKind | None = None
) -> Verdict:
    """Say what the deserialiser of `__consumer_offsets` does with a record; `kind` as for `loader_rules`.

    Raises IncompleteReleaseError for a release whose coordinator is not in the tables.
    """
    rules = _rules(release, kind)
    if key is not None and key[:2] == _OFFSET_COMMIT and (value is None or is_plain_offset_value(value)):
        # The bulk of the topic; all releases read it alike.
        return READ if offset_key(key) is not None else _verdict(group_record_reader(release, rules), key, value)
    return _verdict(group_record_reader(release, rules), key, value)


def transaction_record_verdict(release: Release, key: bytes | None, value: bytes | None) -> Verdict:
    """Say what the transaction coordinator does with a record of `__transaction_state`.

    Where it fails, 3.7 to 4.4 keep what stood before the record in the partition and lose what stands behind it.
    """
    reader = _transaction_reader(release)
    try:
        record = reader.decode(key, None)
        if value is None:
            return READ
        versions = release.kraft.transaction_records[record.type].value_versions
        version = KafkaReader(value).int16()
        if version not in versions and reader_rules(release).skips_unknown_transaction_versions:
            return SKIPPED
        return _transaction_value_verdict(release, reader.decode_value(record.type, value))
    except UnknownTypeError:
        return SKIPPED
    except ReadError as error:
        return fails(str(error))


def share_state_record_verdict(release: Release, key: bytes | None, value: bytes | None) -> Verdict:
    """Say what the share coordinator does with a record of `__share_group_state`.

    A release without share groups never looks at the topic, so SKIPPED. 4.0 has them as an early access, which is off
    by default; then the same holds.
    """
    reader = _share_state_reader(release)
    if reader is None:
        return SKIPPED
    verdict = _verdict(reader, key, value)
    if verdict is READ and value is None and reader.decode_key(key)[0] not in reader_rules(release).share_tombstones:
        return fails("the share coordinator has no use for a tombstone of this type, and throws")
    return verdict


# Values with structs of their own. Those that are declared apart from the fields (types 2 and 8) check nothing.
_CHECKED_IN_STRUCTS = frozenset({4, 5, 7})
_OFFSET_COMMIT = b"\x00\x01"

# Ongoing, ... Dead, PrepareEpochFence.
_TRANSACTION_STATES = range(8)
_EMPTY_TRANSACTION = 0


@functools.cache
def _rules(release: Release, kind: CoordinatorKind | None) -> LoaderRules:
    return loader_rules(release, kind)


@functools.cache
def _transaction_reader(release: Release) -> RecordReader:
    return RecordReader(release, release.kraft.transaction_records)


@functools.cache
def _share_state_reader(release: Release) -> RecordReader | None:
    records = release.kraft.share_records
    return RecordReader(release, records) if records else None


def _verdict(reader: RecordReader, key: bytes | None, value: bytes | None) -> Verdict:
    try:
        reader.decode(key, value)
    except UnknownTypeError:
        return SKIPPED
    except ReadError as error:
        return fails(str(error))
    return READ


def _transaction_value_verdict(release: Release, value: Fields) -> Verdict:
    status = value["transaction_status"]
    if status not in _TRANSACTION_STATES:
        return fails(f"transaction state {status} is unknown")
    if status != _EMPTY_TRANSACTION and value["transaction_partitions"] is None:
        return fails("a transaction that is not empty has no list of partitions")
    version = value.get("client_transaction_version", 0)
    feature = release.features.get("transaction.version")
    if feature is not None and version not in {level.level for level in feature.levels}:
        return fails(f"the client's transaction.version {version} is unknown")
    return READ
