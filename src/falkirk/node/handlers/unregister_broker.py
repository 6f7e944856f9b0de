"""UnregisterBroker (key 64), v0: an operator takes a broker out of the cluster for good. KIP-631.

Behaviour: needs ALTER on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. BROKER_ID_NOT_REGISTERED if there is no such broker. One that is alive is taken out too, and has to
register again.
Version notes: there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.controller_answer import answer
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.messages import UnregisterBrokerRequest, UnregisterBrokerResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.protocol.schema import WireMessage


def handle(
    view: NodeView, context: RequestContext, request: WireMessage
) -> WireMessage | ControllerResult[WireMessage]:
    """Unregister the broker."""
    assert isinstance(request, UnregisterBrokerRequest)
    assert view.controller is not None
    refused = refusal(view, context, request, AclOperation.ALTER)
    if refused is not None:
        return refused
    decided = view.controller.cluster.unregister_broker(request.broker_id)
    return answer(context, request, decided, lambda _: UnregisterBrokerResponse())


ROUTE: Final = Route(api_key=64, handler=handle, needs_controller=True)
