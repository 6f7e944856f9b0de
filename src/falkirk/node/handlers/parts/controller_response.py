"""The active controller's decisions as handlers return them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_response import error_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

T = TypeVar("T")


def controller_response(
    context: RequestContext,
    request: WireMessage,
    decided: ControllerResult[T] | ApiError,
    response: Callable[[T], WireMessage],
) -> ControllerResult[WireMessage]:
    """Return the response to a decision; an error, too, is sent once the state that it rests on is committed."""
    if isinstance(decided, ApiError):
        refused = error_response(request, context.api_version, decided.error_code, decided.message)
        return ControllerResult((), refused)
    return ControllerResult(decided.records, response(decided.response), decided.is_atomic)
