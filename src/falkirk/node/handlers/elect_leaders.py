"""ElectLeaders (key 43), v0-2: elections that an operator asks for. KIP-183, KIP-460.

Behaviour: needs ALTER on CLUSTER; served by the active controller. Null stands for all partitions: those whose leader
is the right one already are left out of the answer.
Version notes: v1 adds unclean elections and an error code of the whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.messages import ElectLeadersRequest

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.protocol.schema import WireMessage


def handle(
    view: NodeView, context: RequestContext, request: WireMessage
) -> WireMessage | ControllerResult[WireMessage]:
    """Elect leaders."""
    assert isinstance(request, ElectLeadersRequest)
    assert view.controller is not None
    refused = refusal(view, context, request, AclOperation.ALTER)
    return refused or view.controller.replication.elect_leaders(request, context.api_version)


ROUTE: Final = Route(api_key=43, handler=handle, needs_controller=True)
