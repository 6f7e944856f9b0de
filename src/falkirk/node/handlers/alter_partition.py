"""AlterPartition (key 56), v0-3: leaders change the ISR. KIP-497, KIP-704, KIP-841, KIP-903.

Behaviour: needs CLUSTER_ACTION on CLUSTER; accepted only from the leader, in its epoch and with the current partition
epoch; served by the active controller. A broker that is not registered in its epoch gets STALE_BROKER_EPOCH.
Version notes: v1 adds the leader recovery state; v2 has topic ids in place of names, and INELIGIBLE_REPLICA and
NEW_LEADER_ELECTED in place of OPERATION_NOT_ATTEMPTED and FENCED_LEADER_EPOCH; v3 broker epochs in the ISR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.parts.route import NODE_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.messages import AlterPartitionRequest

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: ControllerView, context: RequestContext, request: AlterPartitionRequest) -> WireMessage | InSlices:
    """Change the ISRs that are valid."""
    refused = refusal(view, context, request, AclOperation.CLUSTER_ACTION)
    return refused or InSlices(lambda: view.controller.replication.alter_partition(request, context.api_version))


ROUTE: Final[Route[ControllerView, AlterPartitionRequest]] = Route(
    ControllerView, AlterPartitionRequest, handle, elements_max=NODE_ELEMENTS_MAX
)
