"""Reads messages as the readers do that Kafka generates, for what they accept rather than for what they should.

The codec in `protocol` refuses whatever is not a proper message. Kafka's readers are laxer: bytes left over are
ignored, strings need not be UTF-8, a tagged field may have another size than it says, a length below zero is null. A
prediction has to be lax in the same places.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from falkirk.protocol.codec.layout import StructLayout, WireField
    from falkirk.protocol.schema import WireStruct


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The most that a release's readers take; what is longer throws, and so does a negative count of tagged fields."""

    elements_max: int
    tagged_fields_max: int


Fields = dict[str, Any]  # Any: the fields' types. Attribute of the message's class -> value


class ReadError(Exception):
    """Kafka's reader would throw here. `underflow`: because a number of fixed size is cut off."""

    def __init__(self, reason: str, offset: int, *, underflow: bool = False) -> None:
        self.reason = reason
        self.offset = offset
        self.underflow = underflow
        super().__init__(reason, offset)

    def __str__(self) -> str:
        """Give one line: what was wrong, where."""
        return f"{self.reason} (byte {self.offset})"


class KafkaReader:
    """Reads on from `position` of a key, a value, or bytes inside one."""

    __slots__ = ("_data", "_limits", "_nested_version_error", "position")

    def __init__(
        self,
        data: bytes,
        position: int = 0,
        *,
        limits: ReadLimits | None = None,
        nested_version_error: str | None = None,
    ) -> None:
        self._data = data
        self.position = position
        self._limits = limits
        # The generated readers check the version in nested structs only; see LoaderRules.checks_value_versions.
        self._nested_version_error = nested_version_error

    def message(self, layout: StructLayout) -> Fields:
        """Read a message; tagged fields that are not there are not in the result. Raises ReadError."""
        values: Fields = {field.attribute: self._value(field) for field in layout.fields}
        if layout.flexible:
            self._tagged_fields(layout, values)
        return values

    def int16(self) -> int:
        """Read a number, such as the type before a key or the version before a value. Raises ReadError."""
        return self._fixed("int16")

    def _value(self, field: WireField) -> Any:  # Any: the field's type
        if field.is_array:
            return self._array(field)
        if field.struct is None:
            return self._primitive(field)
        if field.nullable:
            present = self._unsigned_varint() > 0 if field.tag is not None else self._fixed("int8") >= 0
            if not present:
                return None
        return self._struct(field.struct)

    def _struct(self, layout: StructLayout) -> Fields:
        if self._nested_version_error is not None:
            raise ReadError(self._nested_version_error, self.position)
        return self.message(layout)

    def _primitive(self, field: WireField) -> Any:  # Any: the field's type
        if field.type == "uuid":
            # Two longs: that the second one is cut off is an underflow too.
            return self._bytes_of_number(16)
        if field.type in _FORMATS:
            return self._fixed(field.type)
        length = self._length(field, "int16" if field.type == "string" else "int32")
        if length is None:
            return None
        if field.type != "string":
            return self._take(length)
        if length > _STRING_BYTES_MAX:
            raise ReadError(f"{field.attribute} is a string of {length} bytes", self.position)
        return decoded(self._take(length))

    def _array(self, field: WireField) -> list[Any] | None:  # Any: the element type
        count = self._length(field, "int32")
        if count is None:
            return None
        left = len(self._data) - self.position
        if count > left:
            raise ReadError(f"{field.attribute} has {count} elements, {left} bytes are left", self.position)
        if self._limits is not None and count > self._limits.elements_max:
            raise ReadError(f"{field.attribute} has {count} elements, too many for this release", self.position)
        if field.struct is not None:
            return [self._struct(field.struct) for _ in range(count)]
        return [self._primitive(field) for _ in range(count)]

    def _length(self, field: WireField, fixed: str) -> int | None:
        start = self.position
        # A Java int: the smallest one less one is the largest.
        length = _as_int32(self._unsigned_varint() - 1) if field.flexible else self._fixed(fixed)
        if length >= 0:
            return length
        # No element of an array may be null, and none of an array of strings is nullable by its schema.
        if not field.nullable:
            raise ReadError(f"{field.attribute} is null, and may not be", start)
        return None

    def _tagged_fields(self, layout: StructLayout, values: Fields) -> None:
        known = {field.tag: field for field in layout.tagged}
        count = self._unsigned_varint()
        if self._limits is not None and not 0 <= count <= self._limits.tagged_fields_max:
            raise ReadError(f"{count} tagged fields, more than this release takes", self.position)
        for _ in range(count):
            tag = self._unsigned_varint()
            size = self._unsigned_varint()
            field = known.get(tag)
            if field is not None:
                values[field.attribute] = self._value(field)
            else:
                self._take(size)

    def _unsigned_varint(self) -> int:
        """Read up to five bytes into a Java int, which is negative where the 32nd bit is set."""
        result = 0
        for shift in range(0, 35, 7):
            byte = self._fixed("uint8")
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return _as_int32(result)
        raise ReadError("varint has more than five bytes", self.position)

    def _fixed(self, name: str) -> int:
        form = _FORMATS[name]
        if form.size > len(self._data) - self.position:
            raise ReadError(f"{name} is cut off", self.position, underflow=True)
        value: int = form.unpack_from(self._data, self.position)[0]
        self.position += form.size
        return value

    def _bytes_of_number(self, size: int) -> bytes:
        if size > len(self._data) - self.position:
            raise ReadError("number is cut off", self.position, underflow=True)
        return self._take(size)

    def _take(self, size: int) -> bytes:
        left = len(self._data) - self.position
        if not 0 <= size <= left:
            raise ReadError(f"{size} bytes wanted, {left} are left", self.position)
        self.position += size
        return self._data[self.position - size : self.position]


def message_fields(message: WireStruct, layout: StructLayout) -> Fields:
    """Give a message that another reader has read as `KafkaReader.message` would; its layout is not flexible."""
    fields: Fields = {}
    for field in layout.fields:
        value = getattr(message, field.attribute)
        struct = field.struct
        if value is not None and struct is not None:
            value = (
                [message_fields(each, struct) for each in value] if field.is_array else message_fields(value, struct)
            )
        elif field.is_array and value is not None:
            value = list(value)
        fields[field.attribute] = value
    return fields


def decoded(data: bytes) -> str:
    """Give a string as Java does: what is not UTF-8 becomes a replacement character."""
    return data.decode("utf-8", "replace")


_STRING_BYTES_MAX = 0x7FFF
_FORMATS: Final = {
    name: struct.Struct(f">{character}")
    for name, character in {
        "bool": "b",
        "int8": "b",
        "uint8": "B",
        "int16": "h",
        "uint16": "H",
        "int32": "i",
        "uint32": "I",
        "int64": "q",
        "float64": "d",
    }.items()
}


def _as_int32(number: int) -> int:
    return (number + 0x80000000) % 0x100000000 - 0x80000000
