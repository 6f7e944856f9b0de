"""DescribeTopicPartitions (key 75), v0: topics page by page, with eligible leader replicas. KIP-966.

Behaviour: brokers answer, from their image: topics sorted by name, from the cursor on, with at most as many partitions
as the request and max.request.partition.size.limit allow. The response's cursor is the start of the next page. No
topics in the request stand for all that the client may describe. Needs DESCRIBE on a topic, else
TOPIC_AUTHORIZATION_FAILED for it, whether it exists or not; such topics are at the end of every page. INVALID_REQUEST
for a cursor whose topic is not in the request.
Version notes: there is one.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.metadata.controller.state.topic_names import reason_invalid_name
from falkirk.node.config.static_configs import static_value
from falkirk.node.handlers.parts.authorized_operations import authorized_topic_operations
from falkirk.node.handlers.parts.broker_endpoints import NO_NODE, BrokerEndpoints, broker_endpoints
from falkirk.node.handlers.parts.handler_result import AnswerInSlices
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.view import NodeView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from falkirk.protocol.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from falkirk.slices import DECISION_VISITS, SliceBudget

if TYPE_CHECKING:
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices


def handle(
    view: NodeView, context: RequestContext, request: DescribeTopicPartitionsRequest
) -> WireMessage | AnswerInSlices:
    """Return one page."""
    reason = _reason_cursor_invalid(request)
    if reason is not None:
        return error_response(request, context.api_version, ErrorCode.INVALID_REQUEST, reason)
    return AnswerInSlices(_page(view, context, request))


def _page(view: NodeView, context: RequestContext, request: DescribeTopicPartitionsRequest) -> Slices[WireMessage]:
    start = "" if request.cursor is None else request.cursor.topic_name
    is_all = not request.topics
    requested = view.image.topics.by_name if is_all else {topic.name for topic in request.topics}
    names = sorted(name for name in requested if name >= start)
    page, budget = _Page(view, context, request), SliceBudget()
    refused = []
    for name in names:
        if budget.spend(DECISION_VISITS):
            yield
        if not view.authorizer.is_allowed(context, AclOperation.DESCRIBE, ResourceType.TOPIC, name):
            if not is_all:
                refused.append(name)
        elif page.add(name) and is_all:
            break
    for name in refused:
        page.refuse(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return page.response


def _reason_cursor_invalid(request: DescribeTopicPartitionsRequest) -> str | None:
    cursor = request.cursor
    if cursor is None:
        return None
    if request.topics and cursor.topic_name not in {topic.name for topic in request.topics}:
        return f"DescribeTopicPartitionsRequest topic list should contain the cursor topic: {cursor.topic_name}"
    if cursor.partition_index < 0:
        return f"DescribeTopicPartitionsRequest cursor partition must be valid: {cursor.partition_index}"
    return None


class _Page:
    """A response that is being filled."""

    def __init__(self, view: NodeView, context: RequestContext, request: DescribeTopicPartitionsRequest) -> None:
        # A topic, or the name of one with its error.
        self._topics: list[DescribeTopicPartitionsResponseTopic | tuple[str, ErrorCode]] = []
        self.response = DescribeTopicPartitionsResponse(topics=mapped_array(self._described, self._topics))
        self._view = view
        self._context = context
        self._cursor = request.cursor
        self._brokers = broker_endpoints(view.image.cluster, context.listener)
        most = static_value(view.static_configs, view.release, "max.request.partition.size.limit")
        assert isinstance(most, int)
        self._left = max(min(most, request.response_partition_limit), 1)

    def add(self, name: str) -> bool:
        """Add a topic as far as the limit allows, or set the cursor to it; return True if the page is full."""
        topic = self._view.image.topics.topic(name)
        if self.response.next_cursor is not None:
            return True
        if self._left == 0:
            self.response.next_cursor = Cursor(name, 0)
        elif topic is None:
            is_possible = reason_invalid_name(name) is None
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_possible else ErrorCode.INVALID_TOPIC_EXCEPTION
            self.refuse(name, code)
        else:
            self._add_topic(topic)
        return self.response.next_cursor is not None

    def refuse(self, name: str, error_code: ErrorCode) -> None:
        """Add a topic with an error."""
        self._topics.append((name, error_code))

    def _described(
        self, topic: DescribeTopicPartitionsResponseTopic | tuple[str, ErrorCode]
    ) -> DescribeTopicPartitionsResponseTopic:
        if isinstance(topic, DescribeTopicPartitionsResponseTopic):
            return topic
        name, error_code = topic
        described = DescribeTopicPartitionsResponseTopic(error_code=error_code, name=name)
        if error_code != ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            described.is_internal = name in self._view.release.internal_topics
            described.topic_authorized_operations = authorized_topic_operations(self._view, self._context, name)
        return described

    def _add_topic(self, topic: Topic) -> None:
        cursor = self._cursor
        first = cursor.partition_index if cursor is not None and cursor.topic_name == topic.name else 0
        end = first + self._left
        partitions = [
            _describe(self._brokers, index, partition) for index, partition in islice(topic.items(), first, end)
        ]
        self._topics.append(
            DescribeTopicPartitionsResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                is_internal=topic.name in self._view.release.internal_topics,
                partitions=partitions,
                topic_authorized_operations=authorized_topic_operations(self._view, self._context, topic.name),
            )
        )
        if end < topic.partition_count:
            self.response.next_cursor = Cursor(topic.name, end)
        self._left -= len(partitions)


def _describe(brokers: BrokerEndpoints, index: int, partition: Partition) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        partition_index=index,
        leader_id=partition.leader if partition.leader in brokers.reachable else NO_NODE,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        eligible_leader_replicas=partition.eligible_leader_replicas,
        last_known_elr=partition.last_known_elr,
        offline_replicas=brokers.offline_replicas(partition),
    )


ROUTE: Final[Route[NodeView, DescribeTopicPartitionsRequest]] = Route(
    NodeView, DescribeTopicPartitionsRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
