"""What requests to groups share: authorization, and the way to the shard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.node.broker.coordinator_runtime.operation_error import operation_error
from falkirk.node.handlers.parts.coordinator_requests import ask_coordinator
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from falkirk.coordinator.runtime.outcome import Outcome, Token
    from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.broker.coordinator_runtime.hosted_shard import Done
    from falkirk.node.handlers.parts.handler_result import AnswerLater
    from falkirk.node.handlers.parts.view import BrokerView
    from falkirk.protocol.schema import WireMessage

    Operation: TypeAlias = Callable[[GroupCoordinatorShard, Token], Outcome]

GROUP_AUTHORIZATION_FAILED: Final = "Group authorization failed."


def is_group_allowed(view: BrokerView, context: RequestContext, operation: AclOperation, group_id: str) -> bool:
    """Return whether the client is authorized for an operation on a group."""
    return view.authorizer.is_allowed(context, operation, ResourceType.GROUP, group_id)


def allowed_groups(
    view: BrokerView, context: RequestContext, operation: AclOperation, group_ids: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Return the groups on which the client is authorized for an operation, and the others: each once, in order."""
    allowed: list[str] = []
    forbidden: list[str] = []
    for group_id in dict.fromkeys(group_ids):
        (allowed if is_group_allowed(view, context, operation, group_id) else forbidden).append(group_id)
    return allowed, forbidden


def group_error(view: BrokerView, context: RequestContext, operation: AclOperation, group_id: str) -> ErrorCode:
    """Return GROUP_AUTHORIZATION_FAILED, INVALID_GROUP_ID for an empty id, or NONE."""
    if not is_group_allowed(view, context, operation, group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return ErrorCode.NONE if group_id else ErrorCode.INVALID_GROUP_ID


def ask_group(
    view: BrokerView,
    context: RequestContext,
    request: WireMessage,
    group_id: str,
    operation: Operation,
    *,
    client_error: Callable[[ErrorCode], ErrorCode] = operation_error,
    change: Callable[[WireMessage], WireMessage] | None = None,
    schedule: Callable[[Operation, Done], None] | None = None,
) -> AnswerLater:
    """Have the group's shard answer the whole request, as `ask_coordinator`."""
    return ask_coordinator(
        view.broker.groups,
        context,
        request,
        group_id,
        operation,
        client_error=client_error,
        change=change,
        schedule=schedule,
    )
