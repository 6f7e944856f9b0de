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
from falkirk.node.handlers.parts.handler_result import AnswerLater
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

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.protocol.messages.write_txn_markers_request import WritableTxnMarker
    from falkirk.protocol.schema import WireMessage

    _Result: TypeAlias = tuple[WritableTxnMarker, str, int, ErrorCode]

_OPERATIONS: Final = (AclOperation.ALTER, AclOperation.CLUSTER_ACTION)


def handle(view: BrokerView, context: RequestContext, request: WriteTxnMarkersRequest) -> WireMessage | AnswerLater:
    """Write the markers, and answer when they are committed."""
    if not any(is_cluster_operation_allowed(view, context, each) for each in _OPERATIONS):
        return error_response(request, context.api_version, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return AnswerLater(partial(_write_all, view, request))


def _write_all(view: BrokerView, request: WriteTxnMarkersRequest, answer: Answer) -> None:
    requested = [
        (marker, topic.name, index)
        for marker in request.markers
        for topic in marker.topics
        for index in dict.fromkeys(topic.partition_indexes)
    ]

    def finish(results: Sequence[_Result]) -> None:
        answer(_response(results))

    gathered: Gathered[_Result] = Gathered(len(requested), finish)
    for place, (marker, topic, index) in enumerate(requested):
        done = partial(_put, gathered, place, (marker, topic, index))
        view.broker.marker_writer.write(marker, TopicPartition(topic, index), done)


def _put(
    gathered: Gathered[_Result], place: int, requested: tuple[WritableTxnMarker, str, int], error: ErrorCode
) -> None:
    gathered.put(place, (*requested, error))


def _response(results: Sequence[_Result]) -> WriteTxnMarkersResponse:
    # Kafka has one result for each producer and partition: of two markers, the second one's.
    markers: dict[int, dict[str, dict[int, ErrorCode]]] = {}
    for marker, topic, index, error in results:
        markers.setdefault(marker.producer_id, {}).setdefault(topic, {})[index] = error
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id,
                [
                    WritableTxnMarkerTopicResult(
                        topic, [WritableTxnMarkerPartitionResult(index, error) for index, error in errors.items()]
                    )
                    for topic, errors in topics.items()
                ],
            )
            for producer_id, topics in markers.items()
        ]
    )


ROUTE: Final[Route[BrokerView, WriteTxnMarkersRequest]] = Route(
    BrokerView, WriteTxnMarkersRequest, handle, elements_max=NODE_ELEMENTS_MAX
)
