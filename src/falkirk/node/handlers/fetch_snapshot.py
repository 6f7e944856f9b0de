"""FetchSnapshot (key 59), v0-1: replicas of the metadata log fetch a snapshot piece by piece. KIP-630, KIP-853.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; the replica of the metadata log answers.
Version notes: v1 names the replica's directory and gives the leader's endpoints.
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
    return refusal(view, context, request, AclOperation.CLUSTER_ACTION) or ASK_RAFT


ROUTE: Final = Route(api_key=59, handler=handle, needs_controller=False)
