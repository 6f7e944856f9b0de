"""DescribeProducers (key 61), v0: the active idempotent producers of partitions. KIP-664.

Behaviour: needs READ on each topic, else TOPIC_AUTHORIZATION_FAILED for it; INVALID_TOPIC_EXCEPTION for an invalid
name, UNKNOWN_TOPIC_OR_PARTITION. Any replica answers, else NOT_LEADER_OR_FOLLOWER.
Version notes: there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.metadata.controller.state.topic_names import reason_invalid_name
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.topic_authorization import TOPIC_AUTHORIZATION_FAILED
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import DescribeProducersRequest, DescribeProducersResponse
from falkirk.protocol.messages.describe_producers_response import PartitionResponse, ProducerState, TopicResponse
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.messages.describe_producers_request import TopicRequest

_UNKNOWN: Final = "This server does not host this topic-partition."


def handle(view: BrokerView, context: RequestContext, request: DescribeProducersRequest) -> DescribeProducersResponse:
    """Describe the producers."""

    def described(topic: TopicRequest) -> TopicResponse:
        refused = _topic_error(view, context, topic.name)

        def producers(index: int) -> PartitionResponse:
            if refused is not None:
                return PartitionResponse(index, *refused)
            return _producers(view, TopicPartition(topic.name, index))

        return TopicResponse(topic.name, mapped_array(producers, topic.partition_indexes))

    return DescribeProducersResponse(topics=mapped_array(described, request.topics))


def _topic_error(view: BrokerView, context: RequestContext, name: str) -> tuple[ErrorCode, str] | None:
    invalid = reason_invalid_name(name)
    if invalid is not None:
        return ErrorCode.INVALID_TOPIC_EXCEPTION, invalid
    if not view.authorizer.is_allowed(context, AclOperation.READ, ResourceType.TOPIC, name):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED
    if view.image.topics.topic(name) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _UNKNOWN
    return None


def _producers(view: BrokerView, partition: TopicPartition) -> PartitionResponse:
    log = view.broker.replicas.log(partition)
    if isinstance(log, ErrorCode):
        return PartitionResponse(partition.partition, log)
    producers = [
        ProducerState(
            producer.producer_id,
            producer.producer_epoch,
            producer.last_sequence,
            producer.timestamp,
            producer.coordinator_epoch,
            producer.current_transaction_first_offset,
        )
        for producer in log.active_producers()
    ]
    return PartitionResponse(partition.partition, active_producers=producers)


ROUTE: Final[Route[BrokerView, DescribeProducersRequest]] = Route(
    BrokerView, DescribeProducersRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
