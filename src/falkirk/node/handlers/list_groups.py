"""ListGroups (key 16), v0-5: the groups that this broker coordinates. KIP-518, KIP-848.

Behaviour: all groups with DESCRIBE on CLUSTER, else those with DESCRIBE on the group. COORDINATOR_LOAD_IN_PROGRESS
while one of its partitions loads; one that could not be loaded is left out.
Version notes: v4 adds the states, to be asked for and told, v5 the types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.node.group_coordinator.operation_errors import operation_error
from falkirk.node.handlers.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.group_requests import groups_of, is_group_allowed
from falkirk.node.handlers.handler import AnswerLater, NodeView, Route
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.node.handlers.handler import Answer
    from falkirk.protocol.schema import WireMessage, WireStruct


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> AnswerLater:
    """Let all shards of this broker answer."""
    assert isinstance(request, ListGroupsRequest)

    def start(answer: Answer) -> None:
        def done(result: WireStruct | ErrorCode) -> None:
            if isinstance(result, ErrorCode):
                answer(ListGroupsResponse(error_code=operation_error(result)))
            else:
                assert isinstance(result, ListGroupsResponse)
                answer(_visible(view, context, result))

        groups_of(view).list_groups(request.states_filter, request.types_filter, done)

    return AnswerLater(start)


def _visible(view: NodeView, context: RequestContext, response: ListGroupsResponse) -> ListGroupsResponse:
    if not is_cluster_operation_allowed(view, context, AclOperation.DESCRIBE):
        response.groups = [
            group for group in response.groups if is_group_allowed(view, context, AclOperation.DESCRIBE, group.group_id)
        ]
    return response


ROUTE: Final = Route(api_key=16, handler=handle, needs_controller=False)
