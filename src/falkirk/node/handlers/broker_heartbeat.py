"""BrokerHeartbeat (key 63), v0-2: a broker lives, and asks to be unfenced or to leave. KIP-631, KIP-858, KIP-1066.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. STALE_BROKER_EPOCH for a broker that is not registered, or in another epoch.
Version notes: v1 adds the log directories that have failed; v2 those that are cordoned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.controller_response import controller_response
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.messages import BrokerHeartbeatRequest

if TYPE_CHECKING:
    from falkirk.metadata.controller.state.result import ControllerResult
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(
    view: ControllerView, context: RequestContext, request: BrokerHeartbeatRequest
) -> WireMessage | ControllerResult[WireMessage]:
    """Process the heartbeat."""
    refused = refusal(view, context, request, AclOperation.CLUSTER_ACTION)
    if refused is not None:
        return refused
    decided = view.controller.cluster.heartbeat(request, now_ms=view.now_ms)
    return controller_response(context, request, decided, lambda response: response)


ROUTE: Final[Route[ControllerView, BrokerHeartbeatRequest]] = Route(ControllerView, BrokerHeartbeatRequest, handle)
