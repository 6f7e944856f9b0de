"""The codec as an interpreter of layouts: slow, and able to say where and why bytes or values are refused.

The compiled codecs call it when they meet something that they will not take; tests hold the two equal.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final, NoReturn

from falkirk.protocol.codec.decoder_compiler import STRING_BYTES_MAX
from falkirk.protocol.codec.encoder_compiler import encode_tags
from falkirk.protocol.codec.source import FIXED
from falkirk.protocol.errors import LocalProtocolError, RemoteProtocolError, UnsupportedVersionError
from falkirk.protocol.varint import decode_unsigned_varint, encode_unsigned_varint

if TYPE_CHECKING:
    from falkirk.protocol.codec.layout import AbsentField, StructLayout, WireField
    from falkirk.protocol.schema import WireStruct

_FORMATS: Final = {name: struct.Struct(f">{character}") for name, (character, _) in FIXED.items()}


def decode_reference(layout: StructLayout, buffer: bytes, position: int) -> tuple[Any, int]:
    """Read a message; give it and the position behind it. Raises RemoteProtocolError with offset and field path."""
    reader = _Reader(buffer, position)
    return reader.struct(layout), reader.position


def encode_reference(layout: StructLayout, message: WireStruct) -> bytes:
    """Write a message.

    Raises LocalProtocolError naming the field whose value the wire cannot hold, or UnsupportedVersionError naming the
    field that this version lacks.
    """
    out = bytearray()
    _write_struct(out, layout, message, "")
    return bytes(out)


class _Reader:
    def __init__(self, buffer: bytes, position: int) -> None:
        self.buffer = buffer
        self.position = position
        self.path: list[str] = []

    def struct(self, layout: StructLayout) -> Any:  # Any: the layout's class
        values = {field.attribute: self._named(field) for field in layout.fields}
        if layout.flexible:
            values |= self._tags(layout)
        return layout.cls(**values)

    def _named(self, field: WireField) -> Any:  # Any: the field's type
        self.path.append(field.json_name)
        value = self._value(field)
        self.path.pop()
        return value

    def _value(self, field: WireField) -> Any:  # Any: the field's type
        if field.is_array:
            return self._array(field)
        if field.struct is not None:
            if field.nullable and self._fixed("int8") < (0 if field.tag is None else 1):
                return None
            return self.struct(field.struct)
        return self._primitive(field)

    def _primitive(self, field: WireField) -> Any:  # Any: the field's type
        if field.type in FIXED:
            return self._fixed(field.type)
        start = self.position
        length = self._length(field, short=field.type == "string")
        if length is None:
            return None
        data = self._read_bytes(length, start)
        if field.type != "string":
            return data
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            self._fail(f"string is not UTF-8: {error.reason}", self.position - length + error.start)

    def _fixed(self, name: str) -> Any:  # Any: the field's type
        return _FORMATS[name].unpack(self._read_bytes(_FORMATS[name].size, self.position))[0]

    def _length(self, field: WireField, *, short: bool) -> int | None:
        start = self.position
        length = self._varint() - 1 if field.flexible else self._fixed("int16" if short else "int32")
        if length == -1:
            if not field.nullable:
                self._fail("null where none may stand", start)
            return None
        if length < 0:
            self._fail(f"negative length {length}", start)
        if short and length > STRING_BYTES_MAX:
            self._fail(f"string of {length} bytes, more than {STRING_BYTES_MAX}", start)
        return length

    def _array(self, field: WireField) -> list[Any] | tuple[Any, ...] | None:  # Any: the element type
        start = self.position
        count = self._length(field, short=False)
        if count is None:
            return None
        size = FIXED[field.type][1] if field.type in FIXED else 1
        if count * size > len(self.buffer) - self.position:
            left = len(self.buffer) - self.position
            self._fail(f"{count} elements cannot be in the {left} bytes that are left", start)
        elements = []
        for index in range(count):
            self.path.append(str(index))
            elements.append(self._primitive(field) if field.struct is None else self.struct(field.struct))
            self.path.pop()
        return elements if field.struct is not None else tuple(elements)

    def _tags(self, layout: StructLayout) -> dict[str, Any]:  # Any: the fields' types
        known = {field.tag: field for field in layout.tagged}
        values: dict[str, Any] = {}  # Any: same
        unknown: list[tuple[int, bytes]] = []
        for _ in range(self._varint()):
            tag = self._varint()
            start = self.position
            size = self._varint()
            stop = self.position + size
            if tag in known:
                values[known[tag].attribute] = self._named(known[tag])
                if self.position != stop:
                    self._fail(f"tagged field {tag} has {size} bytes, not the declared size", start)
            else:
                unknown.append((tag, self._read_bytes(size, start)))
        if unknown:
            values["unknown_tagged_fields"] = tuple(unknown)
        return values

    def _varint(self) -> int:
        try:
            value, self.position = decode_unsigned_varint(self.buffer, self.position)
        except RemoteProtocolError as error:
            self._fail(error.reason, error.offset)
        return value

    def _read_bytes(self, size: int, start: int) -> bytes:
        left = len(self.buffer) - self.position
        if size > left:
            self._fail(f"{size} bytes wanted, {max(left, 0)} left", start)
        self.position += size
        return self.buffer[self.position - size : self.position]

    def _fail(self, reason: str, offset: int) -> NoReturn:
        raise RemoteProtocolError(reason, offset=offset, path="".join(f"/{part}" for part in self.path))


def _write_struct(out: bytearray, layout: StructLayout, value: Any, path: str) -> None:  # Any: layout.cls, we hope
    if not isinstance(value, layout.cls):
        raise LocalProtocolError(f"{path or 'message'} is {value!r}, not a {layout.cls.__name__}")
    check_absent(layout.absent, value, path)
    for field in layout.fields:
        _write_field(out, field, getattr(value, field.attribute), f"{path}/{field.json_name}")
    if layout.flexible:
        tagged: list[tuple[int, bytes]] = list(getattr(value, "unknown_tagged_fields", ()))
        for field in layout.tagged:
            inner = getattr(value, field.attribute)
            if _differs(field, inner):
                payload = bytearray()
                _write_field(payload, field, inner, f"{path}/{field.json_name}")
                tagged.append((field.tag or 0, bytes(payload)))
        out += encode_tags(tuple(tagged))


def check_absent(absent_fields: tuple[AbsentField, ...], value: WireStruct, path: str = "") -> None:
    """Raise UnsupportedVersionError if a field is set that the version lacks and must not drop."""
    for absent in absent_fields:
        if not absent.ignorable and _differs(absent, getattr(value, absent.attribute)):
            raise UnsupportedVersionError(f"{path}/{absent.name} is set, and this version has no such field")


def _differs(field: WireField | AbsentField, value: Any) -> bool:  # Any: the field's type
    if field.default is not ...:
        return bool(value != field.default)
    if field.is_array or field.struct is None:
        return value is None or bool(value)
    cls = field.struct if isinstance(field.struct, type) else field.struct.cls
    return bool(value != cls())


def _write_field(out: bytearray, field: WireField, value: Any, path: str) -> None:  # Any: the field's type
    if value is None and field.struct is not None and not field.is_array:
        if not field.nullable:
            raise LocalProtocolError(f"{path} is null, and may not be in this version")
        out += b"\xff" if field.tag is None else b"\x00"
    elif value is None and (field.is_array or field.type not in FIXED):
        if not field.nullable:
            raise LocalProtocolError(f"{path} is null, and may not be in this version")
        out += (
            b"\x00" if field.flexible else b"\xff\xff" if field.type == "string" and not field.is_array else b"\xff" * 4
        )
    elif field.is_array:
        if not isinstance(value, list | tuple):
            raise LocalProtocolError(f"{path} is {value!r}, not a list")
        out += encode_unsigned_varint(len(value) + 1) if field.flexible else struct.pack(">i", len(value))
        for index, element in enumerate(value):
            _write_value(out, field, element, f"{path}/{index}")
    else:
        if field.struct is not None and field.nullable:
            out += b"\x01"
        _write_value(out, field, value, path)


def _write_value(out: bytearray, field: WireField, value: Any, path: str) -> None:  # Any: the element's type
    if field.struct is not None:
        _write_struct(out, field.struct, value, path)
    elif field.type in FIXED:
        _write_fixed(out, field, value, path)
    elif field.type == "string":
        _write_string(out, field, value, path)
    else:
        if not isinstance(value, bytes | bytearray | memoryview):
            raise LocalProtocolError(f"{path} is {value!r}, not bytes")
        out += encode_unsigned_varint(len(value) + 1) if field.flexible else struct.pack(">i", len(value))
        out += value


def _write_fixed(out: bytearray, field: WireField, value: Any, path: str) -> None:  # Any: a number, we hope
    if field.type == "uuid" and (not isinstance(value, bytes) or len(value) != 16):
        raise LocalProtocolError(f"{path} is {value!r}, not the 16 bytes of a uuid")
    try:
        out += _FORMATS[field.type].pack(value)
    except struct.error as error:
        raise LocalProtocolError(f"{path} is {value!r}, which {field.type} cannot hold") from error


def _write_string(out: bytearray, field: WireField, value: Any, path: str) -> None:  # Any: a string, we hope
    if not isinstance(value, str):
        raise LocalProtocolError(f"{path} is {value!r}, not a string")
    try:
        data = value.encode()
    except UnicodeEncodeError as error:
        raise LocalProtocolError(f"{path} cannot be written as UTF-8: {error.reason}") from error
    if len(data) > STRING_BYTES_MAX:
        raise LocalProtocolError(f"{path} has {len(data)} bytes, more than {STRING_BYTES_MAX}")
    out += encode_unsigned_varint(len(data) + 1) if field.flexible else struct.pack(">h", len(data))
    out += data
