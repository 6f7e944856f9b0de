"""ElectLeaders (key 43), v0-2: elections that an operator requests. KIP-183, KIP-460.

Behaviour: needs ALTER on CLUSTER; served by the active controller. Null stands for all partitions; the response then
leaves out those that need no election.
Version notes: v1 adds unclean elections and a top-level error code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import ControllerView
from falkirk.protocol.messages import ElectLeadersRequest

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: ControllerView, context: RequestContext, request: ElectLeadersRequest) -> WireMessage | InSlices:
    """Elect leaders."""
    refused = refusal(view, context, request, AclOperation.ALTER)
    return refused or InSlices(lambda: view.controller.replication.elect_leaders(request, context.api_version))


ROUTE: Final[Route[ControllerView, ElectLeadersRequest]] = Route(
    ControllerView, ElectLeadersRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
