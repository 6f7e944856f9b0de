"""UnregisterController (key 94), v0: an operator takes the registration of a controller out that is gone for good.

Behaviour: needs ALTER on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. UNSUPPORTED_VERSION below metadata.version 4.4-IV2, CONTROLLER_ID_NOT_REGISTERED if there is no such
controller. One that is alive registers again when it sees that it is gone.
Version notes: there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.controller_answer import answer
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.messages import UnregisterControllerRequest, UnregisterControllerResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.protocol.schema import WireMessage


def handle(
    view: NodeView, context: RequestContext, request: WireMessage
) -> WireMessage | ControllerResult[WireMessage]:
    """Unregister the controller."""
    assert isinstance(request, UnregisterControllerRequest)
    assert view.controller is not None
    refused = refusal(view, context, request, AclOperation.ALTER)
    if refused is not None:
        return refused
    decided = view.controller.cluster.unregister_controller(request.controller_id)
    return answer(context, request, decided, lambda _: UnregisterControllerResponse())


ROUTE: Final = Route(api_key=94, handler=handle, needs_controller=True)
