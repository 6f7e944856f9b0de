"""Fields of rows as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from falkirk.protocol.uuid import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterable

_OPAQUE: Final = "data"
"""A field of unknown content, whose 16 bytes need not be a uuid."""


def plain_fields(row: Any, names: Iterable[str]) -> dict[str, Any]:  # Any: a row in, JSON values out
    """Return fields of a row as JSON values: uuids in Kafka's text form, other bytes in hex."""
    return {name: _plain(name, getattr(row, name)) for name in names}


def _plain(name: str, value: Any) -> Any:  # Any: a field in, JSON value out
    if isinstance(value, int):
        return value
    if isinstance(value, bytes):
        return uuid_text(value) if len(value) == 16 and name != _OPAQUE else value.hex()
    if isinstance(value, (tuple, list)):
        # The items of a list are of one type; most are of broker ids.
        if value and isinstance(value[0], int):
            return list(value)
        return [_plain(name, item) for item in value]
    if isinstance(value, msgspec.Struct):
        return plain_fields(value, value.__struct_fields__)
    return value
