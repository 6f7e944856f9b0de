"""Vote (key 52), v0-2: asks for a vote in an election of the quorum. KIP-595, KIP-853, KIP-996.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; the replica of the metadata log answers.
Version notes: v1 names the directories of candidate and voter; v2 adds PreVote.
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


ROUTE: Final = Route(api_key=52, handler=handle, needs_controller=False)
