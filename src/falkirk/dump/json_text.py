"""Messages as the JSON text of Kafka's generated converters and Jackson: compact, in schema order.

Compiled per (message, version, layout) like the codecs, straight to text: a dump writes one per record. The field rules
are those of Kafka's JSON form (`protocol.json_form`): tagged fields with their default are left out.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from falkirk.dump.java_text import json_double, json_string
from falkirk.protocol.codec.layout import StructLayout, WireField, message_layout
from falkirk.protocol.codec.source import Source
from falkirk.protocol.uuid import uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.protocol.schema import WireMessage

_FUNCTIONS: Final = {
    "string": "string",
    "uuid": "uuid",
    "bytes": "base64",
    "bool": "boolean",
    "float64": "double",
}


def json_writer(
    cls: type[WireMessage],
    version: int,
    *,
    layout: int | None = None,
    bytes_writers: Mapping[str, Callable[[bytes | None], str]] | None = None,
) -> Callable[[Any], str]:  # Any: cls
    """Compile the function that writes a message of this class.

    `bytes_writers` overrides, by JSON name, how fields of type bytes are written anywhere in the message; the default
    is base64.
    """
    if bytes_writers:
        return _compile(message_layout(cls, version, layout), bytes_writers)
    return _json_writer(cls, version, layout)


@cache
def _json_writer(cls: type[WireMessage], version: int, layout: int | None) -> Callable[[Any], str]:  # Any: cls
    return _compile(message_layout(cls, version, layout), {})


def _compile(
    layout: StructLayout, bytes_writers: Mapping[str, Callable[[bytes | None], str]]
) -> Callable[[Any], str]:  # Any: the layout's class
    """Compile one function per struct. Every field is written with a comma before it; the first comma is cut off."""
    source = Source()
    run: list[str] = []
    source.line("out = ''")
    for field in layout.all_fields:
        value = f"m.{field.attribute}"
        text = f",{json_string(field.json_name)}:".replace("{", "{{")
        item = text + "{" + _expression(source, field, value, bytes_writers) + "}"
        if field.tag is None:
            run.append(item)
            continue
        _flush(source, run)
        source.line(f"if {_is_set(source, field, value)}: out += f'{item}'")
    _flush(source, run)
    source.line("return '{' + out[1:] + '}'")
    return source.compile("def write(m):", f"JSON text of {layout.cls.__name__}", _NAMESPACE)


def _flush(source: Source, run: list[str]) -> None:
    if run:
        source.line(f"out += f'{''.join(run)}'")
        run.clear()


def _is_set(source: Source, field: WireField, value: str) -> str:
    """Return the condition under which a tagged field is written."""
    if field.default is not ...:
        return f"{value} != {source.constant(field.default, 'D')}"
    if field.struct is None or field.is_array:
        return f"{value} is None or {value}"
    return f"{value} != {source.constant(field.struct.cls, 'C')}()"


def _expression(
    source: Source,
    field: WireField,
    value: str,
    bytes_writers: Mapping[str, Callable[[bytes | None], str]],
) -> str:
    """Return the expression that turns the value into text; it has no quotes, because it is inside an f-string."""
    if field.type == "bytes" and field.json_name in bytes_writers:
        return f"{source.constant(bytes_writers[field.json_name], 'B')}({value})"
    if field.struct is not None:
        write = source.constant(_compile(field.struct, bytes_writers), "W")
        expression = f"array(map({write}, {value}))" if field.is_array else f"{write}({value})"
    elif field.is_array:
        expression = _array(field, value)
    else:
        function = _FUNCTIONS.get(field.type)
        expression = f"{function}({value})" if function else value
    return f"null if {value} is None else {expression}" if field.nullable else expression


def _array(field: WireField, value: str) -> str:
    # Replicas and directories repeat from record to record.
    if field.type == "uuid":
        return f"uuids({value})"
    function = _FUNCTIONS.get(field.type)
    return f"array(map({function}, {value}))" if function else f"numbers({value})"


def _boolean(value: bool) -> str:  # noqa: FBT001  one value in, its text out
    return "true" if value else "false"


def _base64(data: bytes) -> str:
    return f'"{b64encode(data).decode()}"'


@lru_cache(maxsize=1 << 16)
def _uuid(uuid: bytes) -> str:
    return f'"{uuid_text(uuid)}"'


@lru_cache(maxsize=1 << 12)
def _uuids(uuids: tuple[bytes, ...]) -> str:
    return f"[{','.join(map(_uuid, uuids))}]"


@lru_cache(maxsize=1 << 12)
def _numbers(numbers: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, numbers))}]"


def _array_of(texts: Any) -> str:  # Any: an iterator of str; `map` in compiled code
    return f"[{','.join(texts)}]"


_NAMESPACE: Final[dict[str, Any]] = {  # Any: what the compiled code calls
    "null": "null",
    "string": json_string,
    "double": json_double,
    "boolean": _boolean,
    "base64": _base64,
    "uuid": _uuid,
    "uuids": _uuids,
    "numbers": _numbers,
    "array": _array_of,
}
