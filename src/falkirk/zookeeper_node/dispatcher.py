"""Dispatches requests to handlers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, assert_never

from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.node.connections.response_sender import ResponseSender
from falkirk.node.handlers.api_versions import unsupported_version
from falkirk.node.handlers.parts.handler_result import (
    AnswerInSlices,
    AnswerLater,
    AnswerLaterInSlices,
    AskRaft,
    EncodedResponse,
    InSlices,
    NoAnswer,
    Unwrapped,
)
from falkirk.protocol.messages import ApiVersionsRequest
from falkirk.protocol.schema import WireMessage
from falkirk.zookeeper_node.handlers.routes import ROUTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.connections.client_connection import OpenRequest
    from falkirk.node.connections.client_connections import ClientConnections
    from falkirk.node.effects import Effect
    from falkirk.zookeeper_node.handlers.zookeeper_view import ZooKeeperView


class Dispatcher:
    """Answers requests, now or when the controller has decided; `view` returns the current view for handlers."""

    def __init__(
        self,
        view: Callable[[], ZooKeeperView],
        clients: ClientConnections,
        effects: Callable[[Effect], None],
        *,
        now_ms: Callable[[], int],
    ) -> None:
        self._view = view
        self._clients = clients
        self._responses = ResponseSender(clients, effects, now_ms=now_ms)

    def handle(self, request: OpenRequest) -> None:
        """Answer a request, or start what answers it later."""
        message = request.message
        if message is None:
            self._responses.send(request, unsupported_version(request.client.ranges))
            return
        if isinstance(message, ApiVersionsRequest):
            request.client.record_versions_request(message)
        try:
            route, view = ROUTES[request.context.api_key], self._view()
            assert isinstance(view, route.needs), f"{route.handler} needs {route.needs.__name__}"
            assert isinstance(message, route.request), f"{type(message).__name__} is not for {route.handler}"
            result = route.handler(view, request.context, message)
            if isinstance(result, AnswerLater):
                result.start(partial(self._responses.send, request))
                return
        except Exception:  # noqa: BLE001 - our own fault: log it, and answer
            self._responses.send_failure(request)
            return
        match result:
            case EncodedResponse() if result.is_for_all:
                self._clients.answer_and_remember(request, result.body)
            case EncodedResponse():
                self._clients.answer_body(request, result.body)
            case WireMessage():
                self._responses.send(request, result)
            case AnswerInSlices() | AnswerLaterInSlices() | AskRaft() | ControllerResult() | InSlices() | NoAnswer():
                raise AssertionError(f"{type(result).__name__} is for nodes of KRaft alone")
            case Unwrapped():
                raise AssertionError(f"{type(result).__name__} is for nodes of KRaft alone")
            case _:
                assert_never(result)
