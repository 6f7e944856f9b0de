"""DescribeQuorum (key 55), v0-2: who leads the quorum, how far voters and observers are. KIP-595, KIP-836, KIP-853.

Behaviour: needs DESCRIBE on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; the replica of the metadata log answers.
Version notes: v1 adds the times of the last fetch and of the last time caught up; v2 directories, endpoints and
error messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.handlers.cluster_authorization import refusal
from falkirk.node.handlers.handler import ASK_RAFT, AskRaft, NodeView, Route

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage | AskRaft:
    """Let the replica answer."""
    return refusal(view, context, request, AclOperation.DESCRIBE) or ASK_RAFT


ROUTE: Final = Route(api_key=55, handler=handle, needs_controller=False)
