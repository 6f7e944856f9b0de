"""OffsetCommit (key 8), v0-10: commit a group's offsets. KIP-211, KIP-320, KIP-345, KIP-848.

Behaviour: needs READ on the group, else GROUP_AUTHORIZATION_FAILED for all, and on each topic, else
TOPIC_AUTHORIZATION_FAILED for it; UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION. The group's shard decides about the
rest. v0 is UNSUPPORTED_VERSION: its offsets were stored in ZooKeeper.
Version notes: v1 adds member and generation, v2-4 a retention time, v6 leader epochs, v7 the group instance id, v9 the
errors of the consumer protocol; v10 names topics by id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.broker.group_coordinator.operation_errors import commit_error
from falkirk.node.handlers.parts.committed_topics import commit_topics
from falkirk.node.handlers.parts.coordinator_requests import client_of
from falkirk.node.handlers.parts.group_requests import is_group_allowed
from falkirk.node.handlers.parts.requested_topics import in_topic_chunks
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import OffsetCommitRequest, OffsetCommitResponse

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import AnswerLater, AnswerLaterInSlices
    from falkirk.protocol.messages import TxnOffsetCommitResponse
    from falkirk.protocol.schema import WireMessage

_COORDINATOR_SINCE: Final = 1
_IDS_SINCE: Final = 10


def handle(
    view: BrokerView, context: RequestContext, request: OffsetCommitRequest
) -> WireMessage | AnswerLater | AnswerLaterInSlices:
    """Have the group's shard commit the offsets of existing topics that the client may read."""
    version = context.api_version
    if not is_group_allowed(view, context, AclOperation.READ, request.group_id):
        return error_response(request, version, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    if version < _COORDINATOR_SINCE:
        return error_response(request, version, ErrorCode.UNSUPPORTED_VERSION)
    kind, client = view.broker.groups.kind, client_of(context)

    def commit(part: OffsetCommitRequest) -> OffsetCommitResponse | TxnOffsetCommitResponse | AnswerLater:
        return commit_topics(
            view,
            context,
            part,
            OffsetCommitResponse(topics=[]),
            by_id=version >= _IDS_SINCE,
            operation=lambda shard, requested, token: shard.commit_offsets(client, requested, token),
            client_error=lambda error: commit_error(error, kind),
        )

    return in_topic_chunks(request, commit)


ROUTE: Final[Route[BrokerView, OffsetCommitRequest]] = Route(
    BrokerView, OffsetCommitRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
