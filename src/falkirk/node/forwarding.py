"""A broker passes on to the active controller what that alone may answer (KIP-590).

The request goes as the client sent it, in an envelope; the answer comes back as the controller wrote it. While no
controller is known or it changes, requests wait, and are put again: nothing of them was decided. Source:
ForwardingManager.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from falkirk.node.broker_config_changes import BrokerConfigChanges
from falkirk.node.handlers.envelope import write_principal
from falkirk.node.peers import PeerFailure
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

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.node.active_controller_channel import ActiveControllerChannel
    from falkirk.node.broker_config_changes import SplitRequest
    from falkirk.node.client_connections import ClientConnections, OpenRequest
    from falkirk.node.node_state import NodeState
    from falkirk.protocol.schema import WireMessage

# request.timeout.ms: how long a request may wait for an answer of some controller.
FORWARD_TIMEOUT_MS: Final = 30_000
# Before a request that failed is put again.
RETRY_BACKOFF_MS: Final = 100


@dataclass(frozen=True, slots=True)
class _Forwarded:
    """`split`: the broker has answered a part of it itself, and only the rest is passed on."""

    request: OpenRequest
    deadline_ms: int
    split: SplitRequest | None = None


class Forwarding:
    """Requests under way to the active controller, one at a time, in their order."""

    def __init__(self, state: NodeState, channel: ActiveControllerChannel, clients: ClientConnections) -> None:
        self._state = state
        self._channel = channel
        self._clients = clients
        config = state.config
        self._config_changes = BrokerConfigChanges(config.release, config.node_id, config.properties)
        self._queue: deque[_Forwarded] = deque()
        self._is_pending = False
        self._retry_at_ms = state.now_ms

    def forward(self, request: OpenRequest) -> None:
        """Pass on a request; it is answered when the controller has, or when that takes too long.

        What this broker has to say of changed configs it says itself, and passes on the rest.
        """
        split = None
        if isinstance(request.message, AlterConfigsRequest | IncrementalAlterConfigsRequest):
            split = self._config_changes.split(request.message, self._state.image.configs)
            if split is not None and split.remaining is None:
                self._clients.answer(request, split.complete(None))
                return
        self._queue.append(_Forwarded(request, self._state.now_ms + FORWARD_TIMEOUT_MS, split))
        self.tick()

    def tick(self) -> None:
        """Put the next request, and give up those that waited too long."""
        now_ms = self._state.now_ms
        while self._queue and self._queue[0].deadline_ms <= now_ms:
            self._refuse(self._queue.popleft().request, ErrorCode.REQUEST_TIMED_OUT)
        if self._is_pending or not self._queue or now_ms < self._retry_at_ms:
            return
        forwarded = self._queue[0]
        if forwarded.request.client.is_closed:
            self._queue.popleft()
            self.tick()
            return

        def answered(answer: WireMessage | PeerFailure) -> None:
            self._answered(forwarded, answer)

        timeout_ms = forwarded.deadline_ms - now_ms
        self._is_pending = True
        if self._channel.send(_envelope(forwarded), timeout_ms=timeout_ms, done=answered):
            self._queue.popleft()
        else:
            self._is_pending = False

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` has something to do."""
        if not self._queue:
            return None
        deadline_ms = self._queue[0].deadline_ms
        if self._is_pending or not self._channel.is_open:
            return deadline_ms
        return min(deadline_ms, self._retry_at_ms)

    def _answered(self, forwarded: _Forwarded, answer: WireMessage | PeerFailure) -> None:
        self._is_pending = False
        if isinstance(answer, PeerFailure):
            if answer.is_unsupported_version:
                self._refuse(forwarded.request, ErrorCode.UNSUPPORTED_VERSION)
            else:
                # Put again in its place: whether the controller has decided nobody knows, as at a client's own retry.
                self._queue.appendleft(forwarded)
                self._retry_at_ms = self._state.now_ms + RETRY_BACKOFF_MS
        else:
            assert isinstance(answer, EnvelopeResponse), "the answer to what was asked"
            self._pass_back(forwarded, answer)
        self.tick()

    def _pass_back(self, forwarded: _Forwarded, answer: EnvelopeResponse) -> None:
        request = forwarded.request
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            # The controller knows no such version: the client is to negotiate anew.
            reason = "the active controller does not know this version of the request"
            self._clients.close_client(request.client, "connection-closed", reason)
            return
        if answer.error_code or answer.response_data is None:
            # What is wrong with the envelope is nothing that the client could know.
            self._refuse(request, ErrorCode.UNKNOWN_SERVER_ERROR)
            return
        version = response_header_version(request.context.api_key, request.context.api_version)
        try:
            _, start = codec.decode_prefix(ResponseHeader, version, answer.response_data)
            body = answer.response_data[start:]
            if forwarded.split is None:
                self._clients.answer_body(request, body)
                return
            cls = message_class(RESPONSES[request.context.api_key])
            told = codec.decode(cls, request.context.api_version, body)
        except RemoteProtocolError:
            self._refuse(request, ErrorCode.UNKNOWN_SERVER_ERROR)
            return
        self._clients.answer(request, forwarded.split.complete(told))

    def _refuse(self, request: OpenRequest, error_code: ErrorCode) -> None:
        assert request.message is not None, "only what was read is passed on"
        self._clients.answer(request, error_response(request.message, request.context.api_version, error_code))


def client_envelope(frame: bytes, context: RequestContext) -> EnvelopeRequest:
    """Put a request, header and body, into an envelope that names the client of `context`."""
    address = ip_address(context.client_host.partition("%")[0]).packed
    return EnvelopeRequest(frame, write_principal(context.principal), address)


def _envelope(forwarded: _Forwarded) -> EnvelopeRequest:
    received, context = forwarded.request.request, forwarded.request.context
    assert isinstance(received, RequestReceived), "only what was read is passed on"
    frame = received.frame
    if forwarded.split is not None:
        assert forwarded.split.remaining is not None, "there is something to pass on"
        frame = frame[: received.body_start] + codec.encode(forwarded.split.remaining, context.api_version)
    return client_envelope(frame, context)
