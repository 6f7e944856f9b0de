"""UpdateRaftVoter (key 82), v0: a voter tells new endpoints or kraft.versions. KIP-853.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; the replica of the metadata log answers.
Version notes: there is one.
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


ROUTE: Final = Route(api_key=82, handler=handle, needs_controller=False)
