"""Sends responses, large ones over many steps; failures of our own are logged with their traceback."""

from __future__ import annotations

from traceback import format_exc
from typing import TYPE_CHECKING

import msgspec

from falkirk.node.connections.request_times import is_exempt
from falkirk.node.effects import Fact
from falkirk.protocol import codec
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.errors import LocalProtocolError
from falkirk.protocol.mapped_array import has_mapped_array
from falkirk.protocol.throttle_time import with_throttle_time

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.node.connections.client_connection import OpenRequest
    from falkirk.node.connections.client_connections import ClientConnections
    from falkirk.node.connections.client_quotas import ClientQuotas
    from falkirk.node.effects import Effect
    from falkirk.node.sliced_work import SlicedWorks, Slices
    from falkirk.protocol.schema import WireMessage


class ResponseSender:
    """Sends responses on accepted connections.

    `works`: makes the elements of a mapped array slice by slice where the request is large; None: all at once.
    `quotas`: may throttle a client for the time that its requests take; None: those of the sender are not counted.
    """

    def __init__(
        self,
        clients: ClientConnections,
        effects: Callable[[Effect], None],
        *,
        now_ms: Callable[[], int],
        works: SlicedWorks | None = None,
        quotas: ClientQuotas | None = None,
    ) -> None:
        self._clients = clients
        self._effects = effects
        self._now_ms = now_ms
        self._works = works
        self._quotas = quotas

    def send(self, request: OpenRequest, message: WireMessage, *, is_in_pieces: bool = False) -> None:
        """Send a response, or close the connection if the version cannot hold the message.

        A response that throttles the client holds its next requests. An element that is made while the response is
        encoded may fail, as the handler itself.
        """
        throttle_ms = getattr(message, "throttle_time_ms", 0)
        # What is sent in pieces is a Fetch's, whose handler has decided on that.
        if not is_in_pieces and (request_ms := self._request_throttle_ms(request)) > throttle_ms:
            throttle_ms = request_ms
            if hasattr(message, "throttle_time_ms"):
                message = msgspec.structs.replace(message, throttle_time_ms=throttle_ms)
        self.throttle(request, throttle_ms)
        if self._works is not None and (request.is_sliced or (request.is_large and has_mapped_array(message))):
            slices = self._send_in_slices(request, message)
            if self._quotas is not None and self._quotas.limits_requests:
                slices = self._quotas.request_times.measured_slices(request, slices)
            self._works.begin("large response", slices)
            return
        try:
            self._write(request, message, is_in_pieces=is_in_pieces)
        except Exception:  # noqa: BLE001 - as in the dispatcher: log it, and answer
            self.send_failure(request)

    def send_encoded(self, request: OpenRequest, pieces: Sequence[bytes]) -> None:
        """Send the body of a response that is encoded already, all of it in one piece or in many."""
        throttle_ms = self._request_throttle_ms(request)
        if throttle_ms:
            context, (start, *rest) = request.context, pieces
            pieces = [with_throttle_time(context.api_key, context.api_version, start, throttle_ms), *rest]
            self.throttle(request, throttle_ms)
        if len(pieces) == 1:
            self._clients.answer_body(request, pieces[0])
        else:
            self._clients.answer_pieces(request, pieces)

    def _request_throttle_ms(self, request: OpenRequest) -> int:
        quotas = self._quotas
        if quotas is None or not quotas.limits_requests or is_exempt(request):
            return 0
        return quotas.request_throttle_ms(request.context)

    def _send_in_slices(self, request: OpenRequest, message: WireMessage) -> Slices:
        slices = codec.encode_in_slices(message, request.request.response_version)
        while not request.client.is_closed:
            try:
                next(slices)
            except StopIteration as end:
                self._clients.answer_encoded(request, end.value)
                return
            except LocalProtocolError:
                self._cannot_be_written(request, message)
                return
            except Exception:  # noqa: BLE001 - as in `send`
                self.send_failure(request)
                return
            yield

    def _write(self, request: OpenRequest, message: WireMessage, *, is_in_pieces: bool = False) -> None:
        try:
            self._clients.answer(request, message, is_in_pieces=is_in_pieces)
        except LocalProtocolError:
            self._cannot_be_written(request, message)

    def _cannot_be_written(self, request: OpenRequest, message: WireMessage) -> None:
        """Close the connection; call it inside an `except` block."""
        name, version = type(message).__name__, request.context.api_version
        fields = {"response": name, "api_version": version, "traceback": format_exc()}
        self._effects(Fact("error", "response-cannot-be-written", fields))
        self._clients.close_client(request.client, "connection-closed", f"no {name} v{version} can be written")

    def throttle(self, request: OpenRequest, throttle_ms: int) -> None:
        """Hold the next requests of a client; for those in envelopes its own broker does."""
        if throttle_ms and request.outer is None:
            self._clients.throttle(request.client, self._now_ms() + throttle_ms)

    def send_failure(self, request: OpenRequest) -> None:
        """Answer UNKNOWN_SERVER_ERROR for a handler that raised; call it inside an `except` block."""
        context = request.context
        fields = {"api_key": context.api_key, "api_version": context.api_version, "traceback": format_exc()}
        self._effects(Fact("error", "handler-failed", fields))
        assert request.message is not None, "a handler had it"
        self._write(request, error_response(request.message, context.api_version, ErrorCode.UNKNOWN_SERVER_ERROR))
