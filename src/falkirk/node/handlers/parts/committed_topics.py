"""The common part of OffsetCommit and TxnOffsetCommit: sort out topics, have the shard commit the rest."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from falkirk.node.handlers.parts.coordinator_requests import Gathered
from falkirk.node.handlers.parts.group_requests import ask_group
from falkirk.node.handlers.parts.handler_result import AnswerLater, AnswerLaterInSlices
from falkirk.node.handlers.parts.requested_topics import has_many_offsets, sort_topics, topic_chunks
from falkirk.protocol.messages import OffsetCommitRequest, TxnOffsetCommitRequest
from falkirk.protocol.messages.offset_commit_response import OffsetCommitResponsePartition, OffsetCommitResponseTopic
from falkirk.protocol.messages.txn_offset_commit_response import (
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.coordinator.runtime.outcome import Outcome, Token
    from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.broker.coordinator_runtime.hosted_shard import Done
    from falkirk.node.handlers.parts.group_requests import Operation
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.node.handlers.parts.requested_topics import SortedTopics
    from falkirk.node.handlers.parts.view import BrokerView
    from falkirk.node.sliced_work import Slices
    from falkirk.protocol.error_codes import ErrorCode
    from falkirk.protocol.messages import OffsetCommitResponse, TxnOffsetCommitResponse
    from falkirk.protocol.schema import WireMessage

R = TypeVar("R", OffsetCommitRequest, TxnOffsetCommitRequest)
_PARTS: dict[type, tuple[Any, Any]] = {
    OffsetCommitRequest: (OffsetCommitResponseTopic, OffsetCommitResponsePartition),
    TxnOffsetCommitRequest: (TxnOffsetCommitResponseTopic, TxnOffsetCommitResponsePartition),
}


def commit_in_slices(
    request: R,
    commit: Callable[[R], WireMessage | AnswerLater],
) -> WireMessage | AnswerLater | AnswerLaterInSlices:
    """Commit the topics of a request with `commit`; those of a large one in chunks, each a batch of its own.

    Differs from Kafka: there all offsets of a request are one batch, and none is written if it is too large.
    """
    if not has_many_offsets(request.topics, partitions="partitions"):
        return commit(request)

    def start(answer: Answer) -> Slices:
        chunks = []
        for topics in topic_chunks(request.topics, partitions="partitions"):
            chunks.append(topics)
            yield
        gathered: Gathered[Any] = Gathered(len(chunks), lambda parts: answer(_joined(parts)))
        for place, topics in enumerate(chunks):
            part = commit(replace(request, topics=topics))
            if isinstance(part, AnswerLater):
                part.start(partial(gathered.put, place))
            else:
                gathered.put(place, part)
            yield

    # What the client commits next must not be written before.
    return AnswerLaterInSlices(start, is_exclusive=True)


def _joined(parts: Sequence[Any]) -> Any:
    """Return the responses to parts of a request as one; a topic may be in several of them."""
    response = parts[0]
    topics = {(topic.name, topic.topic_id): topic for topic in response.topics}
    for part in parts[1:]:
        for topic in part.topics:
            known = topics.setdefault((topic.name, topic.topic_id), topic)
            if known is topic:
                response.topics.append(topic)
            else:
                known.partitions.extend(topic.partitions)
    return response


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
