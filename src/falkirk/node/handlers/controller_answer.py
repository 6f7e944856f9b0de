"""What the active controller decided, as a handler gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from falkirk.metadata.controller.api_error import ApiError
from falkirk.metadata.controller.result import ControllerResult
from falkirk.protocol.error_response import error_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

T = TypeVar("T")


def answer(
    context: RequestContext,
    request: WireMessage,
    decided: ControllerResult[T] | ApiError,
    response: Callable[[T], WireMessage],
) -> ControllerResult[WireMessage]:
    """Give the response to a decision; an error is told once all that it may rest on is committed."""
    if isinstance(decided, ApiError):
        refused = error_response(request, context.api_version, decided.error_code, decided.message)
        return ControllerResult((), refused)
    return ControllerResult(decided.records, response(decided.response), decided.is_atomic)
