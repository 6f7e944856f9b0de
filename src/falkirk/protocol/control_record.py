"""Control records: the key says which kind (version int16, type int16), the value is a message of its own.

ABORT and COMMIT end a transaction; the others are KRaft's (KIP-595, KIP-630, KIP-853). Each value begins with its
version: for a transaction's marker that int16 stands before the message, KRaft's messages have it as first field.
"""

import enum
import struct
from dataclasses import dataclass

from falkirk.protocol import codec
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages.end_txn_marker import EndTxnMarker
from falkirk.protocol.messages.kraft_version_record import KRaftVersionRecord
from falkirk.protocol.messages.leader_change_message import LeaderChangeMessage
from falkirk.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from falkirk.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from falkirk.protocol.messages.voters_record import VotersRecord
from falkirk.protocol.schema import WireMessage

_KEY = struct.Struct(">hh")
_KEY_VERSION = 0
_VERSION = struct.Struct(">h")


class ControlRecordType(enum.IntEnum):
    """Types that releases 3.7 to 4.4 write. Consumers skip types that they do not know, KRaft does not."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


CONTROL_MESSAGES: dict[ControlRecordType, type[WireMessage]] = {
    ControlRecordType.ABORT: EndTxnMarker,
    ControlRecordType.COMMIT: EndTxnMarker,
    ControlRecordType.LEADER_CHANGE: LeaderChangeMessage,
    ControlRecordType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlRecordType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlRecordType.KRAFT_VERSION: KRaftVersionRecord,
    ControlRecordType.KRAFT_VOTERS: VotersRecord,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlRecord:
    """A control record read. `record_type` is a plain number, and `message` None, for a type not known here."""

    record_type: int
    version: int
    message: WireMessage | None


def control_record_type(key: bytes | None) -> int:
    """Return the type in a control record's key, a ControlRecordType if it is known.

    Raises RemoteProtocolError if the key is missing, short, or of a negative version.
    """
    if key is None or len(key) < _KEY.size:
        size = "no" if key is None else str(len(key))
        raise RemoteProtocolError(f"control record has a key of {size} bytes, 4 were expected", offset=0)
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise RemoteProtocolError(f"control record has key version {version}", offset=0)
    return int(number)


def decode_control_record(key: bytes | None, value: bytes | None) -> ControlRecord:
    """Read a control record. Raises RemoteProtocolError if key or value do not parse or the version is unknown."""
    number = control_record_type(key)
    if value is None or len(value) < _VERSION.size:
        size = "no" if value is None else str(len(value))
        raise RemoteProtocolError(f"control record of type {number} has a value of {size} bytes", offset=0)
    version = int(_VERSION.unpack_from(value)[0])
    if number not in _TYPES:
        return ControlRecord(record_type=number, version=version, message=None)
    record_type = ControlRecordType(number)
    cls = CONTROL_MESSAGES[record_type]
    if cls is EndTxnMarker:
        return ControlRecord(record_type=record_type, version=version, message=_decode_marker(version, value))
    if version not in cls.SCHEMA.info.versions:
        raise RemoteProtocolError(f"{record_type.name} record has unknown version {version}", offset=0)
    return ControlRecord(record_type=record_type, version=version, message=codec.decode(cls, version, value))


def encode_control_record(
    record_type: ControlRecordType, message: WireMessage, *, version: int = 0
) -> tuple[bytes, bytes]:
    """Return key and value. The version field of KRaft's messages must be the version that they are written in."""
    assert type(message) is CONTROL_MESSAGES[record_type]
    value = codec.encode(message, version)
    if isinstance(message, EndTxnMarker):
        value = _VERSION.pack(version) + value
    assert _VERSION.unpack_from(value)[0] == version
    return _KEY.pack(_KEY_VERSION, record_type), value


_TYPES = frozenset(ControlRecordType)


def _decode_marker(version: int, value: bytes) -> EndTxnMarker:
    if version < 0:
        raise RemoteProtocolError(f"end transaction marker has version {version}", offset=0)
    # Kafka reads markers of every later version as version 0, and what follows is not looked at.
    return codec.decode_prefix(EndTxnMarker, 0, value, _VERSION.size)[0]
