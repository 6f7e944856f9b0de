"""Control records as the dump tool prints them after a record's metadata, and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.dump.json_text import json_writer
from falkirk.protocol import codec
from falkirk.protocol.control_record import CONTROL_MESSAGES, ControlRecordType, control_record_type
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages.end_txn_marker import EndTxnMarker

if TYPE_CHECKING:
    from falkirk.dump.tool import DumpText
    from falkirk.protocol.record import Record

_MARKERS: Final = frozenset({ControlRecordType.ABORT, ControlRecordType.COMMIT})
_VOTERS: Final = frozenset({ControlRecordType.KRAFT_VERSION, ControlRecordType.KRAFT_VOTERS})
_TITLES: Final = {
    ControlRecordType.LEADER_CHANGE: "LeaderChange:",
    ControlRecordType.SNAPSHOT_HEADER: "SnapshotHeader",
    ControlRecordType.SNAPSHOT_FOOTER: "SnapshotFooter",
    ControlRecordType.KRAFT_VERSION: "KRaftVersion",
    ControlRecordType.KRAFT_VOTERS: "KRaftVoters",
}
_VERSION_BYTES: Final = 2
# Kafka reads these records at their first version, whatever version they name.
_READ_VERSION: Final = 0


def control_text(record: Record, text: DumpText) -> str:
    """Return the text after the metadata of a control record. Raises RemoteProtocolError if it does not parse."""
    number = control_record_type(record.key)
    known = _known_type(number, text)
    if known is None or (known is ControlRecordType.LEADER_CHANGE and not text.shows_leader_change):
        return f" controlType: {known.name if known else 'UNKNOWN'}({number})"
    if known in _MARKERS:
        return f" endTxnMarker: {known.name} coordinatorEpoch: {_marker(record).coordinator_epoch}"
    return f" {_TITLES[known]} {_json(known, record)}"


def control_document(record: Record) -> dict[str, object]:
    """Return a control record for JSON. Raises RemoteProtocolError if it does not parse."""
    number = control_record_type(record.key)
    if number not in frozenset(ControlRecordType):
        return {"type": number}
    known = ControlRecordType(number)
    if known in _MARKERS:
        return {"type": known.name, "coordinatorEpoch": _marker(record).coordinator_epoch}
    return {"type": known.name, "data": msgspec.Raw(_json(known, record).encode())}


def _known_type(number: int, text: DumpText) -> ControlRecordType | None:
    if number not in frozenset(ControlRecordType):
        return None
    known = ControlRecordType(number)
    return None if known in _VOTERS and not text.knows_voters else known


def _marker(record: Record) -> EndTxnMarker:
    value = _value(record, _VERSION_BYTES)
    version = int.from_bytes(value[:_VERSION_BYTES], "big", signed=True)
    if version < 0:
        raise RemoteProtocolError(f"end transaction marker has version {version}", offset=0)
    return codec.decode_prefix(EndTxnMarker, _READ_VERSION, value, _VERSION_BYTES)[0]


def _json(known: ControlRecordType, record: Record) -> str:
    """Write the record in the version that it names, as Kafka does although it reads the first version."""
    cls = CONTROL_MESSAGES[known]
    message, _ = codec.decode_prefix(cls, _READ_VERSION, _value(record, _VERSION_BYTES))
    named = int.from_bytes(_value(record, _VERSION_BYTES)[:_VERSION_BYTES], "big", signed=True)
    version = max(0, min(named, cls.SCHEMA.info.versions.ranges[-1][1]))
    return json_writer(cls, version)(message)


def _value(record: Record, least: int) -> bytes:
    if record.value is None or len(record.value) < least:
        size = "no" if record.value is None else str(len(record.value))
        raise RemoteProtocolError(f"control record has a value of {size} bytes", offset=0)
    return record.value
