"""Kafka's JSON form of messages, both ways, compiled like the codecs.

Field names are camel case, uuids base64url, bytes base64. Tagged fields that have their default are left out. A
`records` field appears as its size (`recordsSizeInBytes`), so its bytes travel beside the JSON, by path; so do tagged
fields that the schema does not know, which the form has no place for.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any, TypeVar

from falkirk.protocol.codec.layout import StructLayout, WireField, message_layout
from falkirk.protocol.codec.reference import check_absent
from falkirk.protocol.codec.source import Source
from falkirk.protocol.errors import LocalProtocolError
from falkirk.protocol.uuid import parse_uuid, uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.protocol.schema import WireMessage, WireStruct

M = TypeVar("M", bound="WireMessage")

Json = dict[str, Any]  # Any: JSON
_Key = tuple[type["WireMessage"], int, int | None]
_WRITERS: dict[_Key, Callable[[Any], Json]] = {}  # Any: the key's class
_READERS: dict[_Key, Callable[[Json], Any]] = {}  # Any: same
_NAMESPACE: Json = {
    "uuid_text": uuid_text,
    "parse_uuid": parse_uuid,
    "base64": lambda data: b64encode(data).decode(),
    "unbase64": lambda text: b64decode(text, validate=True),
    "check_absent": check_absent,
}

_CHECKS: dict[str, Callable[[Any], bool]] = {  # Any: JSON
    "bool": lambda value: isinstance(value, bool),
    "float64": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "uuid": lambda value: isinstance(value, str),
    "bytes": lambda value: isinstance(value, str),
}


def to_json(message: WireMessage, version: int, *, layout: int | None = None) -> Json:
    """Return the JSON form.

    Raises UnsupportedVersionError for a field that is set, not ignorable, and absent from the version.
    """
    key = (type(message), version, layout)
    writer = _WRITERS.get(key)
    if writer is None:
        writer = _WRITERS[key] = _compile_writer(message_layout(*key))
    return writer(message)


def from_json(cls: type[M], version: int, form: Json, *, layout: int | None = None) -> M:
    """Make a message of its JSON form; `records` fields come out as None (see `set_records`).

    Raises LocalProtocolError naming what is missing, unknown or of the wrong type.
    """
    key = (cls, version, layout)
    reader = _READERS.get(key)
    if reader is None:
        reader = _READERS[key] = _compile_reader(message_layout(*key))
    try:
        message: M = reader(form)
    except (KeyError, TypeError, AttributeError, ValueError, LocalProtocolError) as error:
        _explain(message_layout(*key), form, "")
        raise LocalProtocolError(f"JSON form of {cls.__name__} v{version} does not fit: {error}") from error
    return message


def records_of(message: WireMessage, version: int, *, layout: int | None = None) -> dict[str, bytes]:
    """Return the bytes of each `records` field that is not null, by path (`/responses/0/records`)."""
    return dict(_records(message_layout(type(message), version, layout), message, ""))


def set_records(message: WireMessage, version: int, records: dict[str, bytes], *, layout: int | None = None) -> None:
    """Set the bytes of `records` fields. Raises LocalProtocolError for an unknown path."""
    for path, data in records.items():
        *parents, last = path.strip("/").split("/")
        owner, owner_layout = _resolve(message_layout(type(message), version, layout), message, parents, path)
        for field in owner_layout.fields:
            if field.json_name == last and field.type == "records":
                setattr(owner, field.attribute, data)
                break
        else:
            raise LocalProtocolError(f"{path} is not a records field")


def unknown_tags_of(message: WireMessage, version: int, *, layout: int | None = None) -> list[tuple[str, int, bytes]]:
    """List (path, tag, payload) of the tagged fields that the schema does not know; those of inner structs first."""
    return list(_unknown_tags(message_layout(type(message), version, layout), message, ""))


def set_unknown_tags(
    message: WireMessage, version: int, tags: list[tuple[str, int, bytes]], *, layout: int | None = None
) -> None:
    """Add tagged fields at their paths. Raises LocalProtocolError for a path that leads nowhere."""
    for path, tag, payload in tags:
        parts = [part for part in path.split("/") if part]
        owner, owner_layout = _resolve(message_layout(type(message), version, layout), message, parts, path)
        if not owner_layout.flexible:
            raise LocalProtocolError(f"{path or 'message'} cannot have tagged fields in version {version}")
        owner.unknown_tagged_fields = (*owner.unknown_tagged_fields, (tag, payload))


def _compile_writer(layout: StructLayout) -> Callable[[Any], Json]:  # Any: layout.cls
    source = Source()
    required = [absent for absent in layout.absent if not absent.ignorable]
    if required:
        source.line(f"check_absent({source.constant(tuple(required), 'R')}, m)")
    items = []
    for field in layout.fields:
        value = f"m.{field.attribute}"
        if field.type == "records":
            items.append(f"**({{'{field.json_name}': None}} if {value} is None else "
                         f"{{'{field.json_name}SizeInBytes': len({value})}})")  # fmt: skip
        else:
            items.append(f"'{field.json_name}': {_written(source, field, value)}")
    source.line(f"out = {{{', '.join(items)}}}")
    for field in layout.tagged:
        value = f"m.{field.attribute}"
        source.line(f"if {_is_set(source, field, value)}: out['{field.json_name}'] = {_written(source, field, value)}")
    source.line("return out")
    return source.compile("def write(m):", f"JSON of {layout.cls.__name__}", _NAMESPACE)


def _is_set(source: Source, field: WireField, value: str) -> str:
    """Return the condition for writing a tagged field."""
    if field.default is not ...:
        return f"{value} != {field.default!r}"
    if field.struct is None or field.is_array:
        return f"{value} is None or {value}"
    return f"{value} != {source.constant(field.struct.cls, 'C')}()"


def _written(source: Source, field: WireField, value: str) -> str:
    """Return the expression that converts the value to JSON."""
    item = "i" if field.is_array else value
    if field.struct is not None:
        expression = f"{source.constant(_compile_writer(field.struct), 'W')}({item})"
    else:
        function = {"uuid": "uuid_text", "bytes": "base64"}.get(field.type)
        expression = f"{function}({item})" if function else item
    if field.is_array:
        expression = f"[{expression} for i in {value}]" if expression != "i" else f"[*{value}]"
    if field.nullable and expression != value:
        expression = f"(None if {value} is None else {expression})"
    return expression


def _compile_reader(layout: StructLayout) -> Callable[[Json], Any]:  # Any: layout.cls
    source = Source()
    names = frozenset(name for field in layout.all_fields for name in _json_names(field))
    source.line(f"if not n.keys() <= {source.constant(names, 'N')}: raise KeyError('unknown field')")
    arguments = [f"{field.attribute}={_read(source, field, f'n[{field.json_name!r}]')}"
                 for field in layout.fields if field.type != "records"]  # fmt: skip
    source.line(f"m = {source.constant(layout.cls, 'C')}({', '.join(arguments)})")
    for field in layout.tagged:
        value = _read(source, field, f"n[{field.json_name!r}]")
        source.line(f"if {field.json_name!r} in n: m.{field.attribute} = {value}")
    source.line("return m")
    return source.compile("def read(n):", f"JSON of {layout.cls.__name__}", _NAMESPACE)


def _json_names(field: WireField) -> tuple[str, ...]:
    if field.type == "records":
        return field.json_name, f"{field.json_name}SizeInBytes"
    return (field.json_name,)


def _read(source: Source, field: WireField, value: str) -> str:
    """Return the expression that converts JSON to the field's value."""
    item = "i" if field.is_array else value
    if field.struct is not None:
        expression = f"{source.constant(_compile_reader(field.struct), 'R')}({item})"
    else:
        function = {"uuid": "parse_uuid", "bytes": "unbase64"}.get(field.type)
        expression = f"{function}({item})" if function else item
    if field.is_array:
        expression = f"[{expression} for i in {value}]" if expression != "i" else f"[*{value}]"
        expression = expression if field.struct is not None else f"tuple({expression})"
    if field.nullable and expression != value:
        expression = f"(None if {value} is None else {expression})"
    return expression


def _is_integer(value: Any) -> bool:  # Any: JSON
    return isinstance(value, int) and not isinstance(value, bool)


def _explain(layout: StructLayout, form: Any, path: str) -> None:  # Any: JSON
    """Raise LocalProtocolError for the first mismatch."""
    if not isinstance(form, dict):
        raise LocalProtocolError(f"{path or 'JSON form'} is {form!r}, not an object")
    known = {name: field for field in layout.all_fields for name in _json_names(field)}
    for name in form:
        if name not in known:
            raise LocalProtocolError(f"{path}/{name}: this version has no such field")
    for field in layout.fields:
        if field.type != "records" and field.json_name not in form:
            raise LocalProtocolError(f"{path}/{field.json_name} is missing, and mandatory in this version")
    for name, value in form.items():
        if known[name].type != "records":
            _explain_value(known[name], value, f"{path}/{name}")


def _explain_value(field: WireField, value: Any, path: str) -> None:  # Any: JSON
    if value is None:
        if not field.nullable:
            raise LocalProtocolError(f"{path} is null, and may not be in this version")
    elif field.is_array:
        if not isinstance(value, list):
            raise LocalProtocolError(f"{path} is {value!r}, not an array")
        for index, element in enumerate(value):
            _explain_element(field, element, f"{path}/{index}")
    else:
        _explain_element(field, value, path)


def _explain_element(field: WireField, value: Any, path: str) -> None:  # Any: JSON
    if field.struct is not None:
        _explain(field.struct, value, path)
        return
    if not _CHECKS.get(field.type, _is_integer)(value):
        raise LocalProtocolError(f"{path} is {value!r}, not a {field.type}")
    if field.type in ("uuid", "bytes"):
        try:
            parse_uuid(value) if field.type == "uuid" else b64decode(value, validate=True)
        except (ValueError, LocalProtocolError) as error:
            raise LocalProtocolError(f"{path}: {error}") from error


def _children(layout: StructLayout, value: WireStruct, path: str) -> Iterator[tuple[StructLayout, Any, str]]:
    """Yield each struct directly inside `value` with its layout and path."""
    for field in layout.all_fields:
        inner = getattr(value, field.attribute)
        if field.struct is None or inner is None:
            continue
        if field.is_array:
            for index, element in enumerate(inner):
                yield field.struct, element, f"{path}/{field.json_name}/{index}"
        else:
            yield field.struct, inner, f"{path}/{field.json_name}"


def _records(layout: StructLayout, value: WireStruct, path: str) -> Iterator[tuple[str, bytes]]:
    for field in layout.fields:
        data = getattr(value, field.attribute)
        if field.type == "records" and data is not None:
            yield f"{path}/{field.json_name}", data
    for inner_layout, inner, inner_path in _children(layout, value, path):
        yield from _records(inner_layout, inner, inner_path)


def _unknown_tags(layout: StructLayout, value: WireStruct, path: str) -> Iterator[tuple[str, int, bytes]]:
    for inner_layout, inner, inner_path in _children(layout, value, path):
        yield from _unknown_tags(inner_layout, inner, inner_path)
    if layout.flexible:
        for tag, payload in getattr(value, "unknown_tagged_fields", ()):
            yield path, tag, payload


def _resolve(
    layout: StructLayout,
    value: Any,
    parts: list[str],
    path: str,  # Any: a struct that may keep unknown tags
) -> tuple[Any, StructLayout]:
    """Follow a path of field names and indexes to a struct."""
    rest = list(parts)
    while rest:
        name = rest.pop(0)
        field = next((f for f in layout.all_fields if f.json_name == name and f.struct), None)
        if field is None or field.struct is None:
            raise LocalProtocolError(f"{path} leads nowhere: no struct {name!r}")
        value, layout = getattr(value, field.attribute), field.struct
        if field.is_array:
            index = rest.pop(0) if rest else ""
            if not index.isdigit() or value is None or int(index) >= len(value):
                raise LocalProtocolError(f"{path} leads nowhere: {name!r} has no element {index!r}")
            value = value[int(index)]
        if value is None:
            raise LocalProtocolError(f"{path} leads nowhere: {name!r} is null")
    return value, layout
