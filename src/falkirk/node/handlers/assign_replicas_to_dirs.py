"""AssignReplicasToDirs (key 73), v0: a broker tells in which of its log directories replicas lie. KIP-858.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. UNSUPPORTED_VERSION below metadata.version 3.7-IV2, STALE_BROKER_EPOCH; for each partition
UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, or NOT_LEADER_OR_FOLLOWER if the broker has no replica of it.
Version notes: there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.controller_answer import answer
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.messages import AssignReplicasToDirsRequest

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.protocol.schema import WireMessage


def handle(
    view: NodeView, context: RequestContext, request: WireMessage
) -> WireMessage | ControllerResult[WireMessage]:
    """Take the directories down."""
    assert isinstance(request, AssignReplicasToDirsRequest)
    assert view.controller is not None
    refused = refusal(view, context, request, AclOperation.CLUSTER_ACTION)
    if refused is not None:
        return refused
    decided = view.controller.replication.assign_replicas_to_directories(request)
    return answer(context, request, decided, lambda response: response)


ROUTE: Final = Route(api_key=73, handler=handle, needs_controller=True)
