"""ListPartitionReassignments (key 46), v0: reassignments on their way. KIP-455.

Behaviour: needs DESCRIBE on CLUSTER; served by the active controller. Null stands for all; partitions that are not
being reassigned, or not there, are left out.
Version notes: there is one version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.messages import ListPartitionReassignmentsRequest

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.protocol.schema import WireMessage


def handle(
    view: NodeView, context: RequestContext, request: WireMessage
) -> WireMessage | ControllerResult[WireMessage]:
    """List them."""
    assert isinstance(request, ListPartitionReassignmentsRequest)
    assert view.controller is not None
    refused = refusal(view, context, request, AclOperation.DESCRIBE)
    return refused or view.controller.replication.list_partition_reassignments(request.topics)


ROUTE: Final = Route(api_key=46, handler=handle, needs_controller=True)
