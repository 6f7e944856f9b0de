"""Metadata records as they stand in the log: frame version, record type, record version, body.

All three numbers are unsigned varints, the frame version is 1, and nothing follows the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol import codec
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import METADATA_RECORDS, message_class
from falkirk.protocol.varint import decode_unsigned_varint, encode_unsigned_varint

if TYPE_CHECKING:
    from falkirk.protocol.schema import WireMessage

FRAME_VERSION = 1


class UnknownMetadataRecordError(RemoteProtocolError):
    """A record type, or a version of a known type, that no release up to 4.4 has."""

    def __init__(self, record_type: int, version: int, *, offset: int) -> None:
        self.record_type = record_type
        self.version = version
        name = METADATA_RECORDS.get(record_type)
        what = f"{name} has no version {version}" if name else f"unknown metadata record type {record_type}"
        super().__init__(what, offset=offset)


def decode_metadata_record(value: bytes) -> tuple[WireMessage, int]:
    """Read a record's value; give (record, record version).

    Raises RemoteProtocolError on bytes that do not parse, UnknownMetadataRecordError on a type or version that no
    release has.
    """
    record_type, version, position = decode_frame(value)
    name = METADATA_RECORDS.get(record_type)
    if name is None:
        raise UnknownMetadataRecordError(record_type, version, offset=position)
    cls = message_class(name)
    if version not in cls.SCHEMA.info.versions:
        raise UnknownMetadataRecordError(record_type, version, offset=position)
    record, end = codec.decode_prefix(cls, version, value, position)
    if end != len(value):
        raise RemoteProtocolError(f"{len(value) - end} bytes left over behind {name}", offset=end)
    return record, version


def decode_frame(value: bytes) -> tuple[int, int, int]:
    """Read a record's frame; give (record type, record version, position of the body). Raises RemoteProtocolError."""
    frame_version, position = decode_unsigned_varint(value, 0)
    if frame_version != FRAME_VERSION:
        raise RemoteProtocolError(f"frame version {frame_version}, not {FRAME_VERSION}", offset=0)
    record_type, position = decode_unsigned_varint(value, position)
    version, position = decode_unsigned_varint(value, position)
    return record_type, version, position


def encode_metadata_record(record: WireMessage, version: int) -> bytes:
    """Write a record with its frame. Raises as `codec.encode` does."""
    key = type(record).SCHEMA.info.key
    assert key is not None
    return encode_frame(key, version) + codec.encode(record, version)


def encode_frame(record_type: int, version: int) -> bytes:
    """Write the frame before a record's body."""
    return bytes([FRAME_VERSION]) + encode_unsigned_varint(record_type) + encode_unsigned_varint(version)
