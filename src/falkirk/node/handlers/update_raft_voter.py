"""UpdateRaftVoter (key 82), v0: a voter reports new endpoints or kraft.versions. KIP-853.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; the replica of the metadata log answers.
Version notes: there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.handler_result import ASK_RAFT, AskRaft
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import NodeView
from falkirk.protocol.messages import UpdateRaftVoterRequest

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: UpdateRaftVoterRequest) -> WireMessage | AskRaft:
    """Check authorization; the replica of the metadata log does the rest."""
    return refusal(view, context, request, AclOperation.CLUSTER_ACTION) or ASK_RAFT


ROUTE: Final[Route[NodeView, UpdateRaftVoterRequest]] = Route(NodeView, UpdateRaftVoterRequest, handle)
