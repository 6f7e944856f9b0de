"""ControllerRegistration (key 70), v0: a controller tells where it listens and what it supports. KIP-919.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. UNSUPPORTED_VERSION below metadata.version 3.7-IV0, or if the controller does not support what is
finalized.
Version notes: there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.controller_answer import answer
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.messages import ControllerRegistrationRequest, ControllerRegistrationResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.protocol.schema import WireMessage


def handle(
    view: NodeView, context: RequestContext, request: WireMessage
) -> WireMessage | ControllerResult[WireMessage]:
    """Register the controller."""
    assert isinstance(request, ControllerRegistrationRequest)
    assert view.controller is not None
    refused = refusal(view, context, request, AclOperation.CLUSTER_ACTION)
    if refused is not None:
        return refused
    decided = view.controller.cluster.register_controller(request, kraft_version=view.kraft_version)
    return answer(context, request, decided, lambda _: ControllerRegistrationResponse())


ROUTE: Final = Route(api_key=70, handler=handle, needs_controller=True)
