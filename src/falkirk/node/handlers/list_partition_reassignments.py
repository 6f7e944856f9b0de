"""ListPartitionReassignments (key 46), v0: reassignments in progress. KIP-455.

Behaviour: needs DESCRIBE on CLUSTER; served by the active controller. Null stands for all; partitions that do not exist
or are not being reassigned are left out.
Version notes: there is one version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.messages import ListPartitionReassignmentsRequest

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(
    view: ControllerView, context: RequestContext, request: ListPartitionReassignmentsRequest
) -> WireMessage | InSlices:
    """List the reassignments."""
    refused = refusal(view, context, request, AclOperation.DESCRIBE)
    list_them = view.controller.replication.list_partition_reassignments
    return refused or InSlices(lambda: list_them(request.topics))


ROUTE: Final[Route[ControllerView, ListPartitionReassignmentsRequest]] = Route(
    ControllerView, ListPartitionReassignmentsRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
