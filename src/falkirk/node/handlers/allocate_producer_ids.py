"""AllocateProducerIds (key 67), v0: a broker gets a block of producer ids. KIP-730.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. STALE_BROKER_EPOCH for a broker that is not registered, or in another epoch. A block has 1000 ids.
Version notes: there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.controller_response import controller_response
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.messages import AllocateProducerIdsRequest

if TYPE_CHECKING:
    from falkirk.metadata.controller.state.result import ControllerResult
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(
    view: ControllerView, context: RequestContext, request: AllocateProducerIdsRequest
) -> WireMessage | ControllerResult[WireMessage]:
    """Allocate the next block."""
    refused = refusal(view, context, request, AclOperation.CLUSTER_ACTION)
    if refused is not None:
        return refused
    decided = view.controller.producer_ids.allocate(request.broker_id, request.broker_epoch)
    return controller_response(context, request, decided, lambda response: response)


ROUTE: Final[Route[ControllerView, AllocateProducerIdsRequest]] = Route(
    ControllerView, AllocateProducerIdsRequest, handle
)
