"""ControllerRegistration (key 70), v0: a controller registers its listeners and features. KIP-919.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. UNSUPPORTED_VERSION below metadata.version 3.7-IV0, or if the controller does not support the finalized
features.
Version notes: there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.controller_response import controller_response
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.messages import ControllerRegistrationRequest, ControllerRegistrationResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.state.result import ControllerResult
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(
    view: ControllerView, context: RequestContext, request: ControllerRegistrationRequest
) -> WireMessage | ControllerResult[WireMessage]:
    """Register the controller."""
    refused = refusal(view, context, request, AclOperation.CLUSTER_ACTION)
    if refused is not None:
        return refused
    decided = view.controller.cluster.register_controller(request, kraft_version=view.kraft_version)
    return controller_response(context, request, decided, lambda _: ControllerRegistrationResponse())


ROUTE: Final[Route[ControllerView, ControllerRegistrationRequest]] = Route(
    ControllerView, ControllerRegistrationRequest, handle
)
