"""AlterPartition (key 56), v0-3: leaders tell who is in sync with them. KIP-497, KIP-704, KIP-841, KIP-903.

Behaviour: needs CLUSTER_ACTION on CLUSTER; only from the leader, in its epoch and on the partition epoch that it
knows; served by the active controller. A broker that is not registered in its epoch gets STALE_BROKER_EPOCH.
Version notes: v1 adds the leader recovery state; v2 has topic ids in place of names, and INELIGIBLE_REPLICA and
NEW_LEADER_ELECTED in place of OPERATION_NOT_ATTEMPTED and FENCED_LEADER_EPOCH; v3 broker epochs in the ISR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.protocol.messages import AlterPartitionRequest

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.protocol.schema import WireMessage


def handle(
    view: NodeView, context: RequestContext, request: WireMessage
) -> WireMessage | ControllerResult[WireMessage]:
    """Change the ISRs."""
    assert isinstance(request, AlterPartitionRequest)
    assert view.controller is not None
    refused = refusal(view, context, request, AclOperation.CLUSTER_ACTION)
    return refused or view.controller.replication.alter_partition(request, context.api_version)


ROUTE: Final = Route(api_key=56, handler=handle, needs_controller=True)
