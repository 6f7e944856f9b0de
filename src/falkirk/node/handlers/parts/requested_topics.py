"""Topics of a request about offsets: those for the group's shard, and the errors of the others (Kafka's KafkaApis)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from msgspec.structs import replace

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.view import NodeView
    from falkirk.protocol.schema import WireStruct

OFFSETS_AT_ONCE: Final = 1_000
"""Offsets of a request that one step reads or writes: to write one takes some 8 us."""
C = TypeVar("C", bound="WireStruct")


class RequestedPartition(Protocol):
    """A partition in a request."""

    partition_index: int


class RequestedTopic(Protocol):
    """A topic in a request, by name or, in some, by id."""

    name: str

    @property
    def partitions(self) -> Sequence[RequestedPartition]:
        """The partitions in the request."""
        ...


T = TypeVar("T", bound=RequestedTopic)


class SortedTopics(Generic[T]):
    """`accepted`: topics with their existing partitions; `refused`: (topic, partition, error)."""

    def __init__(self) -> None:
        self.accepted: list[T] = []
        self.refused: list[tuple[T, int, ErrorCode]] = []


def topic_chunks(topics: Iterable[C], *, partitions: str) -> Iterator[list[C]]:
    """Yield the topics of a large request in chunks that one step can do; one with many partitions is in several.

    `partitions`: the field that has a topic's partitions. Topics count, too: they may have none.
    """
    chunk: list[C] = []
    left = OFFSETS_AT_ONCE
    for topic in topics:
        wanted = getattr(topic, partitions)
        start = 0
        while True:
            part = wanted[start : start + max(1, left)]
            chunk.append(topic if len(part) == len(wanted) else replace(topic, **{partitions: part}))
            start += len(part)
            left -= len(part) + 1
            if left <= 0:
                yield chunk
                chunk, left = [], OFFSETS_AT_ONCE
            if start >= len(wanted):
                break
    if chunk:
        yield chunk


def has_many_offsets(topics: Iterable[WireStruct], *, partitions: str) -> bool:
    """Return whether the topics of a request are more than one of the chunks of `topic_chunks`."""
    return sum([1 + len(getattr(topic, partitions)) for topic in topics]) > OFFSETS_AT_ONCE


def sort_topics(
    view: NodeView, context: RequestContext, topics: Iterable[T], *, by_id: bool = False
) -> SortedTopics[T]:
    """Sort topics by authorization (READ) and existence, before their offsets are written.

    UNKNOWN_TOPIC_ID for an unknown id; TOPIC_AUTHORIZATION_FAILED; UNKNOWN_TOPIC_OR_PARTITION. Topics get the name or
    the id that the request lacks.
    """
    result: SortedTopics[T] = SortedTopics()
    for requested in topics:
        topic = _named(view, requested, by_id=by_id)
        error = _topic_error(view, context, topic)
        left = []
        for partition in topic.partitions:
            index = partition.partition_index
            partition_error = error
            if partition_error is ErrorCode.NONE and view.image.topics.partition(topic.name, index) is None:
                partition_error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if partition_error is ErrorCode.NONE:
                left.append(partition)
            else:
                result.refused.append((topic, index, partition_error))
        if left:
            whole = len(left) == len(topic.partitions)
            result.accepted.append(topic if whole else replace(topic, partitions=left))  # type: ignore[type-var]
    return result


def _named(view: NodeView, requested: T, *, by_id: bool) -> T:
    if not hasattr(requested, "topic_id"):
        return requested
    if by_id:
        return replace(requested, name=view.image.topics.names.get(requested.topic_id, ""))  # type: ignore[type-var]
    known = view.image.topics.topic(requested.name)
    return replace(requested, topic_id=ZERO_UUID if known is None else known.topic_id)  # type: ignore[type-var]


def _topic_error(view: NodeView, context: RequestContext, topic: RequestedTopic) -> ErrorCode:
    if not topic.name and getattr(topic, "topic_id", ZERO_UUID) != ZERO_UUID:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not view.authorizer.is_allowed(context, AclOperation.READ, ResourceType.TOPIC, topic.name):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NONE
