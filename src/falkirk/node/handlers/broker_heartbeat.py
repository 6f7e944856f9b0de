"""BrokerHeartbeat (key 63), v0-2: a broker lives, and asks to be unfenced or to leave. KIP-631, KIP-858, KIP-1066.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. STALE_BROKER_EPOCH for a broker that is not registered, or is so in another epoch.
Version notes: v1 adds the log directories that have failed; v2 those that get no new replicas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.controller_answer import answer
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.messages import BrokerHeartbeatRequest

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.protocol.schema import WireMessage


def handle(
    view: NodeView, context: RequestContext, request: WireMessage
) -> WireMessage | ControllerResult[WireMessage]:
    """Take the heartbeat."""
    assert isinstance(request, BrokerHeartbeatRequest)
    assert view.controller is not None
    refused = refusal(view, context, request, AclOperation.CLUSTER_ACTION)
    if refused is not None:
        return refused
    decided = view.controller.cluster.heartbeat(request, now_ms=view.now_ms)
    return answer(context, request, decided, lambda response: response)


ROUTE: Final = Route(api_key=63, handler=handle, needs_controller=True)
