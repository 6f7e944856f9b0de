"""Reads the values of metadata records, with one error for all that can be wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.records.errors import UnreadableRecordError
from falkirk.protocol import codec
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import METADATA_RECORDS
from falkirk.protocol.metadata_record import decode_frame, decode_metadata_record, encode_frame

if TYPE_CHECKING:
    from falkirk.protocol.schema import WireMessage

_FRAME_BYTES: Final = 3
"""All types and versions up to 4.4 are varints of one byte, as is the frame's own version."""
# What a frame says is looked up once for each type and version, as long as the process lives.
_KNOWN_FRAMES: Final[dict[bytes, tuple[type[WireMessage], int]]] = {}


def read_record(value: bytes) -> WireMessage:
    """Decode one record. Raises UnreadableRecordError, also for types and versions that no release up to 4.4 has."""
    try:
        known = _KNOWN_FRAMES.get(value[:_FRAME_BYTES])
        if known is not None:
            record, end = codec.decode_prefix(*known, value, _FRAME_BYTES)
            if end == len(value):
                return record
        record, version = decode_metadata_record(value)
    except RemoteProtocolError as error:
        raise UnreadableRecordError(_name_of(value), str(error)) from error
    frame = encode_frame(value[1], version)
    if len(frame) == _FRAME_BYTES:
        _KNOWN_FRAMES[frame] = type(record), version
    return record


def record_type(value: bytes) -> str | None:
    """Return a record's type from its frame alone; None for a type that no release up to 4.4 has.

    Raises UnreadableRecordError.
    """
    # All known types and versions are varints of one byte.
    if len(value) > 2 and value[0] == 1 and value[1] < 0x80:
        return METADATA_RECORDS.get(value[1])
    try:
        return METADATA_RECORDS.get(decode_frame(value)[0])
    except RemoteProtocolError as error:
        raise UnreadableRecordError("metadata record", str(error)) from error


def _name_of(value: bytes) -> str:
    try:
        number = decode_frame(value)[0]
    except RemoteProtocolError:
        return "metadata record"
    return METADATA_RECORDS.get(number, f"metadata record of type {number}")
