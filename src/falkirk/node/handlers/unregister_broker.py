"""UnregisterBroker (key 64), v0: an operator removes a broker's registration. KIP-631.

Behaviour: needs ALTER on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. BROKER_ID_NOT_REGISTERED for an unknown broker. A running broker is unregistered, too, and has to
register again.
Version notes: there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.controller_response import controller_response
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.messages import UnregisterBrokerRequest, UnregisterBrokerResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.state.result import ControllerResult
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(
    view: ControllerView, context: RequestContext, request: UnregisterBrokerRequest
) -> WireMessage | ControllerResult[WireMessage]:
    """Unregister the broker."""
    refused = refusal(view, context, request, AclOperation.ALTER)
    if refused is not None:
        return refused
    decided = view.controller.cluster.unregister_broker(request.broker_id)
    return controller_response(context, request, decided, lambda _: UnregisterBrokerResponse())


ROUTE: Final[Route[ControllerView, UnregisterBrokerRequest]] = Route(ControllerView, UnregisterBrokerRequest, handle)
