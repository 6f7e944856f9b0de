"""Subscriptions and assignments of classic consumer groups: an int16 version, then the message.

ConsumerProtocolSubscription stands in a member's metadata, ConsumerProtocolAssignment in what the leader assigns.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, TypeVar

from falkirk.protocol import codec
from falkirk.protocol.errors import RemoteProtocolError

if TYPE_CHECKING:
    from falkirk.protocol.messages import ConsumerProtocolAssignment, ConsumerProtocolSubscription

    M = TypeVar("M", ConsumerProtocolAssignment, ConsumerProtocolSubscription)

CONSUMER_PROTOCOL_TYPE: Final = "consumer"
_INT16 = struct.Struct(">h")


def encode_embedded(message: ConsumerProtocolAssignment | ConsumerProtocolSubscription, version: int) -> bytes:
    """Write it as a version, its version before it. Raises as `codec.encode` does."""
    return _INT16.pack(version) + codec.encode(message, version)


def decode_embedded(cls: type[M], data: bytes) -> M:
    """Read it; a newer version like the newest known one, and what is left over is ignored, as Kafka's consumers do.

    Raises RemoteProtocolError for bytes that do not parse, and for a version below 0.
    """
    if len(data) < _INT16.size:
        raise RemoteProtocolError(f"{cls.__name__} is too short for its version", offset=len(data))
    version: int = _INT16.unpack_from(data)[0]
    if version < 0:
        raise RemoteProtocolError(f"{cls.__name__} has version {version}", offset=0)
    highest = cls.SCHEMA.info.versions.ranges[-1][1]
    message, _ = codec.decode_prefix(cls, min(version, highest), data, _INT16.size)
    return message
