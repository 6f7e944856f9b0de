"""DescribeQuorum (key 55), v0-2: the quorum's leader, and how far its replicas are. KIP-595, KIP-836, KIP-853.

Behaviour: needs DESCRIBE on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED; the replica of the metadata log answers.
Version notes: v1 adds the times of the last fetch and of the last time caught up; v2 directories, endpoints and error
messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import refusal
from falkirk.node.handlers.parts.handler_result import ASK_RAFT, AskRaft
from falkirk.node.handlers.parts.route import FEW_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import NodeView
from falkirk.protocol.messages import DescribeQuorumRequest

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: DescribeQuorumRequest) -> WireMessage | AskRaft:
    """Check authorization; the replica of the metadata log does the rest."""
    return refusal(view, context, request, AclOperation.DESCRIBE) or ASK_RAFT


ROUTE: Final[Route[NodeView, DescribeQuorumRequest]] = Route(
    NodeView, DescribeQuorumRequest, handle, elements_max=FEW_ELEMENTS_MAX
)
