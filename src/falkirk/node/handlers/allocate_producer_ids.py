"""AllocateProducerIds (key 67), v0: a broker takes a block of producer ids to give out. KIP-730.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. STALE_BROKER_EPOCH for a broker that is not registered, or is so in another epoch. A block has 1000 ids.
Version notes: there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.controller_answer import answer
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.messages import AllocateProducerIdsRequest

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.protocol.schema import WireMessage


def handle(
    view: NodeView, context: RequestContext, request: WireMessage
) -> WireMessage | ControllerResult[WireMessage]:
    """Give the next block."""
    assert isinstance(request, AllocateProducerIdsRequest)
    assert view.controller is not None
    refused = refusal(view, context, request, AclOperation.CLUSTER_ACTION)
    if refused is not None:
        return refused
    decided = view.controller.producer_ids.allocate(request.broker_id, request.broker_epoch)
    return answer(context, request, decided, lambda response: response)


ROUTE: Final = Route(api_key=67, handler=handle, needs_controller=True)
