"""What requests to transaction coordinators share: authorization, and the way to the shard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.acls.acl_types import ResourceType
from falkirk.node.handlers.parts.coordinator_requests import ask_coordinator
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.coordinator.runtime.outcome import Outcome, Token
    from falkirk.coordinator.transactions.transaction_coordinator_shard import TransactionCoordinatorShard
    from falkirk.metadata.acls.acl_types import AclOperation
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import AnswerLater
    from falkirk.node.handlers.parts.view import BrokerView
    from falkirk.protocol.schema import WireMessage


def is_transactional_id_allowed(
    view: BrokerView, context: RequestContext, operation: AclOperation, transactional_id: str
) -> bool:
    """Return whether the client is authorized for an operation on a transactional id."""
    return view.authorizer.is_allowed(context, operation, ResourceType.TRANSACTIONAL_ID, transactional_id)


def transactional_id_error(
    view: BrokerView, context: RequestContext, operation: AclOperation, transactional_id: str
) -> ErrorCode:
    """Return TRANSACTIONAL_ID_AUTHORIZATION_FAILED, INVALID_REQUEST for an empty id, or NONE."""
    if not is_transactional_id_allowed(view, context, operation, transactional_id):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return ErrorCode.NONE if transactional_id else ErrorCode.INVALID_REQUEST


def ask_transaction(
    view: BrokerView,
    context: RequestContext,
    request: WireMessage,
    transactional_id: str,
    operation: Callable[[TransactionCoordinatorShard, Token], Outcome],
) -> AnswerLater:
    """Have the shard of a transactional id answer the whole request."""
    return ask_coordinator(view.broker.transactions, context, request, transactional_id, operation)
