"""Takes each request to who answers it: a handler, the active controller, the replica of the metadata log."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

from falkirk.metadata.controller.result import ControllerResult
from falkirk.node.active_controller import TooManyRecordsError
from falkirk.node.answering import Answering
from falkirk.node.client_connections import OpenRequest
from falkirk.node.handlers import api_versions
from falkirk.node.handlers.handler import (
    AnswerLater,
    AskRaft,
    EncodedResponse,
    InPieces,
    NoAnswer,
    NotController,
    Unwrapped,
)
from falkirk.node.handlers.routes import ROUTES
from falkirk.node.handlers.token_authorization import refused_before_forwarding
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import ApiVersionsRequest, EnvelopeResponse
from falkirk.protocol.schema import WireMessage

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.client_connections import ClientConnections
    from falkirk.node.effects import Effect
    from falkirk.node.forwarding import Forwarding
    from falkirk.node.handlers.handler import HandlerResult, LateAnswer, Route
    from falkirk.node.node_state import NodeState


class Dispatcher:
    """Answers requests, now or when what the answer rests on is committed."""

    def __init__(self, state: NodeState, clients: ClientConnections, effects: Callable[[Effect], None]) -> None:
        self._state = state
        self._clients = clients
        self._answering = Answering(clients, effects)
        self._answer = self._answering.answer
        # Requests that the replica has not answered yet.
        self._asked_raft: dict[int, OpenRequest] = {}
        self._next_token = 0
        # Set where the node is a broker.
        self.forwarding: Forwarding | None = None
        self._forwarded_apis = frozenset(key for key, api in state.config.release.apis.items() if api.forwardable)

    # --- From clients

    def handle(self, request: OpenRequest) -> None:
        """Answer a request, or see to it that it is answered later."""
        message = request.message
        if message is None:
            self._answer(request, api_versions.unsupported_version(request.client.ranges))
            return
        if isinstance(message, ApiVersionsRequest):
            request.client.take_versions_request(message)
        if self.forwarding is not None and self._is_forwarded(request):
            refused = refused_before_forwarding(request.context, message)
            if refused is not None:
                self._answer(request, refused)
                return
            self._state.has_work = True
            self.forwarding.forward(request)
            return
        route = ROUTES[request.context.api_key]
        view = self._state.view(request.client)
        if route.needs_controller and view.controller is None:
            self.not_controller(request)
            return
        if view.controller is not None:
            assert self._state.active is not None
            self._state.active.catch_up(view.now_ms)
        try:
            result = route.handler(view, request.context, message)
        except Exception:  # noqa: BLE001 - a fault of ours: told, answered, and nothing goes on with a broken state
            self._failed(request, route)
            return
        self._finish(request, route, result)

    def forget(self, connection_id: int) -> None:
        """Take note that nobody waits any more for what was asked on a connection."""
        gone = [token for token, request in self._asked_raft.items() if request.client.connection_id == connection_id]
        for token in gone:
            self._state.has_work = True
            del self._asked_raft[token]
            self._state.raft.connection_lost(token)

    # --- Answers that were waited for

    def answer_from_raft(self, token: int, message: WireMessage) -> None:
        """Pass on the replica's answer."""
        request = self._asked_raft.pop(token, None)
        if request is not None:
            self._answer(request, message)

    def answer_committed(self, high_watermark: int) -> None:
        """Send the answers of the controller that rest on what is committed now."""
        active = self._state.active
        if active is not None:
            for request, response in active.waiting.complete_up_to(high_watermark):
                self._answer(request, response)

    def answer_overdue(self) -> None:
        """Answer those who said how long they wait for a commit that has not come; it may still come."""
        active = self._state.active
        if active is not None:
            for request, _ in active.waiting.expire(self._state.now_ms):
                assert request.message is not None, "decided on by a handler"
                version = request.context.api_version
                self._answer(request, error_response(request.message, version, ErrorCode.REQUEST_TIMED_OUT, _OVERDUE))

    def not_controller(self, request: OpenRequest) -> None:
        """Answer that this is not, or no longer, the active controller; of a forwarded request the envelope says it."""
        if request.outer is not None:
            self._answer(request.outer, EnvelopeResponse(error_code=ErrorCode.NOT_CONTROLLER))
            return
        assert request.message is not None, "asked by a handler"
        self._answer(request, error_response(request.message, request.context.api_version, ErrorCode.NOT_CONTROLLER))

    # --- Inside

    def _is_forwarded(self, request: OpenRequest) -> bool:
        return request.context.api_key in self._forwarded_apis and not request.client.listener.is_controller

    def _finish(
        self,
        request: OpenRequest,
        route: Route,
        result: HandlerResult,
    ) -> None:
        # Records that come and go first: there are most of them.
        match result:
            case AnswerLater():
                self._start(request, route, result)
            case ControllerResult():
                self._append(request, route, result)
            case AskRaft():
                self._ask_raft(request)
            case Unwrapped():
                self._handle_inner(request, result)
            case EncodedResponse() if result.is_for_all:
                self._clients.answer_from_now_on(request, result.body)
            case EncodedResponse():
                self._clients.answer_body(request, result.body)
            case NoAnswer():
                self._pass_over(request, result)
            case WireMessage():
                self._answer(request, result)
            case _:
                assert_never(result)

    def _start(self, request: OpenRequest, route: Route, result: AnswerLater) -> None:
        try:
            result.start(partial(self._answer_late, request, route))
        except OSError:
            raise
        except Exception:  # noqa: BLE001 - as in `handle`
            self._failed(request, route)

    def _answer_late(self, request: OpenRequest, route: Route, answer: LateAnswer) -> None:
        match answer:
            case WireMessage():
                self._answer(request, answer)
            case ControllerResult():
                self._append(request, route, answer)
            case NotController():
                self.not_controller(request)
            case NoAnswer():
                self._pass_over(request, answer)
            case EncodedResponse():
                self._clients.answer_body(request, answer.body)
            case InPieces():
                self._answer(request, answer.message, is_in_pieces=True)
            case _:
                assert_never(answer)

    def _pass_over(self, request: OpenRequest, nothing: NoAnswer) -> None:
        if nothing.close:
            self._clients.close_client(
                request.client, "request-failed", "an error that no answer could tell", level="info"
            )
        else:
            self._clients.pass_over(request)

    def _append(self, request: OpenRequest, route: Route, result: ControllerResult[WireMessage]) -> None:
        active = self._state.active
        assert active is not None, "only the active controller decides"
        self._state.has_work = True
        try:
            end_offset = active.append(result, self._state.now_ms)
        except TooManyRecordsError as error:
            assert request.message is not None
            version = request.context.api_version
            self._answer(request, error_response(request.message, version, ErrorCode.UNKNOWN_SERVER_ERROR, str(error)))
            return
        except Exception:  # noqa: BLE001 - as in `handle`
            self._failed(request, route)
            return
        if end_offset <= self._state.applied_offset:
            self._answer(request, result.response)
        else:
            active.waiting.add(end_offset, (request, result.response), deadline_ms=result.answer_by_ms)

    def _ask_raft(self, request: OpenRequest) -> None:
        assert request.message is not None
        token = self._next_token
        self._next_token += 1
        self._asked_raft[token] = request
        self._state.has_work = True
        self._state.raft.receive_request(token, request.message, request.context.api_version, self._state.now_ms)

    def _handle_inner(self, outer: OpenRequest, unwrapped: Unwrapped) -> None:
        try:
            message = unwrapped.request.message()
        except RemoteProtocolError:
            # As Kafka: what cannot be read inside may be of a version of times to come.
            self._answer(outer, EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
            return
        self.handle(OpenRequest(outer.client, unwrapped.request, unwrapped.context, message, outer, outer.opened_ms))

    def _failed(self, request: OpenRequest, route: Route) -> None:
        """Tell of a fault of ours in a handler, inside an `except` block."""
        self._answering.failed(request)
        if route.needs_controller:
            self._state.resign(f"API {request.context.api_key} failed")


_OVERDUE: Final = "It is in the log of the active controller, and was not committed in time; it may still be."
