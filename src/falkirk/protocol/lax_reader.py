"""Reads messages as the readers do that Kafka generates, for what they accept rather than for what they should.

The codec refuses whatever is not a proper message. Kafka's readers are laxer: bytes left over are ignored, strings need
not be UTF-8, a tagged field may have another size than it says, a length below zero is null. Predictions and the dump
tool have to be lax in the same places. This reader interprets a layout, slowly.
"""

from __future__ import annotations

import codecs
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.protocol.codec.source import FIXED

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.protocol.codec.layout import StructLayout, WireField
    from falkirk.protocol.schema import WireStruct

_STRING_BYTES_MAX: Final = 0x7FFF
_FORMATS: Final = {
    name: struct.Struct(f">{character}") for name, (character, _) in (FIXED | {"uint8": ("B", 1)}).items()
}
_REPLACE_AS_JAVA: Final = "falkirk-java-replace"
_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")

Fields = dict[str, Any]  # Any: the fields' types. Attribute of the message's class -> value


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The most that a release's readers accept; more throws, and so does a negative count of tagged fields."""

    elements_max: int
    tagged_fields_max: int


class ReadError(Exception):
    """Kafka's reader would throw here. `underflow`: a number of fixed size is cut off."""

    def __init__(self, reason: str, offset: int, *, underflow: bool = False) -> None:
        self.reason = reason
        self.offset = offset
        self.underflow = underflow
        super().__init__(reason, offset)

    def __str__(self) -> str:
        """Return one line: what was wrong, where."""
        return f"{self.reason} (byte {self.offset})"


class KafkaReader:
    """Reads on from `position` of a key, a value, or bytes inside one.

    `nested_version_error`: why no struct inside the message can have that version; the
    generated readers check it there only, see LoaderRules.checks_value_versions. `is_tag_of_other_version`: whether the
    release knows a tag in another version of the message, which its reader refuses.
    """

    __slots__ = ("_data", "_is_tag_of_other_version", "_limits", "_nested_version_error", "position")

    def __init__(
        self,
        data: bytes,
        position: int = 0,
        *,
        limits: ReadLimits | None = None,
        nested_version_error: str | None = None,
        is_tag_of_other_version: Callable[[StructLayout, int], bool] | None = None,
    ) -> None:
        self._data = data
        self.position = position
        self._limits = limits
        self._nested_version_error = nested_version_error
        self._is_tag_of_other_version = is_tag_of_other_version

    def message(self, layout: StructLayout) -> Fields:
        """Read a message; tagged fields that are not there are not in the result. Raises ReadError."""
        values: Fields = {field.attribute: self._value(field) for field in layout.fields}
        if layout.flexible:
            self._tagged_fields(layout, values)
        return values

    def int16(self) -> int:
        """Read a number, such as the type before a key or the version before a value. Raises ReadError."""
        number: int = self._fixed("int16")
        return number

    def varint(self) -> int:
        """Read an unsigned varint into a Java int, which is negative where the 32nd bit is set. Raises ReadError."""
        result = 0
        for shift in range(0, 35, 7):
            byte = self._fixed("uint8")
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return _as_int32(result)
        raise ReadError("varint has more than five bytes", self.position)

    def _value(self, field: WireField) -> Any:  # Any: the field's type
        if field.is_array:
            return self._array(field)
        if field.struct is None:
            return self._primitive(field)
        if field.nullable:
            present = self.varint() > 0 if field.tag is not None else self._fixed("int8") >= 0
            if not present:
                return None
        return self._struct(field.struct)

    def _struct(self, layout: StructLayout) -> Fields:
        if self._nested_version_error is not None:
            raise ReadError(self._nested_version_error, self.position)
        return self.message(layout)

    def _primitive(self, field: WireField, *, is_element: bool = False) -> Any:  # Any: the field's type
        if field.type in _FORMATS:
            return self._fixed(field.type)
        length = self._length(field, "int16" if field.type == "string" else "int32", is_element=is_element)
        if length is None:
            return None
        if field.type != "string":
            return self._bytes(length)
        if length > _STRING_BYTES_MAX:
            raise ReadError(f"{field.attribute} is a string of {length} bytes", self.position)
        return decoded(self._bytes(length))

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
        return [self._primitive(field, is_element=True) for _ in range(count)]

    def _length(self, field: WireField, fixed: str, *, is_element: bool = False) -> int | None:
        start = self.position
        # A Java int: the smallest one less one is the largest.
        length: int = _as_int32(self.varint() - 1) if field.flexible else self._fixed(fixed)
        if length >= 0:
            return length
        # No element of an array may be null.
        if is_element or not field.nullable:
            raise ReadError(f"{field.attribute} is null, and may not be", start)
        return None

    def _tagged_fields(self, layout: StructLayout, values: Fields) -> None:
        known = {field.tag: field for field in layout.tagged}
        count = self.varint()
        if self._limits is not None and not 0 <= count <= self._limits.tagged_fields_max:
            raise ReadError(f"{count} tagged fields, more than this release accepts", self.position)
        for _ in range(count):
            tag = self.varint()
            size = self.varint()
            field = known.get(tag)
            if field is not None:
                values[field.attribute] = self._value(field)
            elif self._is_tag_of_other_version is not None and self._is_tag_of_other_version(layout, tag):
                raise ReadError(f"tag {tag} belongs to another version", self.position)
            else:
                self._bytes(size)

    def _fixed(self, name: str) -> Any:  # Any: the field's type
        form = _FORMATS[name]
        if form.size > len(self._data) - self.position:
            raise ReadError(f"{name} is cut off", self.position, underflow=True)
        (value,) = form.unpack_from(self._data, self.position)
        self.position += form.size
        return value

    def _bytes(self, size: int) -> bytes:
        left = len(self._data) - self.position
        if not 0 <= size <= left:
            raise ReadError(f"{size} bytes wanted, {left} are left", self.position)
        self.position += size
        return self._data[self.position - size : self.position]


def message_fields(message: WireStruct, layout: StructLayout) -> Fields:
    """Return the fields of a message that the codec has read, as `KafkaReader.message` would; no flexible layouts."""
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
    """Decode UTF-8 as `new String(bytes, UTF_8)` does: what is malformed becomes U+FFFD."""
    return data.decode("utf-8", _REPLACE_AS_JAVA)


def _as_int32(number: int) -> int:
    return (number + 0x80000000) % 0x100000000 - 0x80000000


def _replace(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    # A surrogate, or what there is of one, is one malformed character to Java, and one for each byte to Python.
    surrogate = _SURROGATE.match(error.object, error.start)
    return "\ufffd", surrogate.end() if surrogate else error.end


codecs.register_error(_REPLACE_AS_JAVA, _replace)
