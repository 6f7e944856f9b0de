"""AddOffsetsToTxn (key 25), v0-4: the offsets of a group become part of a transaction. KIP-98, KIP-588, KIP-890.

Behaviour: needs WRITE on the transactional id, else TRANSACTIONAL_ID_AUTHORIZATION_FAILED, and READ on the group, else
GROUP_AUTHORIZATION_FAILED; INVALID_REQUEST for an empty transactional id. The group's partition of
`__consumer_offsets` is added to the transaction.
Version notes: v2 adds PRODUCER_FENCED, v3 flexible fields, v4 TRANSACTION_ABORTABLE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.coordinator_requests import client_of
from falkirk.node.handlers.parts.group_requests import is_group_allowed
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.transaction_requests import ask_transaction, is_transactional_id_allowed
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import NO_ERROR, ErrorCode
from falkirk.protocol.messages import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.versions.release import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import AnswerLater


def handle(
    view: BrokerView, context: RequestContext, request: AddOffsetsToTxnRequest
) -> AddOffsetsToTxnResponse | AnswerLater:
    """Have the id's shard add the group's partition."""
    error = _refusal(view, context, request)
    if error is not NO_ERROR:
        return AddOffsetsToTxnResponse(error_code=error)
    client = client_of(context)
    partition = TopicPartition(CONSUMER_OFFSETS, view.broker.groups.partition_for(request.group_id))
    return ask_transaction(
        view,
        context,
        request,
        request.transactional_id,
        lambda shard, token: shard.add_offsets(client, request, partition, token),
    )


def _refusal(view: BrokerView, context: RequestContext, request: AddOffsetsToTxnRequest) -> ErrorCode:
    if not is_transactional_id_allowed(view, context, AclOperation.WRITE, request.transactional_id):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if not is_group_allowed(view, context, AclOperation.READ, request.group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return NO_ERROR if request.transactional_id else ErrorCode.INVALID_REQUEST


ROUTE: Final[Route[BrokerView, AddOffsetsToTxnRequest]] = Route(BrokerView, AddOffsetsToTxnRequest, handle)
