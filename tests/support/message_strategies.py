"""Strategies for messages: any value that a version can hold, in every layout, random or of uniform shape."""

from typing import Any

from hypothesis import strategies as st

from falkirk.protocol import messages
from falkirk.protocol.codec.layout import StructLayout, WireField, message_layout
from falkirk.protocol.schema import WireMessage

INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def cases() -> list[tuple[type[WireMessage], int, int | None]]:
    """List every (message, version, layout)."""
    out: list[tuple[type[WireMessage], int, int | None]] = []
    for name in messages.MODULES:
        cls = messages.message_class(name)
        info = cls.SCHEMA.info
        layouts = [None] if info.layouts == 1 else list(range(info.layouts))
        out += [(cls, version, layout) for version in info.versions for layout in layouts]
    return out


def message_strategy(cls: type[WireMessage], version: int, layout: int | None) -> st.SearchStrategy[Any]:
    return _struct(message_layout(cls, version, layout))


def _struct(layout: StructLayout) -> st.SearchStrategy[Any]:
    values = {field.attribute: _field(field) for field in layout.all_fields}
    if layout.flexible:
        known = {field.tag for field in layout.tagged}
        tags = st.integers(0, 2**31).filter(lambda tag: tag not in known)
        tagged = st.lists(st.tuples(tags, st.binary(max_size=5)), max_size=2, unique_by=lambda item: item[0])
        values["unknown_tagged_fields"] = tagged.map(lambda items: tuple(sorted(items)))
    return st.builds(layout.cls, **values)


def _field(field: WireField) -> st.SearchStrategy[Any]:
    value = _struct(field.struct) if field.struct else _primitive(field.type)
    if field.is_array:
        lists = st.lists(value, max_size=3) | st.lists(value, min_size=6, max_size=12)
        value = lists if field.struct else lists.map(tuple)
    if field.nullable or field.type == "records":
        value = st.none() | value if field.nullable else value
    return value


def _primitive(name: str) -> st.SearchStrategy[Any]:
    if name in INTEGER_BITS:
        bits = INTEGER_BITS[name]
        return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return {
        "bool": st.booleans(),
        "uint16": st.integers(0, 2**16 - 1),
        "uint32": st.integers(0, 2**32 - 1),
        "float64": st.floats(allow_nan=False),
        "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.just("x" * 200),
        "uuid": st.binary(min_size=16, max_size=16),
        "bytes": st.binary(max_size=20) | st.just(b"y" * 200),
        "records": st.binary(max_size=20),
    }[name]


def even_message(layout: StructLayout, outer: int, inner: int) -> Any:
    """Make a message whose arrays have `outer` elements, and the arrays within those `inner`; without tagged fields."""
    return layout.cls(**{field.attribute: _even_value(field, outer, inner) for field in layout.fields})


def _even_value(field: WireField, outer: int, inner: int) -> Any:
    count = outer if field.is_array else 1
    if field.struct:
        values = [even_message(field.struct, inner if field.is_array else outer, inner) for _ in range(count)]
        return values if field.is_array else values[0]
    value = {"bool": True, "float64": 1.5, "string": "s", "uuid": b"u" * 16, "bytes": b"b", "records": b"r"}.get(
        field.type, 7
    )
    return (value,) * count if field.is_array else value
