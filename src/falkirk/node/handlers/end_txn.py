"""EndTxn (key 26), v0-5: commit or abort a transaction. KIP-98, KIP-588, KIP-890.

Behaviour: needs WRITE on the transactional id, else TRANSACTIONAL_ID_AUTHORIZATION_FAILED; INVALID_REQUEST if it is
empty. The id's shard decides; the response leaves when the decision is committed, and markers are sent then.
Version notes: v2 adds PRODUCER_FENCED, v3 flexible fields, v4 TRANSACTION_ABORTABLE, v5 the producer's next id and
epoch (transaction.version 2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.coordinator_requests import client_of
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.transaction_requests import ask_transaction, transactional_id_error
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import NO_ERROR
from falkirk.protocol.messages import EndTxnRequest, EndTxnResponse

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import AnswerLater


def handle(view: BrokerView, context: RequestContext, request: EndTxnRequest) -> EndTxnResponse | AnswerLater:
    """Have the id's shard end the transaction."""
    error = transactional_id_error(view, context, AclOperation.WRITE, request.transactional_id)
    if error is not NO_ERROR:
        return EndTxnResponse(error_code=error)
    client = client_of(context)
    return ask_transaction(
        view,
        context,
        request,
        request.transactional_id,
        lambda shard, token: shard.end_transaction(client, request, token),
    )


ROUTE: Final[Route[BrokerView, EndTxnRequest]] = Route(BrokerView, EndTxnRequest, handle)
