"""Answered requests as facts, for the request log that the fleet's pipeline reads.

Off by default, because requests and responses are written out as JSON. As in Kafka's request log a forwarded request is
one line, that of the request inside the envelope.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.node.connections.loggable import loggable
from falkirk.node.effects import Fact
from falkirk.protocol import codec
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import REQUESTS, RESPONSES, ApiVersionsRequest, EnvelopeRequest, message_class
from falkirk.storage.request_line import UNKNOWN, ClientInformation, RequestHeader, RequestLine

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.connections.client_connection import OpenRequest
    from falkirk.node.effects import Effect
    from falkirk.versions.release import Release

REQUEST_ANSWERED: Final = "request-answered"
"""The event of these facts; the field `line` has a RequestLine."""


# Where one word ends and the next begins.
_WORD: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class RequestFacts:
    """Emits a fact for each response. `now_ms` returns the time of the step, `release` is the node's."""

    def __init__(
        self, *, node_id: int, release: Release, now_ms: Callable[[], int], effects: Callable[[Effect], None]
    ) -> None:
        self._node_id = node_id
        self._release = release
        self._now_ms = now_ms
        self._effects = effects

    def answered(self, request: OpenRequest, body: bytes) -> None:
        """Emit the fact of a request whose response is sent now; `body` is the encoded response."""
        if not isinstance(request.message, EnvelopeRequest):
            self._effects(Fact("debug", REQUEST_ANSWERED, {"line": self._line(request, body)}))

    def _line(self, request: OpenRequest, body: bytes) -> RequestLine:
        context, client = request.context, request.client
        now_ms = self._now_ms()
        # Of an ApiVersions in an unsupported version nothing else is known.
        message = ApiVersionsRequest() if request.message is None else request.message
        version = 0 if request.message is None else context.api_version
        duration_ms = float(now_ms - request.opened_ms)
        return RequestLine(
            timestamp=now_ms,
            node_id=self._node_id,
            is_forwarded=request.outer is not None,
            request_header=RequestHeader(
                request_api_key=context.api_key,
                request_api_version=context.api_version,
                correlation_id=request.request.correlation_id,
                client_id=context.client_id,
                request_api_key_name=_api_name(context.api_key),
            ),
            request=_raw(loggable(message, version, self._release)),
            response=self._response(context.api_key, request.request.response_version, body),
            connection=f"{client.listener.endpoint}-{context.client_host}:0-{client.connection_id}",
            total_time_ms=duration_ms,
            local_time_ms=duration_ms,
            security_protocol=context.security_protocol,
            principal=str(context.principal),
            listener=context.listener,
            client_information=ClientInformation(context.software_name or UNKNOWN, context.software_version or UNKNOWN),
        )

    def _response(self, api_key: int, version: int, body: bytes) -> msgspec.Raw:
        try:
            response = codec.decode(message_class(RESPONSES[api_key]), version, body)
        except RemoteProtocolError:
            # The controller encoded it, and the client gets these bytes: a broken body is for the client to report.
            return _raw({})
        return _raw(loggable(response, version, self._release))


def _api_name(api_key: int) -> str:
    """Return the name as Kafka's request log writes it: API_VERSIONS."""
    return _WORD.sub("_", REQUESTS[api_key].removesuffix("Request")).upper()


def _raw(json: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(json))
