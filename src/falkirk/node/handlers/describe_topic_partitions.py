"""DescribeTopicPartitions (key 75), v0: topics page by page, with eligible leader replicas. KIP-966.

Behaviour: brokers tell what they know of, topics in the order of their names, as many partitions as the request wants
and max.request.partition.size.limit allows, from the cursor on; the answer's cursor says where to go on. Without topics
all are told that may be seen. Needs DESCRIBE on a topic, else TOPIC_AUTHORIZATION_FAILED for it, whether it is there or
not; such topics stand at the end of every page. A cursor of a topic that was not asked for is INVALID_REQUEST.
Version notes: there is one.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acl_types import AclOperation
from falkirk.metadata.controller.topic_names import why_invalid
from falkirk.node.broker_configs import static_value
from falkirk.node.handlers.authorized_operations import authorized_topic_operations
from falkirk.node.handlers.broker_endpoints import NO_NODE, BrokerEndpoints, broker_endpoints
from falkirk.node.handlers.handler import NodeView, Route
from falkirk.node.handlers.topic_authorization import allowed_topics
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from falkirk.protocol.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

if TYPE_CHECKING:
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.protocol.schema import WireMessage


def handle(view: NodeView, context: RequestContext, request: WireMessage) -> WireMessage:
    """Tell a page."""
    assert isinstance(request, DescribeTopicPartitionsRequest)
    reason = _why_cursor_is_invalid(request)
    if reason is not None:
        return error_response(request, context.api_version, ErrorCode.INVALID_REQUEST, reason)
    start = "" if request.cursor is None else request.cursor.topic_name
    is_all = not request.topics
    asked = view.image.topics.by_name if is_all else {topic.name for topic in request.topics}
    names = sorted(name for name in asked if name >= start)
    page = _Page(view, context, request)
    refused = []
    for name in names:
        if name not in allowed_topics(view, context, AclOperation.DESCRIBE, (name,)):
            if not is_all:
                refused.append(name)
        elif page.add(name) and is_all:
            break
    for name in refused:
        page.refuse(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return page.response


def _why_cursor_is_invalid(request: DescribeTopicPartitionsRequest) -> str | None:
    cursor = request.cursor
    if cursor is None:
        return None
    if request.topics and cursor.topic_name not in {topic.name for topic in request.topics}:
        return f"DescribeTopicPartitionsRequest topic list should contain the cursor topic: {cursor.topic_name}"
    if cursor.partition_index < 0:
        return f"DescribeTopicPartitionsRequest cursor partition must be valid: {cursor.partition_index}"
    return None


class _Page:
    """An answer as it fills."""

    def __init__(self, view: NodeView, context: RequestContext, request: DescribeTopicPartitionsRequest) -> None:
        self.response = DescribeTopicPartitionsResponse(topics=[])
        self._view = view
        self._context = context
        self._cursor = request.cursor
        self._brokers = broker_endpoints(view.image.cluster, context.listener)
        most = static_value(view.static_configs, view.release, "max.request.partition.size.limit")
        assert isinstance(most, int)
        self._left = max(min(most, request.response_partition_limit), 1)

    def add(self, name: str) -> bool:
        """Tell a topic as far as there is room, or say that it comes next; True if nothing more goes on the page."""
        topic = self._view.image.topics.topic(name)
        if self.response.next_cursor is not None:
            return True
        if self._left == 0:
            self.response.next_cursor = Cursor(name, 0)
        elif topic is None:
            is_possible = why_invalid(name) is None
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_possible else ErrorCode.INVALID_TOPIC_EXCEPTION
            refused = self.refuse(name, code)
            refused.is_internal = name in self._view.release.internal_topics
            refused.topic_authorized_operations = authorized_topic_operations(self._view, self._context, name)
        else:
            self._add_topic(topic)
        return self.response.next_cursor is not None

    def refuse(self, name: str, error_code: ErrorCode) -> DescribeTopicPartitionsResponseTopic:
        """Tell nothing but an error."""
        topic = DescribeTopicPartitionsResponseTopic(error_code=error_code, name=name)
        self.response.topics.append(topic)
        return topic

    def _add_topic(self, topic: Topic) -> None:
        cursor = self._cursor
        first = cursor.partition_index if cursor is not None and cursor.topic_name == topic.name else 0
        end = first + self._left
        partitions = [
            _describe(self._brokers, index, partition) for index, partition in islice(topic.items(), first, end)
        ]
        self.response.topics.append(
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


ROUTE: Final = Route(api_key=75, handler=handle, needs_controller=False)
