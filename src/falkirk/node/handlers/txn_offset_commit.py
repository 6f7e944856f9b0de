"""TxnOffsetCommit (key 28), v0-6: commit a group's offsets with a transaction. KIP-98, KIP-447, KIP-890.

Behaviour: needs WRITE on the transactional id, else TRANSACTIONAL_ID_AUTHORIZATION_FAILED, READ on the group, else
GROUP_AUTHORIZATION_FAILED, and READ on each topic, else TOPIC_AUTHORIZATION_FAILED for it; INVALID_GROUP_ID,
UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION. The offsets are pending until the transaction's marker arrives.
The first ones of a transaction are written once its coordinator has said that the group's partition takes part, else
INVALID_TXN_STATE, INVALID_PRODUCER_EPOCH, TRANSACTION_ABORTABLE; COORDINATOR_LOAD_IN_PROGRESS if it cannot be reached.
Version notes: v2 adds leader epochs and COORDINATOR_LOAD_IN_PROGRESS (before it COORDINATOR_NOT_AVAILABLE), v3 the
member and its generation, v4 TRANSACTION_ABORTABLE; in v5 the broker adds the partition to the transaction; v6 names
topics by id.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.broker.group_coordinator.operation_errors import commit_error
from falkirk.node.broker.transaction_verification.add_partitions_to_txn_manager import SupportedOperation
from falkirk.node.broker.transaction_verification.transaction_verification import TransactionalAppend
from falkirk.node.handlers.parts.committed_topics import commit_topics
from falkirk.node.handlers.parts.coordinator_requests import client_of
from falkirk.node.handlers.parts.group_requests import is_group_allowed
from falkirk.node.handlers.parts.requested_topics import in_topic_chunks
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.transaction_requests import is_transactional_id_allowed
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from falkirk.protocol.record_batch import NO_SEQUENCE
from falkirk.protocol.topic_partition import TopicIdPartition
from falkirk.versions.release import CONSUMER_OFFSETS

if TYPE_CHECKING:
    from falkirk.coordinator.runtime.outcome import Outcome, Token
    from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.broker.coordinator_runtime.hosted_shard import Done
    from falkirk.node.broker.transaction_verification.transaction_verification import Verdict
    from falkirk.node.handlers.parts.group_requests import Operation
    from falkirk.node.handlers.parts.handler_result import AnswerLater, AnswerLaterInSlices
    from falkirk.protocol.messages import OffsetCommitResponse
    from falkirk.protocol.schema import WireMessage

_LOADING_SINCE: Final = 2
_ABORTABLE_SINCE: Final = 4
_ADDS_PARTITIONS_SINCE: Final = 5
_IDS_SINCE: Final = 6


def handle(
    view: BrokerView, context: RequestContext, request: TxnOffsetCommitRequest
) -> WireMessage | AnswerLater | AnswerLaterInSlices:
    """Have the group's shard commit the offsets of existing topics that the client may read."""
    version = context.api_version
    error = _refusal(view, context, request)
    if error is not ErrorCode.NONE:
        return error_response(request, version, error)
    kind, client = view.broker.groups.kind, client_of(context)

    def client_error(failure: ErrorCode) -> ErrorCode:
        if failure is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _LOADING_SINCE:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return commit_error(failure, kind)

    def commit(part: TxnOffsetCommitRequest) -> OffsetCommitResponse | TxnOffsetCommitResponse | AnswerLater:
        return commit_topics(
            view,
            context,
            part,
            TxnOffsetCommitResponse(topics=[]),
            by_id=version >= _IDS_SINCE,
            operation=lambda shard, requested, token: shard.commit_transactional_offsets(client, requested, token),
            client_error=client_error,
            schedule=partial(_schedule_verified, view, context, part),
        )

    return in_topic_chunks(request, commit)


def _schedule_verified(
    view: BrokerView,
    context: RequestContext,
    request: TxnOffsetCommitRequest,
    operation: Operation,
    done: Done,
) -> None:
    """Schedule an operation on the group's shard when the coordinator knows of the transaction."""
    groups, topic = view.broker.groups, view.image.topics.topic(CONSUMER_OFFSETS)
    if topic is None:
        done(ErrorCode.NOT_COORDINATOR)
        return
    key = TopicIdPartition(topic.topic_id, CONSUMER_OFFSETS, groups.partition_for(request.group_id))

    def verified(verdict: Verdict) -> None:
        if key in verdict.errors:
            done(verdict.errors[key])
            return

        def guarded(shard: GroupCoordinatorShard, token: Token) -> Outcome:
            return replace(operation(shard, token), guard=verdict.guards[key])

        groups.schedule(request.group_id, guarded, done)

    view.broker.transaction_verification.verify(
        TransactionalAppend(
            transactional_id=request.transactional_id,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            sequences={key: NO_SEQUENCE},
            operation=_supported_operation(context.api_version),
            done=verified,
        )
    )


def _supported_operation(version: int) -> SupportedOperation:
    if version >= _ADDS_PARTITIONS_SINCE:
        return SupportedOperation.ADD_PARTITION
    return SupportedOperation.GENERIC_ERROR if version >= _ABORTABLE_SINCE else SupportedOperation.DEFAULT_ERROR


def _refusal(view: BrokerView, context: RequestContext, request: TxnOffsetCommitRequest) -> ErrorCode:
    if not is_transactional_id_allowed(view, context, AclOperation.WRITE, request.transactional_id):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if not is_group_allowed(view, context, AclOperation.READ, request.group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return ErrorCode.NONE if request.group_id else ErrorCode.INVALID_GROUP_ID


ROUTE: Final[Route[BrokerView, TxnOffsetCommitRequest]] = Route(
    BrokerView, TxnOffsetCommitRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
