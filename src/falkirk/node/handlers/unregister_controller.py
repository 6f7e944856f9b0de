"""UnregisterController (key 94), v0: an operator removes the registration of a controller that is gone for good.

Behaviour: needs ALTER on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. UNSUPPORTED_VERSION below metadata.version 4.4-IV2, CONTROLLER_ID_NOT_REGISTERED for an unknown
controller. A running controller registers again when its image shows that the registration is gone.
Version notes: there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.controller_response import controller_response
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.messages import UnregisterControllerRequest, UnregisterControllerResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.state.result import ControllerResult
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(
    view: ControllerView, context: RequestContext, request: UnregisterControllerRequest
) -> WireMessage | ControllerResult[WireMessage]:
    """Unregister the controller."""
    refused = refusal(view, context, request, AclOperation.ALTER)
    if refused is not None:
        return refused
    decided = view.controller.cluster.unregister_controller(request.controller_id)
    return controller_response(context, request, decided, lambda _: UnregisterControllerResponse())


ROUTE: Final[Route[ControllerView, UnregisterControllerRequest]] = Route(
    ControllerView, UnregisterControllerRequest, handle
)
