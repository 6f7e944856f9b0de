"""Fetch (key 1), v0-18: replicas of the metadata log fetch it from its leader. KIP-595, KIP-853, KIP-1166.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; the replica of the metadata log answers.
Version notes: v12 has what the quorum needs (epochs, cluster id); v13 topic ids; v15 the replica's state; v17 its
directory; v18 the high watermark that it has.
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


ROUTE: Final = Route(api_key=1, handler=handle, needs_controller=False)
