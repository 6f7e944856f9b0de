"""Bytes of messages straight to the JSON text of Kafka's tools, without objects in between.

A dump has hundreds of thousands of records of few kinds, with the same replicas and ids again and again: per (message,
version, layout) one function is compiled that slices them out and looks up their text. It handles what Kafka writes
(sizes of one byte, known tags, valid UTF-8) and leaves everything else to `message_reader` and `json_text`, slowly.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from falkirk.dump.java_text import json_double, json_string
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.codec.source import FIXED, Source
from falkirk.protocol.uuid import uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from falkirk.protocol.codec.layout import StructLayout, WireField
    from falkirk.protocol.schema import WireMessage

    Run: TypeAlias = Callable[[bytes, int], tuple[str, int]]

_SCALARS: Final = {"bool": "boolean", "uuid": "uuid", "float64": "double"}
_SIZED: Final = {"string": "string", "bytes": "base64"}
# First byte of a flexible length -> length; where it is not the only byte, an IndexError.
_LENGTHS: Final = tuple(range(-1, 0x7F))


class UnusualError(Exception):
    """Bytes that are left to the slow way; they may be valid or not."""


UNUSUAL: Final = (UnusualError, IndexError, struct.error, UnicodeDecodeError)
"""What a compiled function may raise."""


@cache
def wire_text(cls: type[WireMessage], version: int, layout: int | None = None) -> Run:
    """Compile (buffer, position) -> (JSON text, position behind the message). It raises only UNUSUAL."""
    return _Compiler(message_layout(cls, version, layout)).compile()


class _Compiler:
    """Writes the function of one struct: reads into variables in wire order, then one f-string in schema order."""

    def __init__(self, layout: StructLayout) -> None:
        self._layout = layout
        self._source = Source()
        # Attribute -> its value's expression in the f-string.
        self._texts: dict[str, str] = {}

    def compile(self) -> Run:
        """Return the function."""
        source = self._source
        source.line("end = len(b)")
        for field in self._layout.tagged:
            source.line(f"t_{field.attribute} = ''")
        run: list[WireField] = []
        for field in self._layout.fields:
            if field.type in FIXED and not field.is_array:
                run.append(field)
                continue
            self._fixed(run)
            self._texts[field.attribute] = self._value(field)
        self._fixed(run)
        if self._layout.flexible:
            self._tags()
        source.line("if p > end: raise Unusual")
        source.line(f"return f'{{{{{self._parts()}}}}}', p")
        title = f"text of {self._layout.cls.__name__}"
        return source.compile("def run(b, p):", title, _NAMESPACE)

    def _parts(self) -> str:
        """Write the fields of the JSON object; because of the commas the first one must always be present."""
        parts = []
        for index, field in enumerate(self._layout.all_fields):
            if field.tag is not None:
                if index == 0:
                    # No message begins with a tagged field; one that did would be left to the slow way.
                    self._source.line("raise Unusual")
                parts.append(f"{{t_{field.attribute}}}")
            else:
                comma = "," if index else ""
                parts.append(f'{comma}"{field.json_name}":{{{self._texts[field.attribute]}}}')
        return "".join(parts)

    def _fixed(self, run: list[WireField]) -> None:
        """Read adjacent fields of fixed width at once."""
        if not run:
            return
        codes = "".join(FIXED[field.type][0] for field in run)
        unpack = struct.Struct(f">{codes}")
        names = [self._source.name() for _ in run]
        self._source.line(f"{', '.join(names)}, = {self._source.constant(unpack.unpack_from, 'S')}(b, p)")
        self._source.line(f"p += {unpack.size}")
        for field, name in zip(run, names, strict=True):
            function = _SCALARS.get(field.type)
            self._texts[field.attribute] = f"{function}({name})" if function else name
        run.clear()

    def _value(self, field: WireField) -> str:
        """Read a field that is not in a run; return the variable with its text."""
        source, value = self._source, self._source.name()
        if field.struct is not None and not field.is_array:
            if field.nullable:
                source.line("raise Unusual")
                return value
            source.line(f"{value}, p = {self._struct(field.struct)}(b, p)")
            return value
        source.line(f"n = {self._length(field)}")
        if field.nullable:
            source.line(f"if n < 0: {value} = 'null'")
            with source.block("else:"):
                self._sized(field, value)
        else:
            source.line("if n < 0: raise Unusual")
            self._sized(field, value)
        return value

    def _length(self, field: WireField, *, of_element: bool = False) -> str:
        """Return the expression that reads a length and moves past it; only lengths of one byte are usual."""
        if field.flexible:
            return "lengths[b[(p := p + 1) - 1]]"
        if field.type == "string" and (of_element or not field.is_array):
            return "int16(b, (p := p + 2) - 2)[0]"
        return "int32(b, (p := p + 4) - 4)[0]"

    def _sized(self, field: WireField, value: str) -> None:
        """Read `n` bytes or elements."""
        source = self._source
        if not field.is_array:
            source.line("if p + n > end: raise Unusual")
            source.line(f"{value} = {_SIZED[field.type]}(b[p : (p := p + n)])")
        elif field.type in FIXED:
            size = FIXED[field.type][1]
            source.line(f"if p + n * {size} > end: raise Unusual")
            source.line(f"{value} = arrays_{field.type}(b[p : (p := p + n * {size})])")
        else:
            self._elements(field, value)

    def _elements(self, field: WireField, value: str) -> None:
        """Read the elements of an array one by one."""
        source = self._source
        source.line("if n > end - p: raise Unusual")
        elements = source.name()
        source.line(f"{elements} = []")
        with source.block("for _ in range(n):"):
            if field.struct is not None:
                source.line(f"e, p = {self._struct(field.struct)}(b, p)")
            else:
                source.line(f"m = {self._length(field, of_element=True)}")
                source.line("if m < 0 or p + m > end: raise Unusual")
                source.line(f"e = {_SIZED[field.type]}(b[p : (p := p + m)])")
            source.line(f"{elements}.append(e)")
        source.line(f"{value} = f'[{{chr(44).join({elements})}}]'")

    def _struct(self, layout: StructLayout) -> str:
        return self._source.constant(_Compiler(layout).compile(), "R")

    def _tags(self) -> None:
        """Read tagged fields; those with their default are left out of the text."""
        source = self._source
        with source.block("if b[p]:"):
            source.line("c = b[p]")
            source.line("p += 1")
            source.line("if c > 127: raise Unusual")
            with source.block("for _ in range(c):"):
                source.line("g = b[p]")
                source.line("q = p + 2 + b[p + 1]")
                source.line("if b[p + 1] > 127: raise Unusual")
                source.line("p += 2")
                branch = "if"
                for field in self._layout.tagged:
                    with source.block(f"{branch} g == {field.tag}:"):
                        self._tagged(field)
                    branch = "elif"
                if self._layout.tagged:
                    source.line("else: raise Unusual")
                else:
                    source.line("raise Unusual")
                source.line("if p != q: raise Unusual")
        source.line("else: p += 1")

    def _tagged(self, field: WireField) -> None:
        source = self._source
        if field.struct is not None and not field.is_array:
            # Only the slow way knows whether it has its default.
            source.line("raise Unusual")
            return
        if field.type in FIXED and not field.is_array:
            self._fixed([field])
            value = source.name()
            source.line(f"{value} = f'{{{self._texts[field.attribute]}}}'")
        else:
            value = self._value(field)
        default = source.constant(_default_text(field), "D")
        source.line(f"t_{field.attribute} = '' if {value} == {default} else f',\"{field.json_name}\":{{{value}}}'")


def _default_text(field: WireField) -> str:
    """Write a field's default as in JSON."""
    if field.default is ...:
        return "[]"
    if field.default is None:
        return "null"
    return _TEXT_OF_DEFAULT.get(field.type, str)(field.default)


def _boolean(value: bool) -> str:  # noqa: FBT001  one value in, its text out
    return "true" if value else "false"


def _string(data: bytes) -> str:
    return json_string(data.decode())


def _base64(data: bytes) -> str:
    return f'"{b64encode(data).decode()}"'


@lru_cache(maxsize=1 << 16)
def _uuid(uuid: bytes) -> str:
    return f'"{uuid_text(uuid)}"'


def _array_texts(type_: str) -> Callable[[bytes], str]:
    """Make the function that writes an array of fixed-width elements; arrays repeat from record to record."""
    character, _ = FIXED[type_]
    element: Callable[[Any], str] = _ELEMENTS.get(type_, str)  # Any: the element's type

    @lru_cache(maxsize=1 << 14)
    def text(data: bytes) -> str:
        return f"[{','.join([element(value) for (value,) in struct.iter_unpack(f'>{character}', data)])}]"

    return text


_ELEMENTS: Final[dict[str, Callable[[Any], str]]] = {  # Any: the element's type
    "bool": _boolean,
    "uuid": _uuid,
    "float64": json_double,
}
_TEXT_OF_DEFAULT: Final[dict[str, Callable[[Any], str]]] = {**_ELEMENTS, "string": json_string, "bytes": _base64}
_NAMESPACE: Final[dict[str, Any]] = {  # Any: what the compiled code calls
    "Unusual": UnusualError,
    "lengths": _LENGTHS,
    "int16": struct.Struct(">h").unpack_from,
    "int32": struct.Struct(">i").unpack_from,
    "boolean": _boolean,
    "double": json_double,
    "string": _string,
    "base64": _base64,
    "uuid": _uuid,
    **{f"arrays_{type_}": _array_texts(type_) for type_ in FIXED},
}
