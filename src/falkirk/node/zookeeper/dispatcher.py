"""Takes each request to its handler."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, assert_never

from falkirk.node.answering import Answering
from falkirk.node.handlers.api_versions import unsupported_version
from falkirk.node.handlers.handler import AnswerLater, EncodedResponse
from falkirk.node.zookeeper.handlers.routes import ROUTES
from falkirk.protocol.messages import ApiVersionsRequest
from falkirk.protocol.schema import WireMessage

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.client_connections import ClientConnections, OpenRequest
    from falkirk.node.effects import Effect
    from falkirk.node.zookeeper.handlers.zookeeper_view import ZooKeeperView


class Dispatcher:
    """Answers requests, now or when the controller has decided; `view` gives what handlers may look at now."""

    def __init__(
        self, view: Callable[[], ZooKeeperView], clients: ClientConnections, effects: Callable[[Effect], None]
    ) -> None:
        self._view = view
        self._clients = clients
        self._answering = Answering(clients, effects)

    def handle(self, request: OpenRequest) -> None:
        """Answer a request, or see to it that it is answered later."""
        message = request.message
        if message is None:
            self._answering.answer(request, unsupported_version(request.client.ranges))
            return
        if isinstance(message, ApiVersionsRequest):
            request.client.take_versions_request(message)
        try:
            result = ROUTES[request.context.api_key].handler(self._view(), request.context, message)
            if isinstance(result, AnswerLater):
                result.start(partial(self._answering.answer, request))
                return
        except Exception:  # noqa: BLE001 - a fault of ours: told, answered, and no reason to end
            self._answering.failed(request)
            return
        match result:
            case EncodedResponse() if result.is_for_all:
                self._clients.answer_from_now_on(request, result.body)
            case EncodedResponse():
                self._clients.answer_body(request, result.body)
            case WireMessage():
                self._answering.answer(request, result)
            case _:
                assert_never(result)
