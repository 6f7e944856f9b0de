"""BrokerRegistration (key 62), v0-4: a broker joins the cluster, or registers anew. KIP-631, KIP-858, KIP-966.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. The response has the broker's epoch. A broker starts fenced; the same incarnation keeps epoch and state.
Version notes: v1 adds IsMigratingZkBroker, which is refused; v2 the log directories, required from 3.7-IV2 on; v3 the
previous broker epoch, without which the shutdown counts as unclean; v4 lets features start at level 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.controller_response import controller_response
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import BrokerRegistrationRequest, BrokerRegistrationResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.state.result import ControllerResult
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(
    view: ControllerView, context: RequestContext, request: BrokerRegistrationRequest
) -> WireMessage | ControllerResult[WireMessage]:
    """Register the broker."""
    refused = refusal(view, context, request, AclOperation.CLUSTER_ACTION)
    if refused is not None:
        return refused
    decided = view.controller.cluster.register_broker(
        request, api_version=context.api_version, kraft_version=view.kraft_version, now_ms=view.now_ms
    )
    return controller_response(
        context, request, decided, lambda epoch: BrokerRegistrationResponse(0, ErrorCode.NONE, epoch)
    )


ROUTE: Final[Route[ControllerView, BrokerRegistrationRequest]] = Route(
    ControllerView, BrokerRegistrationRequest, handle
)
