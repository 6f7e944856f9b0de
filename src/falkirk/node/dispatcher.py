"""Dispatches requests to handlers, the active controller, or the replica of the metadata log."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, assert_never

from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.node.connections.client_connection import SLICED_REQUEST_BYTES, OpenRequest
from falkirk.node.connections.holds import Hold
from falkirk.node.connections.response_sender import ResponseSender
from falkirk.node.controller.active_controller import TooManyRecordsError
from falkirk.node.handlers import api_versions, metadata
from falkirk.node.handlers.parts.handler_result import (
    AnswerInSlices,
    AnswerLater,
    AnswerLaterInSlices,
    AskRaft,
    EncodedPieces,
    EncodedResponse,
    Failed,
    InPieces,
    InSlices,
    NoAnswer,
    NotController,
    Unwrapped,
)
from falkirk.node.handlers.parts.token_authorization import refused_before_forwarding
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import ApiVersionsRequest, EnvelopeResponse
from falkirk.protocol.schema import WireMessage
from falkirk.slices import exhaust

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.node.broker.forwarding import Forwarding
    from falkirk.node.connections.client_connections import ClientConnections
    from falkirk.node.controller.controllership import Controllership
    from falkirk.node.effects import Effect
    from falkirk.node.handlers.parts.handler_result import HandlerResult, LateAnswer
    from falkirk.node.handlers.routes import AnyRoute
    from falkirk.node.sliced_work import Slices
    from falkirk.node.step import CommittedMetadata, Step
    from falkirk.node.views import Views
    from falkirk.raft.replica import RaftReplica

# Those in envelopes too.
_CONTROLLER_APIS: Final = frozenset(key for key, route in ROUTES.items() if route.needs_controller) | {58}
TOO_MANY_COMMITS: Final = Hold("queued.max.requests wait for a commit", _CONTROLLER_APIS)
OPERATION: Final = Hold("the controller decides on another request", _CONTROLLER_APIS)
_OVERDUE: Final = "It is in the log of the active controller, and was not committed in time; it may still be."


class Dispatcher:
    """Answers requests, now or when the records that the response depends on are committed."""

    def __init__(
        self,
        step: Step,
        raft: RaftReplica,
        applied: CommittedMetadata,
        controllership: Controllership,
        *,
        views: Views,
        clients: ClientConnections,
        effects: Callable[[Effect], None],
    ) -> None:
        self._step = step
        self._raft = raft
        self._applied = applied
        self._controllership = controllership
        self._views = views
        self._clients = clients
        self._quotas = quotas = views.quotas
        self._responses = ResponseSender(clients, effects, now_ms=lambda: step.now_ms, works=step.works, quotas=quotas)
        self._answer = self._responses.send
        # Requests to the replica, by token.
        self._raft_requests: dict[int, OpenRequest] = {}
        self._next_token = 0
        # Set on brokers.
        self.forwarding: Forwarding | None = None
        self._forwarded_apis = frozenset(key for key, api in step.config.release.apis.items() if api.forwardable)

    # --- From clients

    def handle(self, request: OpenRequest) -> None:
        """Answer a request, or keep it until its response is known."""
        self._step.api_keys.append(request.context.api_key)
        message = request.message
        if message is None:
            self._answer(request, api_versions.unsupported_version(request.client.ranges))
            return
        if isinstance(message, ApiVersionsRequest):
            request.client.record_versions_request(message)
        if self.forwarding is not None and self._is_forwarded(request):
            refused = refused_before_forwarding(request.context, message)
            if refused is not None:
                self._answer(request, refused)
                return
            self._step.wake()
            self.forwarding.forward(request)
        elif self._quotas.limits_requests:
            with self._quotas.request_times.measured(request):
                self._handle_here(request, message)
        else:
            self._handle_here(request, message)

    def _handle_here(self, request: OpenRequest, message: WireMessage) -> None:
        route = ROUTES[request.context.api_key]
        view = self._views.of(request.client)
        has_view = isinstance(view, route.needs)
        if not has_view and route.needs_controller:
            self.not_controller(request)
            return
        if isinstance(view, ControllerView):
            active = self._controllership.active
            assert active is not None, "the view has its controller"
            active.catch_up(view.now_ms)
        try:
            # The one place where a route gets what it declares.
            assert has_view, f"{route.handler} needs {route.needs.__name__}"
            assert isinstance(message, route.request), f"{type(message).__name__} is not for {route.handler}"
            result = route.handler(view, request.context, message)
        except Exception:  # noqa: BLE001 - our own fault: log it, answer, and resign if state may be broken
            self._failed(request, route)
            return
        self._finish(request, route, result)

    def forget(self, connection_id: int) -> None:
        """Drop requests to raft of a connection that is closed."""
        gone = [
            token for token, request in self._raft_requests.items() if request.client.connection_id == connection_id
        ]
        for token in gone:
            self._step.wake()
            del self._raft_requests[token]
            self._raft.connection_lost(token)

    def forget_answers(self, delta: MetadataDelta) -> None:
        """Drop remembered responses that a new image may change."""
        if delta.client_quotas is not None:
            self._clients.forget_answers()
        # A broker reports the image's own offset as the features' epoch.
        if delta.features is not None or self.forwarding is not None:
            self._clients.forget_answers(api_versions.API_KEY)
        if delta.topics is not None or delta.cluster is not None:
            self._clients.forget_answers(metadata.API_KEY)

    # --- Answers that were waited for

    def answer_from_raft(self, token: int, message: WireMessage) -> None:
        """Send the replica's response to the request of a token."""
        request = self._raft_requests.pop(token, None)
        if request is not None:
            self._answer(request, message)

    def answer_committed(self, applied_offset: int) -> None:
        """Send the controller's responses whose records are committed and in the image now."""
        active = self._controllership.active
        if active is not None:
            for request, response in active.waiting.complete_up_to(applied_offset):
                self._answer(request, response)

    def answer_overdue(self) -> None:
        """Answer REQUEST_TIMED_OUT where the commit has not come in time; the records may still be committed."""
        active = self._controllership.active
        if active is not None:
            for request, _ in active.waiting.expire(self._step.now_ms):
                assert request.message is not None, "decided on by a handler"
                version = request.context.api_version
                self._answer(request, error_response(request.message, version, ErrorCode.REQUEST_TIMED_OUT, _OVERDUE))

    def not_controller(self, request: OpenRequest) -> None:
        """Answer NOT_CONTROLLER; the response to a forwarded request says so in the envelope."""
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
        route: AnyRoute,
        result: HandlerResult,
    ) -> None:
        # The most frequent results, of Produce and Fetch, come first.
        match result:
            case AnswerLater() | AnswerLaterInSlices():
                self._start(request, route, result)
            case ControllerResult():
                self._append(request, route, result)
            case InSlices():
                self._step.works.begin(
                    "request to the controller", self._measured(request, self._operation(request, route, result))
                )
            case AnswerInSlices():
                self._step.works.begin(
                    "large response", self._measured(request, self._in_slices(request, route, result))
                )
            case AskRaft():
                self._ask_raft(request)
            case Unwrapped():
                self._handle_inner(request, result)
            case EncodedResponse():
                self._answer_encoded(request, result, may_keep=True)
            case NoAnswer():
                self._complete_without_response(request, result)
            case WireMessage():
                self._answer(request, result)
            case _:
                assert_never(result)

    def _measured(self, request: OpenRequest, slices: Slices) -> Slices:
        quotas = self._quotas
        return quotas.request_times.measured_slices(request, slices) if quotas.limits_requests else slices

    def _in_slices(self, request: OpenRequest, route: AnyRoute, answer: AnswerInSlices) -> Slices:
        """Make and send a response, unless the client has gone meanwhile."""
        slices, image = answer.slices, self._applied.image
        while True:
            try:
                next(slices)
            except StopIteration as end:
                response: EncodedResponse | EncodedPieces | WireMessage = end.value
                break
            except Exception:  # noqa: BLE001 - as in `handle`
                self._failed(request, route)
                return
            yield
            if request.client.is_closed:
                slices.close()
                return
            request.is_sliced = True
        if isinstance(response, WireMessage):
            self._answer(request, response)
        elif isinstance(response, EncodedPieces):
            self._responses.send_encoded(request, response.pieces)
        else:
            now = self._applied.image
            is_current = now.topics is image.topics and now.cluster is image.cluster
            self._answer_encoded(request, response, may_keep=is_current)

    def _answer_encoded(self, request: OpenRequest, response: EncodedResponse, *, may_keep: bool) -> None:
        # Known answers take no time that could be measured.
        if may_keep and response.is_for_all and not self._quotas.limits_requests:
            self._clients.answer_and_remember(request, response.body)
        else:
            self._responses.send_encoded(request, (response.body,))

    def _start(self, request: OpenRequest, route: AnyRoute, result: AnswerLater | AnswerLaterInSlices) -> None:
        if isinstance(result, AnswerLaterInSlices):
            # One that is verified meanwhile came before the one that others wait for.
            if result.is_exclusive and request.client.exclusive is None:
                request.client.exclusive = request
            self._step.works.begin("large request", self._measured(request, self._large(request, route, result)))
            return
        try:
            result.start(partial(self._answer_late, request, route))
        except OSError:
            raise
        except Exception:  # noqa: BLE001 - as in `handle`
            self._failed(request, route)

    def _large(self, request: OpenRequest, route: AnyRoute, result: AnswerLaterInSlices) -> Slices:
        """Do what is left of a large request, also if the client has gone: it may not wait for an answer."""
        try:
            yield from result.start(partial(self._answer_late, request, route))
        except OSError:
            raise
        except Exception:  # noqa: BLE001 - as in `handle`
            self._end_exclusive(request)
            self._failed(request, route)

    def _end_exclusive(self, request: OpenRequest) -> None:
        if request.client.end_exclusive(request):
            self._step.wake()

    def _answer_late(self, request: OpenRequest, route: AnyRoute, answer: LateAnswer) -> None:
        if isinstance(answer, AnswerLaterInSlices):
            self._start(request, route, answer)
            return
        self._end_exclusive(request)
        match answer:
            case WireMessage():
                self._answer(request, answer)
            case ControllerResult():
                self._append(request, route, answer)
            case NotController():
                self.not_controller(request)
            case Failed():
                self._failed(request, route)
            case NoAnswer():
                self._complete_without_response(request, answer)
            case EncodedResponse():
                self._responses.send_encoded(request, (answer.body,))
            case AnswerInSlices():
                self._step.works.begin(
                    "large response", self._measured(request, self._in_slices(request, route, answer))
                )
            case InPieces():
                self._answer(request, answer.message, is_in_pieces=True)
            case _:
                assert_never(answer)

    def _complete_without_response(self, request: OpenRequest, nothing: NoAnswer) -> None:
        if nothing.close:
            self._clients.close_client(request.client, "request-failed", "the API has no error response", level="info")
        else:
            self._responses.throttle(request, nothing.throttle_ms)
            self._clients.complete_without_response(request)

    def _append(self, request: OpenRequest, route: AnyRoute, result: ControllerResult[WireMessage]) -> None:
        active = self._controllership.active
        assert active is not None, "only the active controller decides"
        self._step.wake()
        try:
            end_offset = active.append(result, self._step.now_ms)
        except Exception as error:  # noqa: BLE001 - as in `handle`
            self._decision_failed(request, route, error)
            return
        self._answer_at(request, result.response, end_offset, deadline_ms=result.answer_by_ms)

    def _answer_at(
        self, request: OpenRequest, response: WireMessage, end_offset: int, *, deadline_ms: int | None = None
    ) -> None:
        """Answer when everything below an offset is committed and in the image."""
        active = self._controllership.active
        assert active is not None, "only the active controller decides"
        if end_offset <= self._applied.applied_offset:
            self._answer(request, response)
        else:
            active.waiting.add(end_offset, (request, response), deadline_ms=deadline_ms)

    def _operation(self, request: OpenRequest, route: AnyRoute, decision: InSlices) -> Slices:
        """Decide on a request to the active controller, unless it is no longer active."""
        active = self._controllership.active
        assert active is not None, "only the active controller decides"
        slices = active.operate(decision.decide, lambda: self._step.now_ms)
        self._step.wake()
        while True:
            try:
                next(slices)
            except StopIteration as end:
                self._answer_at(request, *end.value)
                return
            except Exception as error:  # noqa: BLE001 - as in `handle`
                self._decision_failed(request, route, error)
                return
            yield
            request.is_sliced = True
            if self._controllership.serving is not active:
                slices.close()
                self.not_controller(request)
                return

    def _decision_failed(self, request: OpenRequest, route: AnyRoute, error: Exception) -> None:
        """Refuse a decision that is too large, or handle a failure of our own; call it inside an `except` block."""
        if not isinstance(error, TooManyRecordsError):
            self._failed(request, route)
            return
        assert request.message is not None
        version = request.context.api_version
        self._answer(request, error_response(request.message, version, ErrorCode.UNKNOWN_SERVER_ERROR, str(error)))

    def _ask_raft(self, request: OpenRequest) -> None:
        assert request.message is not None
        token = self._next_token
        self._next_token += 1
        self._raft_requests[token] = request
        self._step.wake()
        self._raft.receive_request(token, request.message, request.context.api_version, self._step.now_ms)

    def _handle_inner(self, outer: OpenRequest, unwrapped: Unwrapped) -> None:
        if len(unwrapped.request.frame) < SLICED_REQUEST_BYTES:
            exhaust(self._read_inner(outer, unwrapped))
            return
        # What the same client sends next comes on the same connection.
        outer.client.exclusive = outer
        self._step.works.begin("large request", self._read_inner(outer, unwrapped))

    def _read_inner(self, outer: OpenRequest, unwrapped: Unwrapped) -> Slices:
        request, elements_max = unwrapped.request, ROUTES[unwrapped.request.api_key].elements_max
        try:
            if outer.client.exclusive is outer:
                message = yield from request.message_in_slices(elements_max)
            else:
                message = request.message(elements_max)
        except RemoteProtocolError:
            self._end_exclusive(outer)
            # As in Kafka: a request that cannot be read may have a later version.
            self._answer(outer, EnvelopeResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
            return
        self._end_exclusive(outer)
        inner = OpenRequest(outer.client, request, unwrapped.context, message, outer, outer.opened_ms)
        inner.is_sliced = outer.is_sliced
        self.handle(inner)

    def _failed(self, request: OpenRequest, route: AnyRoute) -> None:
        """Handle a failure of our own in a handler; call it inside an `except` block."""
        self._responses.send_failure(request)
        if route.needs_controller:
            self._controllership.resign(f"API {request.context.api_key} failed")
