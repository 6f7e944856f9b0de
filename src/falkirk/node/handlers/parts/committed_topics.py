"""The common part of OffsetCommit and TxnOffsetCommit: sort out topics, have the shard commit the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from falkirk.node.handlers.parts.group_requests import ask_group
from falkirk.node.handlers.parts.requested_topics import sort_topics
from falkirk.protocol.messages import OffsetCommitRequest, TxnOffsetCommitRequest
from falkirk.protocol.messages.offset_commit_response import OffsetCommitResponsePartition, OffsetCommitResponseTopic
from falkirk.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.coordinator.runtime.outcome import Outcome, Token
    from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.broker.coordinator_runtime.hosted_shard import Done
    from falkirk.node.handlers.parts.group_requests import Operation
    from falkirk.node.handlers.parts.handler_result import AnswerLater
    from falkirk.node.handlers.parts.requested_topics import SortedTopics
    from falkirk.node.handlers.parts.view import BrokerView
    from falkirk.protocol.error_codes import ErrorCode
    from falkirk.protocol.messages import OffsetCommitResponse, TxnOffsetCommitResponse

R = TypeVar("R", OffsetCommitRequest, TxnOffsetCommitRequest)
_PARTS: dict[type, tuple[Any, Any]] = {
    OffsetCommitRequest: (OffsetCommitResponseTopic, OffsetCommitResponsePartition),
    TxnOffsetCommitRequest: (TxnOffsetCommitResponseTopic, TxnOffsetCommitResponsePartition),
}


def commit_topics(
    view: BrokerView,
    context: RequestContext,
    request: R,
    response: OffsetCommitResponse | TxnOffsetCommitResponse,
    *,
    by_id: bool,
    operation: Callable[[GroupCoordinatorShard, R, Token], Outcome],
    client_error: Callable[[ErrorCode], ErrorCode],
    schedule: Callable[[Operation, Done], None] | None = None,
) -> OffsetCommitResponse | TxnOffsetCommitResponse | AnswerLater:
    """Have the group's shard commit the accepted topics; `response` is empty, and receives the refused ones, too.

    `by_id`: the request names topics by id. `client_error`: the client's error code for one of the log. `schedule`: as
    in `ask_group`.
    """
    topic_class, partition_class = _PARTS[type(request)]
    # Any: topics and partitions of either response.
    topics: dict[tuple[str, bytes], Any] = {}

    def partitions_of(name: str, topic_id: bytes) -> list[Any]:
        found = topics.get((name, topic_id))
        if found is None:
            found = topics[name, topic_id] = topic_class(name, topic_id, [])
            response.topics.append(found)
        partitions: list[Any] = found.partitions
        return partitions

    # Any: topics of either request.
    sorted_: SortedTopics[Any] = sort_topics(view, context, request.topics, by_id=by_id)
    for topic, index, error in sorted_.refused:
        partitions_of(topic.name, topic.topic_id).append(partition_class(index, error))
    if not sorted_.accepted:
        return response
    requested = replace(request, topics=sorted_.accepted)
    ids = {topic.name: topic.topic_id for topic in requested.topics}

    def merged(part: Any) -> OffsetCommitResponse | TxnOffsetCommitResponse:
        for topic in part.topics:
            partitions_of(topic.name, ids[topic.name]).extend(topic.partitions)
        return response

    return ask_group(
        view,
        context,
        requested,
        request.group_id,
        lambda shard, token: operation(shard, requested, token),
        client_error=client_error,
        change=merged,
        schedule=schedule,
    )
