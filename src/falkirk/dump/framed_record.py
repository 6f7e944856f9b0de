"""Records behind a frame of version, type and record version: the metadata log's, and those of tiered storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.dump.java_reader import JavaReadError, java_varint, read_as_java
from falkirk.protocol.messages import message_class
from falkirk.protocol.metadata_record import FRAME_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.schema import WireMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class FramedType:
    """A type of record as one release knows it."""

    cls: type[WireMessage]
    version_max: int
    layout: int | None


def framed_type(name: str, version_max: int, layout: int | None) -> FramedType:
    """Give the type of that message."""
    return FramedType(cls=message_class(name), version_max=version_max, layout=layout)


def read_frame(value: bytes) -> tuple[int, int, int]:
    """Give (type, record version, where the body begins). Raises JavaReadError as Kafka's reader does."""
    frame_version, position = _short(value, 0, "frame version")
    if frame_version == 0:
        what = "Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release"
        raise JavaReadError(f"{what} of KRaft in 2.8 to newer versions are not supported.")
    if frame_version != FRAME_VERSION:
        what = f"Could not deserialize metadata record due to unknown frame version {frame_version}"
        raise JavaReadError(f"{what}(only frame version {FRAME_VERSION} is supported)")
    type_, position = _short(value, position, "type")
    version, position = _short(value, position, "version")
    return type_, version, position


def read_body(
    types: Mapping[int, FramedType], value: bytes, type_: int, version: int, position: int
) -> Any:  # Any: the type's class
    """Read the message behind a frame, which takes up the rest. Raises JavaReadError as Kafka's reader does."""
    known = types.get(type_)
    if known is None:
        raise JavaReadError(f"org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id {type_}")
    try:
        message, end = _read(known, value, version, position)
    except JavaReadError as error:
        raise JavaReadError(f"Failed to deserialize record with type {type_}") from error
    if end != len(value):
        raise JavaReadError(f"Found {len(value) - end} byte(s) of garbage after {type_}")
    return message


_INT16_MAX: Final = 0x7FFF
_INT16_BIT: Final = 0x8000


def _read(known: FramedType, value: bytes, version: int, position: int) -> tuple[WireMessage, int]:
    return read_as_java(known.cls, value, position, version=version, version_max=known.version_max, layout=known.layout)


def _short(value: bytes, position: int, what: str) -> tuple[int, int]:
    try:
        number, end = java_varint(value, position)
    except JavaReadError as error:
        raise JavaReadError(f"Error while reading {what}") from error
    if number > _INT16_MAX:
        raise JavaReadError(f"Value for {what} was too large.")
    # A negative int passes Kafka's test, and loses its upper half.
    return ((number & 0xFFFF) ^ _INT16_BIT) - _INT16_BIT, end
