"""Forwards requests that only the active controller may answer (KIP-590).

A request goes as the client sent it, in an envelope; the response comes back as the controller encoded it. While no
controller is known, or it changes, requests wait and are sent again. Source: ForwardingManager.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.node.broker.broker_config_changes import BrokerConfigChanges
from falkirk.node.connections.envelopes import client_envelope
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.node.connections.response_sender import ResponseSender
from falkirk.protocol import codec
from falkirk.protocol.connection import RequestReceived
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.headers import response_header_version
from falkirk.protocol.messages import (
    RESPONSES,
    AlterConfigsRequest,
    EnvelopeRequest,
    EnvelopeResponse,
    IncrementalAlterConfigsRequest,
    ResponseHeader,
    message_class,
)
from falkirk.protocol.throttle_time import throttle_time_ms

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.broker.broker_config_changes import SplitRequest
    from falkirk.node.connections.active_controller_channel import ActiveControllerChannel
    from falkirk.node.connections.client_connection import OpenRequest
    from falkirk.node.connections.client_connections import ClientConnections
    from falkirk.node.effects import Effect
    from falkirk.node.sliced_work import Slices
    from falkirk.node.step import CommittedMetadata, Step
    from falkirk.protocol.schema import WireMessage

# request.timeout.ms: the limit for a response, of whichever controller.
FORWARD_TIMEOUT_MS: Final = 30_000
# Before a failed request is sent again.
RETRY_BACKOFF_MS: Final = 100


@dataclass(frozen=True, slots=True)
class _Forwarded:
    """`split`: the broker has refused a part of the request itself, and forwards only the rest."""

    request: "OpenRequest"
    deadline_ms: int
    split: "SplitRequest | None" = None


class Forwarding:
    """Requests to the active controller, one at a time, in order."""

    def __init__(
        self,
        step: Step,
        metadata: CommittedMetadata,
        channel: ActiveControllerChannel,
        clients: ClientConnections,
        effects: Callable[[Effect], None],
    ) -> None:
        self._step = step
        self._metadata = metadata
        self._channel = channel
        self._clients = clients
        self._responses = ResponseSender(clients, effects, now_ms=lambda: step.now_ms, works=step.works)
        config = step.config
        self._config_changes = BrokerConfigChanges(config.release, config.node_id, config.properties)
        self._queue: deque[_Forwarded] = deque()
        self._is_pending = False
        self._retry_at_ms = step.now_ms

    def forward(self, request: OpenRequest) -> None:
        """Forward a request; it is answered when the controller has responded, or on a timeout.

        Changes of broker configs that this broker refuses it answers itself, and forwards the rest.
        """
        if isinstance(request.message, AlterConfigsRequest | IncrementalAlterConfigsRequest):
            request.client.exclusive = request
            self._step.works.begin("large request", self._forward_config_changes(request, request.message))
        else:
            self._add(request)

    def tick(self) -> None:
        """Send the next request, and fail those that have timed out."""
        now_ms = self._step.now_ms
        while self._queue and self._queue[0].deadline_ms <= now_ms:
            self._refuse(self._queue.popleft().request, ErrorCode.REQUEST_TIMED_OUT)
        if self._is_pending or not self._queue or now_ms < self._retry_at_ms:
            return
        while self._queue and self._queue[0].request.client.is_closed:
            self._queue.popleft()
        if not self._queue:
            return
        forwarded = self._queue.popleft()

        def answered(answer: WireMessage | RequestFailure) -> None:
            self._answered(forwarded, answer)

        timeout_ms = forwarded.deadline_ms - now_ms
        self._is_pending = True
        if not self._channel.send(_envelope(forwarded), timeout_ms=timeout_ms, done=answered):
            self._is_pending = False
            self._queue.appendleft(forwarded)

    def _end_exclusive(self, request: OpenRequest) -> None:
        if request.client.end_exclusive(request):
            self._step.wake()

    def _forward_config_changes(
        self, request: OpenRequest, message: AlterConfigsRequest | IncrementalAlterConfigsRequest
    ) -> Slices:
        try:
            split = yield from self._config_changes.split(message, self._metadata.image.configs)
        except Exception:  # noqa: BLE001 - as in the dispatcher: log it, and answer
            self._end_exclusive(request)
            self._responses.send_failure(request)
            return
        self._end_exclusive(request)
        if split is not None and split.remaining is None:
            self._responses.send(request, split.complete(None))
        else:
            self._add(request, split)

    def _add(self, request: OpenRequest, split: SplitRequest | None = None) -> None:
        self._queue.append(_Forwarded(request, self._step.now_ms + FORWARD_TIMEOUT_MS, split))
        self.tick()

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        if not self._queue:
            return None
        deadline_ms = self._queue[0].deadline_ms
        if self._is_pending or not self._channel.is_open:
            return deadline_ms
        return min(deadline_ms, self._retry_at_ms)

    def _answered(self, forwarded: _Forwarded, answer: WireMessage | RequestFailure) -> None:
        self._is_pending = False
        if isinstance(answer, RequestFailure):
            if answer.is_unsupported_version:
                self._refuse(forwarded.request, ErrorCode.UNSUPPORTED_VERSION)
            else:
                # Sent again in its place, as a client would: whether the controller has decided is unknown.
                self._queue.appendleft(forwarded)
                self._retry_at_ms = self._step.now_ms + RETRY_BACKOFF_MS
        else:
            assert isinstance(answer, EnvelopeResponse), "a response to this request"
            self._pass_back(forwarded, answer)
        self.tick()

    def _pass_back(self, forwarded: _Forwarded, answer: EnvelopeResponse) -> None:
        request = forwarded.request
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            # The controller does not know the version: the client must negotiate again.
            reason = "the active controller does not know this version of the request"
            self._clients.close_client(request.client, "connection-closed", reason)
            return
        if answer.error_code or answer.response_data is None:
            # The client cannot act on an error of the envelope.
            self._refuse(request, ErrorCode.UNKNOWN_SERVER_ERROR)
            return
        version = response_header_version(request.context.api_key, request.context.api_version)
        try:
            _, start = codec.decode_prefix(ResponseHeader, version, answer.response_data)
            body = answer.response_data[start:]
            response = None
            if forwarded.split is not None:
                cls = message_class(RESPONSES[request.context.api_key])
                response = codec.decode(cls, request.context.api_version, body)
            # The controller says for how long the client is throttled, and this broker does it.
            throttle_ms = throttle_time_ms(request.context.api_key, request.context.api_version, body)
        except RemoteProtocolError:
            self._refuse(request, ErrorCode.UNKNOWN_SERVER_ERROR)
            return
        if throttle_ms:
            self._clients.throttle(request.client, self._step.now_ms + throttle_ms)
        if forwarded.split is None:
            self._clients.answer_body(request, body)
        else:
            assert response is not None, "decoded above"
            self._responses.send(request, forwarded.split.complete(response))

    def _refuse(self, request: OpenRequest, error_code: ErrorCode) -> None:
        assert request.message is not None, "only decoded requests are forwarded"
        self._responses.send(request, error_response(request.message, request.context.api_version, error_code))


def _envelope(forwarded: _Forwarded) -> EnvelopeRequest:
    received, context = forwarded.request.request, forwarded.request.context
    assert isinstance(received, RequestReceived), "only decoded requests are forwarded"
    frame = received.frame
    if forwarded.split is not None:
        assert forwarded.split.remaining is not None, "something is left to forward"
        frame = frame[: received.body_start] + codec.encode(forwarded.split.remaining, context.api_version)
    return client_envelope(frame, context)
