"""Messages read as Kafka's own classes read them, down to what they say about bytes that do not parse.

The codecs refuse what no peer may send; Kafka's dump tool prints such a record as its reader understands it, or the
message of the exception that ended the reading. This reader interprets a layout, slowly, and only for records that
the codec refused. It differs from the codec where Kafka does: malformed UTF-8 is replaced, sizes of known tagged
fields are not looked at, bytes left over are the caller's business.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, TypeVar

from falkirk.dump.java_text import java_string
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.codec.source import FIXED
from falkirk.protocol.schema import WireMessage

if TYPE_CHECKING:
    from falkirk.protocol.codec.layout import StructLayout, WireField

M = TypeVar("M", bound=WireMessage)


class JavaReadError(Exception):
    """Where Kafka's reader throws; the text is that of the exception, `null` where it has none."""


def read_as_java(
    cls: type[M], data: bytes, position: int, *, version: int, version_max: int, layout: int | None = None
) -> tuple[M, int]:
    """Read a message at `position`; give it and the position behind it.

    `version_max` and `layout` are those of the release that reads. A message of a later version is read as that, but
    structs inside it refuse. Raises JavaReadError.
    """
    known = max(0, min(version, version_max))
    reader = _Reader(data, position, version=version, version_max=version_max, layout=layout)
    message: M = reader.struct(message_layout(cls, known, layout))
    return message, reader.position


def java_varint(data: bytes, position: int) -> tuple[int, int]:
    """Read an unsigned varint as Java does, which has no unsigned int: a large one comes out negative.

    Gives the value and the position behind it; bits beyond 32 are lost. Raises JavaReadError.
    """
    value = 0
    for index, byte in enumerate(data[position : position + _VARINT_BYTES_MAX]):
        value |= (byte & 0x7F) << (7 * index)
        if not byte & 0x80:
            return _int32(value), position + index + 1
    if len(data) - position < _VARINT_BYTES_MAX:
        raise JavaReadError("null")
    value = (value | data[position + _VARINT_BYTES_MAX - 1] << 28) & 0xFFFFFFFF
    what = "Varint is too long, the most significant bit in the 5th byte is set, converted value"
    raise JavaReadError(f"{what}: {value:x}")


_FORMATS: Final = {name: struct.Struct(f">{character}") for name, (character, _) in FIXED.items()}
_STRING_BYTES_MAX: Final = 0x7FFF
_INT32_BIT: Final = 1 << 31
_VARINT_BYTES_MAX: Final = 5
# More than any message has.
_LAYOUTS_MAX: Final = 8


def _int32(value: int) -> int:
    """Cut a number down to an int of 32 bits, as Java does when it overflows."""
    return ((value & 0xFFFFFFFF) ^ _INT32_BIT) - _INT32_BIT


class _Reader:
    def __init__(self, data: bytes, position: int, *, version: int, version_max: int, layout: int | None) -> None:
        self._data = data
        self.position = position
        self._version = version
        self._version_max = version_max
        self._layout = layout

    def struct(self, layout: StructLayout) -> Any:  # Any: the layout's class
        values = {field.attribute: self._value(field) for field in layout.fields}
        if layout.flexible:
            values |= self._tags(layout)
        return layout.cls(**values)

    def _value(self, field: WireField) -> Any:  # Any: the field's type
        if field.is_array:
            return self._array(field)
        if field.struct is None:
            return self._primitive(field, field.json_name)
        if field.nullable and self._fixed("int8") < (0 if field.tag is None else 1):
            return None
        return self._inner(field.struct)

    def _inner(self, layout: StructLayout) -> Any:  # Any: the layout's class
        if self._version > self._version_max:
            raise JavaReadError(f"Can't read version {self._version} of {layout.cls.__name__}")
        return self.struct(layout)

    def _primitive(self, field: WireField, name: str) -> Any:  # Any: the field's type
        if field.type in FIXED:
            return self._fixed(field.type)
        length = self._length(field, short=field.type == "string")
        if length < 0:
            if not field.nullable or name != field.json_name:
                raise JavaReadError(f"non-nullable field {name} was serialized as null")
            return None
        if field.type != "string":
            return self._take(length)
        if length > _STRING_BYTES_MAX:
            raise JavaReadError(f"string field {name} had invalid length {length}")
        return java_string(self._take(length))

    def _array(self, field: WireField) -> Any:  # Any: list or tuple of the element type
        count = self._length(field, short=False)
        if count < 0:
            if not field.nullable:
                raise JavaReadError(f"non-nullable field {field.json_name} was serialized as null")
            return None
        left = len(self._data) - self.position
        if count > left:
            what = f"a collection of size {count}, but there are only {left} bytes remaining."
            raise JavaReadError(f"Tried to allocate {what}")
        if field.struct is not None:
            return [self._inner(field.struct) for _ in range(count)]
        return tuple(self._primitive(field, f"{field.json_name} element") for _ in range(count))

    def _tags(self, layout: StructLayout) -> dict[str, Any]:  # Any: the fields' types
        known = {field.tag: field for field in layout.tagged}
        values: dict[str, Any] = {}  # Any: same
        for _ in range(self._varint()):
            tag, size = self._varint(), self._varint()
            field = known.get(tag)
            if field is not None:
                values[field.attribute] = self._value(field)
            elif self._is_of_another_version(layout, tag):
                raise JavaReadError(f"Tag {tag} is not valid for version {self._version}")
            else:
                self._take(size)
        return values

    def _is_of_another_version(self, layout: StructLayout, tag: int) -> bool:
        """Say whether the release knows the tag, in versions other than this one."""
        numbers = [self._layout] if self._layout is not None else range(_LAYOUTS_MAX)
        return any(
            field.tag == tag and field.exists(version, number)
            for field in layout.cls.SCHEMA.fields
            for version in range(self._version_max + 1)
            for number in numbers
        )

    def _length(self, field: WireField, *, short: bool) -> int:
        if field.flexible:
            return _int32(self._varint() - 1)
        length: int = self._fixed("int16" if short else "int32")
        return length

    def _varint(self) -> int:
        value, self.position = java_varint(self._data, self.position)
        return value

    def _fixed(self, name: str) -> Any:  # Any: the field's type
        layout = _FORMATS[name]
        if len(self._data) - self.position < layout.size:
            raise JavaReadError("null")
        (value,) = layout.unpack_from(self._data, self.position)
        self.position += layout.size
        return value

    def _take(self, length: int) -> bytes:
        left = len(self._data) - self.position
        if length > left:
            raise JavaReadError(f"Error reading byte array of {length} byte(s): only {left} byte(s) available")
        if length < 0:
            # A size that is negative as an int of 32 bits.
            raise JavaReadError(str(length))
        start, self.position = self.position, self.position + length
        return self._data[start : self.position]
