"""Records behind a frame of version, type and record version: the metadata log's, and those of tiered storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.dump.message_reader import read_message
from falkirk.protocol.lax_reader import KafkaReader, ReadError
from falkirk.protocol.messages import message_class
from falkirk.protocol.metadata_record import FRAME_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.schema import WireMessage

_INT16_MAX: Final = 0x7FFF


@dataclass(frozen=True, slots=True, kw_only=True)
class FramedType:
    """A type of record as one release knows it."""

    cls: "type[WireMessage]"
    version_max: int
    layout: int | None


def framed_type(name: str, version_max: int, layout: int | None) -> FramedType:
    """Return the type of a message."""
    return FramedType(cls=message_class(name), version_max=version_max, layout=layout)


def read_frame(value: bytes) -> tuple[int, int, int]:
    """Return (type, record version, position of the body). Raises ReadError."""
    reader = KafkaReader(value)
    frame_version, type_, version = (reader.varint() for _ in range(3))
    if frame_version != FRAME_VERSION:
        raise ReadError(f"frame version {frame_version} is not known", 0)
    if not 0 <= type_ <= _INT16_MAX or not 0 <= version <= _INT16_MAX:
        raise ReadError(f"type {type_} and version {version} are no numbers of 16 bits", 0)
    return type_, version, reader.position


def read_body(
    types: Mapping[int, FramedType], value: bytes, type_: int, version: int, position: int
) -> Any:  # Any: the type's class
    """Read the message behind a frame, which must take up the rest. Raises ReadError."""
    known = types.get(type_)
    if known is None:
        raise ReadError(f"record type {type_} is not known", 0)
    message, end = read_message(
        known.cls, value, position, version=version, version_max=known.version_max, layout=known.layout
    )
    if end != len(value):
        raise ReadError(f"{len(value) - end} bytes follow the record", end)
    return message
