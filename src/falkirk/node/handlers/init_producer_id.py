"""InitProducerId (key 22), v0-6: a producer gets an id, by which its duplicates are recognized. KIP-98, KIP-360.

Behaviour: without a transactional id needs IDEMPOTENT_WRITE on CLUSTER or WRITE on any topic (KIP-679), else
CLUSTER_AUTHORIZATION_FAILED; every broker hands out ids from blocks of the active controller,
COORDINATOR_LOAD_IN_PROGRESS while it has none. INVALID_REQUEST for an id without an epoch, or an epoch without an id.
With a transactional id: needs WRITE on it, else TRANSACTIONAL_ID_AUTHORIZATION_FAILED; INVALID_REQUEST if it is empty.
Its shard fences the producer before, and aborts what that has left open (CONCURRENT_TRANSACTIONS until that is done).
Version notes: v2 adds flexible fields, v3 the producer's current id and epoch, v4 PRODUCER_FENCED, v6 two-phase commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.node.handlers.parts.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.parts.coordinator_requests import client_of
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.transaction_requests import ask_transaction, is_transactional_id_allowed
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import InitProducerIdRequest, InitProducerIdResponse
from falkirk.protocol.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import AnswerLater


def handle(
    view: BrokerView, context: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse | AnswerLater:
    """Return an id, or an error; the shard of a transactional id decides about it."""
    error = _refusal(view, context, request)
    if error is not ErrorCode.NONE:
        return _failed(error)
    name, client = request.transactional_id, client_of(context)
    if name is not None:
        return ask_transaction(
            view, context, request, name, lambda shard, token: shard.init_producer_id(client, request, token)
        )
    producer_id = view.broker.producer_ids.next_id()
    if producer_id is None:
        return _failed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def _refusal(view: BrokerView, context: RequestContext, request: InitProducerIdRequest) -> ErrorCode:
    name = request.transactional_id
    if name is not None:
        if not is_transactional_id_allowed(view, context, AclOperation.WRITE, name):
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    elif not is_cluster_operation_allowed(
        view, context, AclOperation.IDEMPOTENT_WRITE
    ) and not view.authorizer.is_allowed_on_any(context, AclOperation.WRITE, ResourceType.TOPIC):
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.INVALID_REQUEST if name == "" else ErrorCode.NONE


def _failed(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH)


ROUTE: Final[Route[BrokerView, InitProducerIdRequest]] = Route(BrokerView, InitProducerIdRequest, handle)
