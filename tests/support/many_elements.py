"""Requests whose arrays have as many of the smallest elements as a number of bytes can hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import count, islice, product, repeat
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Any

from falkirk.protocol.codec import encode
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.messages import REQUESTS, message_class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.protocol.codec.layout import StructLayout, WireField

Path = tuple["WireField", ...]


def array_paths(key: int, version: int) -> Iterator[Path]:
    """Yield the fields that lead to each array of a request; the last one is the array."""
    return _paths(message_layout(message_class(REQUESTS[key]), version, None))


def full_request(key: int, version: int, path: Path, *, size: int, is_distinct: bool) -> Any:
    """Return a request of about `size` bytes whose array at `path` has as many elements as fit."""
    layout = message_layout(message_class(REQUESTS[key]), version, None)
    few, more = (len(encode(_filled(layout, path, n, is_distinct=is_distinct), version)) for n in (100, 200))
    # Names that differ become longer the more there are.
    element_bytes = (more - few) / 100 + (1.5 if is_distinct else 0)
    request = _filled(layout, path, int(size / element_bytes), is_distinct=is_distinct)
    if hasattr(request, "acks"):
        request.acks = -1
    return request


def request_of(key: int, version: int, path: Path, number: int) -> Any:
    """Return a request whose array at `path` has so many distinct elements."""
    request = _filled(message_layout(message_class(REQUESTS[key]), version, None), path, number, is_distinct=True)
    if hasattr(request, "acks"):
        request.acks = -1
    return request


def _paths(layout: StructLayout, before: Path = ()) -> Iterator[Path]:
    for field in layout.fields:
        if field.is_array:
            yield (*before, field)
        if field.struct is not None:
            yield from _paths(field.struct, (*before, field))


def _filled(layout: StructLayout, path: Path, number: int, *, is_distinct: bool) -> Any:
    struct = _smallest(layout, "t")
    field = path[0]
    if len(path) > 1:
        assert field.struct is not None
        inner = _filled(field.struct, path[1:], number, is_distinct=is_distinct)
        setattr(struct, field.attribute, [inner] if field.is_array else inner)
        return struct
    names = islice(_names(), number) if is_distinct else repeat("t", number)
    if field.struct is not None:
        elements: Any = [_smallest(field.struct, name) for name in names]
    else:
        elements = tuple(_value(replace(field, is_array=False), name) for name in names)
    setattr(struct, field.attribute, elements)
    return struct


def _smallest(layout: StructLayout, name: str) -> Any:
    struct = layout.cls()
    for field in layout.fields:
        if not field.is_array and field.type in {"string", "uuid"}:
            setattr(struct, field.attribute, _value(field, name))
    return struct


def _value(field: WireField, name: str) -> Any:
    values = {"string": name, "uuid": name.encode().rjust(16, b"x"), "bool": False}
    return values.get(field.type, sum(name.encode()) % 100)


def _names() -> Iterator[str]:
    for length in count(1):
        yield from map("".join, product(ascii_letters + digits, repeat=length))
