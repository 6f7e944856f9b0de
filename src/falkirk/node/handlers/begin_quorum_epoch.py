"""BeginQuorumEpoch (key 53), v0-1: a new leader of the quorum announces itself. KIP-595, KIP-853.

Behaviour: needs CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; the replica of the metadata log answers.
Version notes: v1 is flexible, names the voter and has the leader's endpoints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.handler_result import ASK_RAFT, AskRaft
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import NodeView
from falkirk.protocol.messages import BeginQuorumEpochRequest

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: BeginQuorumEpochRequest) -> WireMessage | AskRaft:
    """Check authorization; the replica of the metadata log does the rest."""
    return refusal(view, context, request, AclOperation.CLUSTER_ACTION) or ASK_RAFT


ROUTE: Final[Route[NodeView, BeginQuorumEpochRequest]] = Route(NodeView, BeginQuorumEpochRequest, handle)
