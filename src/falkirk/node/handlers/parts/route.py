"""How the dispatcher finds a handler, and what it must pass to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from falkirk.node.handlers.parts.view import ControllerView

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import HandlerResult
    from falkirk.protocol.schema import WireMessage

V = TypeVar("V")
R = TypeVar("R", bound="WireMessage")


@dataclass(frozen=True, slots=True)
class Route(Generic[V, R]):
    """The handler of an API, for all versions of its request.

    `needs`: the kind of view. Only the active controller has a ControllerView: other nodes answer NOT_CONTROLLER.
    What a client did wrong is an error code in the handler's response, never an exception.
    """

    needs: type[V]
    request: type[R]
    handler: Callable[[V, RequestContext, R], HandlerResult]

    @property
    def api_key(self) -> int:
        """The key of the API, from the schema of its request."""
        key = self.request.SCHEMA.info.key
        assert key is not None, "a request"
        return key

    @property
    def needs_controller(self) -> bool:
        """True if only the active controller answers."""
        return self.needs is ControllerView
