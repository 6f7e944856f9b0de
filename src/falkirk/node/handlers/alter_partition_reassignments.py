"""AlterPartitionReassignments (key 45), v0-1: start and cancel reassignments of replicas. KIP-455, KIP-860.

Behaviour: needs ALTER on CLUSTER; served by the active controller. Null replicas cancel a reassignment.
Version notes: v1 lets the client forbid a change of the replication factor (INVALID_REPLICATION_FACTOR).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.messages import AlterPartitionReassignmentsRequest

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(
    view: ControllerView, context: RequestContext, request: AlterPartitionReassignmentsRequest
) -> WireMessage | InSlices:
    """Start and cancel reassignments."""
    refused = refusal(view, context, request, AclOperation.ALTER)
    alter = view.controller.replication.alter_partition_reassignments
    return refused or InSlices(lambda: alter(request, context.api_version))


ROUTE: Final[Route[ControllerView, AlterPartitionReassignmentsRequest]] = Route(
    ControllerView, AlterPartitionReassignmentsRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
