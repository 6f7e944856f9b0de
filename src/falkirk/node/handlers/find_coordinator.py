"""FindCoordinator (key 10), v0-6: the coordinator of a group or a transaction. KIP-699, KIP-932.

Behaviour: needs DESCRIBE on the group or the transactional id, else GROUP_AUTHORIZATION_FAILED,
TRANSACTIONAL_ID_AUTHORIZATION_FAILED. The coordinator is the leader of the key's partition; COORDINATOR_NOT_AVAILABLE
while there is none. `__consumer_offsets` and `__transaction_state` are created if they do not exist. INVALID_REQUEST
for share coordinators, which a broker without share groups lacks, and for unknown types.
Differs from Kafka: a key that is named twice is answered once.
Version notes: v1 adds the type, v4 accepts many keys, v6 adds share coordinators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.parts.group_requests import GROUP_AUTHORIZATION_FAILED, is_group_allowed
from falkirk.node.handlers.parts.partition_leaders import LeaderNode, leader_node
from falkirk.node.handlers.parts.route import Route
from falkirk.node.handlers.parts.transaction_requests import is_transactional_id_allowed
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import FindCoordinatorRequest, FindCoordinatorResponse
from falkirk.protocol.messages.find_coordinator_response import Coordinator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage

GROUP: Final = 0
TRANSACTION: Final = 1
SHARE: Final = 2
_MANY_SINCE: Final = 4
_SHARE_SINCE: Final = 6
_INVALID_REQUEST: Final = (
    "This most likely occurs because of a request being malformed by the client library or the message was sent to an "
    "incompatible broker. See the broker logs for more details."
)
_NO_NODE: Final = LeaderNode(-1, "", -1, None)
_MESSAGES: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.NONE: "NONE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: GROUP_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "Transactional Id authorization failed.",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "Cluster authorization failed.",
    ErrorCode.INVALID_REQUEST: "There is no such coordinator.",
}


def handle(view: BrokerView, context: RequestContext, request: FindCoordinatorRequest) -> WireMessage:
    """Return the coordinators."""
    error = _whole_error(view, context, request)
    if error is not ErrorCode.NONE:
        message = _INVALID_REQUEST if error is ErrorCode.INVALID_REQUEST else _MESSAGES[error]
        return error_response(request, context.api_version, error, message)
    if context.api_version < _MANY_SINCE:
        error, node = _find(view, context, request.key_type, request.key)
        return FindCoordinatorResponse(
            error_code=error,
            error_message=_MESSAGES[error],
            node_id=node.node_id,
            host=node.host,
            port=node.port,
        )

    def coordinator(key: str) -> Coordinator:
        error, node = _find(view, context, request.key_type, key)
        return Coordinator(key, node.node_id, node.host, node.port, error)

    return FindCoordinatorResponse(coordinators=mapped_array(coordinator, dict.fromkeys(request.coordinator_keys)))


def _whole_error(view: BrokerView, context: RequestContext, request: FindCoordinatorRequest) -> ErrorCode:
    if request.key_type == SHARE and context.api_version >= _SHARE_SINCE:
        is_allowed = is_cluster_operation_allowed(view, context, AclOperation.CLUSTER_ACTION)
        return ErrorCode.NONE if is_allowed else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return ErrorCode.NONE if request.key_type in {GROUP, TRANSACTION, SHARE} else ErrorCode.INVALID_REQUEST


def _find(view: BrokerView, context: RequestContext, key_type: int, key: str) -> tuple[ErrorCode, LeaderNode]:
    if key_type == SHARE:
        return ErrorCode.INVALID_REQUEST, _NO_NODE
    if key_type == TRANSACTION:
        if not is_transactional_id_allowed(view, context, AclOperation.DESCRIBE, key):
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, _NO_NODE
        return _leader(view, context, view.broker.transactions.topic, view.broker.transactions.partition_for(key))
    if not is_group_allowed(view, context, AclOperation.DESCRIBE, key):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED, _NO_NODE
    return _leader(view, context, view.broker.groups.topic, view.broker.groups.partition_for(key))


def _leader(view: BrokerView, context: RequestContext, topic: str, number: int) -> tuple[ErrorCode, LeaderNode]:
    if view.image.topics.topic(topic) is None:
        view.broker.topic_creation.create_internal(topic)
    partition = view.image.topics.partition(topic, number)
    node = None if partition is None else leader_node(view, partition.leader, context.listener)
    return (ErrorCode.COORDINATOR_NOT_AVAILABLE, _NO_NODE) if node is None else (ErrorCode.NONE, node)


ROUTE: Final[Route[BrokerView, FindCoordinatorRequest]] = Route(BrokerView, FindCoordinatorRequest, handle)
