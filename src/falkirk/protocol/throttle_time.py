"""The throttle time of a response that is encoded already."""

from __future__ import annotations

from functools import cache
from struct import Struct
from typing import Final

from falkirk.protocol import codec
from falkirk.protocol.messages import RESPONSES, message_class

_ATTRIBUTE: Final = "throttle_time_ms"
_INT32: Final = Struct(">i")


@cache
def begins_with_throttle_time(api_key: int, version: int) -> bool:
    """Return whether the body of a response begins with its throttle time, as most do."""
    fields = message_class(RESPONSES[api_key]).SCHEMA.fields
    first = next((field for field in fields if field.tag is None and version in field.versions), None)
    return first is not None and first.attribute == _ATTRIBUTE


@cache
def has_throttle_time(api_key: int, version: int) -> bool:
    """Return whether the version of a response has a throttle time at all."""
    fields = message_class(RESPONSES[api_key]).SCHEMA.fields
    return any(field.attribute == _ATTRIBUTE and version in field.versions for field in fields)


def throttle_time_ms(api_key: int, version: int, body: bytes) -> int:
    """Return the throttle time of a body; 0 if it has none. Raises RemoteProtocolError."""
    if not has_throttle_time(api_key, version):
        return 0
    if len(body) >= _INT32.size and begins_with_throttle_time(api_key, version):
        (value,) = _INT32.unpack_from(body)
        return int(value)
    return int(getattr(codec.decode(message_class(RESPONSES[api_key]), version, body), _ATTRIBUTE))


def with_throttle_time(api_key: int, version: int, start: bytes, throttle_ms: int) -> bytes:
    """Return a body with another throttle time, if the version has one; `start` is all of it unless that is first."""
    if not has_throttle_time(api_key, version):
        return start
    if begins_with_throttle_time(api_key, version):
        return _INT32.pack(throttle_ms) + start[_INT32.size :]
    response = codec.decode(message_class(RESPONSES[api_key]), version, start)
    setattr(response, _ATTRIBUTE, throttle_ms)
    return codec.encode(response, version)
