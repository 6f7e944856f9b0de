"""AlterPartitionReassignments (key 45), v0-1: replicas move to other brokers, or back. KIP-455, KIP-860.

Behaviour: needs ALTER on CLUSTER; served by the active controller. Null replicas call a reassignment off.
Version notes: v1 lets the client forbid a change of the replication factor (INVALID_REPLICATION_FACTOR).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.messages import AlterPartitionReassignmentsRequest

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.protocol.schema import WireMessage


def handle(
    view: NodeView, context: RequestContext, request: WireMessage
) -> WireMessage | ControllerResult[WireMessage]:
    """Start and call off reassignments."""
    assert isinstance(request, AlterPartitionReassignmentsRequest)
    assert view.controller is not None
    refused = refusal(view, context, request, AclOperation.ALTER)
    return refused or view.controller.replication.alter_partition_reassignments(request, context.api_version)


ROUTE: Final = Route(api_key=45, handler=handle, needs_controller=True)
