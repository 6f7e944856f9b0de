"""WriteTxnMarkers (key 27), v0-2: a transaction coordinator ends transactions in partitions. KIP-98, KIP-890.

Behaviour: needs ALTER or CLUSTER_ACTION on CLUSTER, else CLUSTER_AUTHORIZATION_FAILED. Each partition has its own
result: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER, INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED. In
`__consumer_offsets` the group coordinator writes the marker, and commits or drops the pending offsets.
Version notes: v1 adds flexible fields, v2 the transaction version.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.handlers.parts.cluster_authorization import is_cluster_operation_allowed
from falkirk.node.handlers.parts.coordinator_requests import Gathered
from falkirk.node.handlers.parts.handler_result import (
    AnswerInSlices,
    AnswerLater,
    AnswerLaterInSlices,
    guarded,
    in_slices_if,
)
from falkirk.node.handlers.parts.route import NODE_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from falkirk.protocol.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
)
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.slices import DECISION_VISITS, SliceBudget, exhaust

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.protocol.messages.write_txn_markers_request import WritableTxnMarker
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices

    _Requested: TypeAlias = tuple[WritableTxnMarker, str, int]

PARTITIONS_AT_ONCE: Final = 500
"""Beyond it a request takes many steps."""
_OPERATIONS: Final = (AclOperation.ALTER, AclOperation.CLUSTER_ACTION)


def handle(
    view: BrokerView, context: RequestContext, request: WriteTxnMarkersRequest
) -> WireMessage | AnswerLater | AnswerLaterInSlices:
    """Write the markers, and answer when they are committed."""
    if not any(is_cluster_operation_allowed(view, context, each) for each in _OPERATIONS):
        return error_response(request, context.api_version, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    # What the same coordinator sends next must not be written before.
    return in_slices_if(_is_large(request), partial(_write_all, view, request), is_exclusive=True)


def _is_large(request: WriteTxnMarkersRequest) -> bool:
    # Markers and topics count, too: they may have no partitions.
    left = PARTITIONS_AT_ONCE
    for marker in request.markers:
        left -= 1
        for topic in marker.topics:
            left -= 1 + len(topic.partition_indexes)
            if left < 0:
                return True
        if left < 0:
            return True
    return False


def _write_all(view: BrokerView, request: WriteTxnMarkersRequest, answer: Answer) -> Slices[None]:
    budget = SliceBudget()
    requested: list[_Requested] = []
    for marker in request.markers:
        if budget.spend(1):
            yield
        for topic in marker.topics:
            if budget.spend(1):
                yield
            for index in dict.fromkeys(topic.partition_indexes):
                requested.append((marker, topic.name, index))
                if budget.spend(1):
                    yield

    def finish(errors: Sequence[ErrorCode]) -> None:
        response = _response(requested, errors)
        answer(exhaust(response) if len(requested) <= PARTITIONS_AT_ONCE else AnswerInSlices(response))

    gathered: Gathered[ErrorCode] = Gathered(len(requested), guarded(answer, finish))
    for place, (marker, name, index) in enumerate(requested):
        view.broker.marker_writer.write(marker, TopicPartition(name, index), partial(gathered.put, place))
        if budget.spend(DECISION_VISITS):
            yield


def _response(requested: Sequence[_Requested], errors: Sequence[ErrorCode]) -> Slices[WriteTxnMarkersResponse]:
    # Kafka has one result for each producer and partition: of two markers, the second one's.
    producers: dict[int, dict[tuple[str, int], ErrorCode]] = {}
    budget = SliceBudget()
    for (marker, name, index), error in zip(requested, errors, strict=True):
        producers.setdefault(marker.producer_id, {})[name, index] = error
        if budget.spend(1):
            yield
    response = WriteTxnMarkersResponse(markers=[])
    for producer_id, results in producers.items():
        topics: dict[str, WritableTxnMarkerTopicResult] = {}
        for (name, index), error in results.items():
            topic = topics.get(name)
            if topic is None:
                topic = topics[name] = WritableTxnMarkerTopicResult(name, [])
            topic.partitions.append(WritableTxnMarkerPartitionResult(index, error))
            if budget.spend(1):
                yield
        response.markers.append(WritableTxnMarkerResult(producer_id, list(topics.values())))
    return response


ROUTE: Final[Route[BrokerView, WriteTxnMarkersRequest]] = Route(
    BrokerView, WriteTxnMarkersRequest, handle, elements_max=NODE_ELEMENTS_MAX
)
