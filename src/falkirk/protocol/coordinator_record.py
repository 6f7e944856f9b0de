"""Keys and values of the coordinator topics: an int16, then the body.

Before a key stands the record type, before a value the value's version. Until 4.0 Kafka called the type the version of
the key; the bytes are the same.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from falkirk.protocol import codec
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import message_class

if TYPE_CHECKING:
    from falkirk.protocol.schema import WireMessage

_INT16 = struct.Struct(">h")


class UnknownCoordinatorRecordError(RemoteProtocolError):
    """A key type, or a value version, that no release up to 4.4 has. `version` is None where the type is unknown."""

    def __init__(self, record_type: int, version: int | None = None) -> None:
        self.record_type = record_type
        self.version = version
        known = "" if version is None else f" has no value version {version}"
        super().__init__(f"coordinator record type {record_type}{known or ' is unknown'}", offset=0)


def record_type(key: bytes) -> int:
    """Return the type at the start of a key. Raises RemoteProtocolError for a key of less than two bytes."""
    if len(key) < _INT16.size:
        raise RemoteProtocolError("key is too short for a record type", offset=len(key))
    found: int = _INT16.unpack_from(key)[0]
    return found


def decode_key(keys: dict[int, str], key: bytes) -> WireMessage:
    """Read a key; `keys` is one of the tables of `messages` (GROUP_COORDINATOR_KEYS ...).

    Raises UnknownCoordinatorRecordError, and RemoteProtocolError on bytes that do not parse.
    """
    type_ = record_type(key)
    if type_ not in keys:
        raise UnknownCoordinatorRecordError(type_)
    cls = message_class(keys[type_])
    return _decode_body(cls, cls.SCHEMA.info.versions.ranges[0][0], key, None)


def decode_value(
    values: dict[int, str], type_: int, value: bytes, *, layout: int | None = None
) -> tuple[WireMessage, int]:
    """Read the value of a record whose key has this type; give (value, value version). Raises as `decode_key` does."""
    if type_ not in values:
        raise UnknownCoordinatorRecordError(type_)
    cls = message_class(values[type_])
    version = record_type(value)
    if version not in cls.SCHEMA.info.versions:
        raise UnknownCoordinatorRecordError(type_, version)
    return _decode_body(cls, version, value, layout), version


def encode_key(key: WireMessage) -> bytes:
    """Write a key, its type before it."""
    info = type(key).SCHEMA.info
    assert info.key is not None
    return _INT16.pack(info.key) + codec.encode(key, info.versions.ranges[0][0])


def encode_value(value: WireMessage, version: int, *, layout: int | None = None) -> bytes:
    """Write a value, its version before it. Raises as `codec.encode` does."""
    return _INT16.pack(version) + codec.encode(value, version, layout=layout)


def _decode_body(cls: type[WireMessage], version: int, data: bytes, layout: int | None) -> WireMessage:
    message, end = codec.decode_prefix(cls, version, data, _INT16.size, layout=layout)
    if end != len(data):
        raise RemoteProtocolError(f"{len(data) - end} bytes left over behind {cls.__name__}", offset=end)
    return message
