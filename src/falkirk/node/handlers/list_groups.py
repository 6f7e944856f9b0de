"""ListGroups (key 16), v0-5: the groups that this broker coordinates. KIP-518, KIP-848.

Behaviour: all groups with DESCRIBE on CLUSTER, else those with DESCRIBE on the group. COORDINATOR_LOAD_IN_PROGRESS
while one of its partitions loads; partitions that failed to load are left out.
Version notes: v4 adds states, as a filter and in the response, v5 types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.broker.coordinator_runtime.operation_error import operation_error
from falkirk.node.handlers.parts.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.parts.group_requests import is_group_allowed
from falkirk.node.handlers.parts.handler_result import AnswerLater, guarded
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.protocol.schema import WireStruct


def handle(view: BrokerView, context: RequestContext, request: ListGroupsRequest) -> AnswerLater:
    """Have all shards of this broker list their groups."""

    def start(answer: Answer) -> None:
        def done(result: WireStruct | ErrorCode) -> None:
            if isinstance(result, ErrorCode):
                answer(ListGroupsResponse(error_code=operation_error(result)))
            else:
                assert isinstance(result, ListGroupsResponse)
                answer(_visible(view, context, result))

        view.broker.groups.list_groups(request.states_filter, request.types_filter, guarded(answer, done))

    return AnswerLater(start)


def _visible(view: BrokerView, context: RequestContext, response: ListGroupsResponse) -> ListGroupsResponse:
    if not is_cluster_operation_allowed(view, context, AclOperation.DESCRIBE):
        response.groups = [
            group for group in response.groups if is_group_allowed(view, context, AclOperation.DESCRIBE, group.group_id)
        ]
    return response


ROUTE: Final[Route[BrokerView, ListGroupsRequest]] = Route(BrokerView, ListGroupsRequest, handle)
