"""Observes all connections: the versions advertised, the requests and the responses."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from falkirk.protocol.codec import decode
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ApiVersionsResponse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SIZE: Final = struct.Struct(">i")
_REQUEST: Final = struct.Struct(">hhi")
_API_VERSIONS: Final = 18


class WireChecker(Protocol):
    """Called with each response as it leaves the server."""

    def negotiating(self, conversation: Conversation, correlation_id: int) -> None:
        """Handle an ApiVersions request as it leaves the client."""

    def negotiated(self, conversation: Conversation, response: ApiVersionsResponse, correlation_id: int) -> None:
        """Handle an ApiVersions response."""

    def answered(self, conversation: Conversation, api_key: int, version: int) -> None:
        """Handle any other response."""


@dataclass(slots=True, eq=False)
class Conversation:
    """One connection. `server`: host and listener.

    `ranges`: lowest and highest version by API key, None before the first ApiVersions response.
    """

    client: str
    server: tuple[str, str]
    ranges: dict[int, tuple[int, int]] | None = None
    requested: dict[int, tuple[int, int]] = field(default_factory=dict)
    buffers: tuple[bytearray, bytearray] = field(default_factory=lambda: (bytearray(), bytearray()))


class WireWatch:
    """Splits bytes into frames and matches responses to requests. Connections of repeated requests are ignored."""

    def __init__(self, checkers: Sequence[WireChecker]) -> None:
        self._checkers = checkers

    def sent(self, conversation: Conversation, data: bytes, *, is_request: bool) -> None:
        """Process bytes that one side writes."""
        for frame in _frames(conversation.buffers[is_request], data):
            if is_request:
                api_key, version, correlation_id = _REQUEST.unpack_from(frame)
                conversation.requested[correlation_id] = (api_key, version)
                if api_key == _API_VERSIONS:
                    for checker in self._checkers:
                        checker.negotiating(conversation, correlation_id)
            else:
                self._answered(conversation, frame)

    def _answered(self, conversation: Conversation, frame: bytes) -> None:
        (correlation_id,) = _SIZE.unpack_from(frame)
        requested = conversation.requested.pop(correlation_id, None)
        if requested is None:
            return
        api_key, version = requested
        if api_key != _API_VERSIONS:
            for checker in self._checkers:
                checker.answered(conversation, api_key, version)
            return
        # A server that does not support the version answers in version 0.
        is_refused = int.from_bytes(frame[_SIZE.size : _SIZE.size + 2]) == ErrorCode.UNSUPPORTED_VERSION
        response = decode(ApiVersionsResponse, 0 if is_refused else version, frame[_SIZE.size :])
        if not is_refused:
            conversation.ranges = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
            for checker in self._checkers:
                checker.negotiated(conversation, response, correlation_id)


def _frames(buffer: bytearray, data: bytes) -> Iterator[bytes]:
    buffer += data
    start = 0
    while len(buffer) - start >= _SIZE.size:
        end = start + _SIZE.size + _SIZE.unpack_from(buffer, start)[0]
        if end > len(buffer):
            break
        yield bytes(buffer[start + _SIZE.size : end])
        start = end
    del buffer[:start]
