"""BrokerRegistration (key 62), v0-4: a broker joins the cluster, or tells anew what it is. KIP-631, KIP-858, KIP-966.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. The answer is the broker's epoch. A broker begins fenced; the same incarnation keeps epoch and state.
Version notes: v1 adds IsMigratingZkBroker, refused; v2 the log directories, needed from 3.7-IV2 on; v3 the epoch of the
broker's life before, without which it counts as one that lost its last writes; v4 lets features start at level 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.controller_answer import answer
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import BrokerRegistrationRequest, BrokerRegistrationResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.protocol.schema import WireMessage


def handle(
    view: NodeView, context: RequestContext, request: WireMessage
) -> WireMessage | ControllerResult[WireMessage]:
    """Register the broker."""
    assert isinstance(request, BrokerRegistrationRequest)
    assert view.controller is not None
    refused = refusal(view, context, request, AclOperation.CLUSTER_ACTION)
    if refused is not None:
        return refused
    decided = view.controller.cluster.register_broker(
        request, api_version=context.api_version, kraft_version=view.kraft_version, now_ms=view.now_ms
    )
    return answer(context, request, decided, lambda epoch: BrokerRegistrationResponse(0, ErrorCode.NONE, epoch))


ROUTE: Final = Route(api_key=62, handler=handle, needs_controller=True)
