"""Messages read as a release's dump tool reads them: as laxly, and as the versions that the release knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.lax_reader import KafkaReader
from falkirk.protocol.schema import WireMessage

if TYPE_CHECKING:
    from falkirk.protocol.codec.layout import StructLayout

M = TypeVar("M", bound=WireMessage)

# More than any message has.
_LAYOUTS_MAX: Final = 8


def read_message(
    cls: type[M], data: bytes, position: int, *, version: int, version_max: int, layout: int | None = None
) -> tuple[M, int]:
    """Read a message at `position`; return it and the position behind it. Raises ReadError.

    `version_max` and `layout` are those of the release that reads. A message of a later version is read as that one,
    but structs inside it are refused.
    """

    def is_tag_of_other_version(struct: StructLayout, tag: int) -> bool:
        numbers = [layout] if layout is not None else range(_LAYOUTS_MAX)
        return any(
            field.tag == tag and field.exists(each, number)
            for field in struct.cls.SCHEMA.fields
            for each in range(version_max + 1)
            for number in numbers
        )

    reader = KafkaReader(
        data,
        position,
        nested_version_error=f"version {version} is not known" if version > version_max else None,
        is_tag_of_other_version=is_tag_of_other_version,
    )
    fields = reader.message(message_layout(cls, max(0, min(version, version_max)), layout))
    return msgspec.convert(fields, cls, builtin_types=(bytes,)), reader.position
