"""AssignReplicasToDirs (key 73), v0: a broker reports the log directories of its replicas. KIP-858.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; served by the active controller, else
NOT_CONTROLLER. UNSUPPORTED_VERSION below metadata.version 3.7-IV2, STALE_BROKER_EPOCH; for each partition
UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, or NOT_LEADER_OR_FOLLOWER if the broker has no replica of it.
Version notes: there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.messages import AssignReplicasToDirsRequest

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(
    view: ControllerView, context: RequestContext, request: AssignReplicasToDirsRequest
) -> WireMessage | InSlices:
    """Record the directories."""
    refused = refusal(view, context, request, AclOperation.CLUSTER_ACTION)
    return refused or InSlices(lambda: view.controller.replication.assign_replicas_to_directories(request))


ROUTE: Final[Route[ControllerView, AssignReplicasToDirsRequest]] = Route(
    ControllerView, AssignReplicasToDirsRequest, handle
)
