"""Topics of a request about offsets: those for the group's shard, and the errors of the others (Kafka's KafkaApis)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from msgspec.structs import replace

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.node.handlers.parts.coordinator_requests import Gathered
from falkirk.node.handlers.parts.handler_result import AnswerInSlices, AnswerLater, AnswerLaterInSlices, Failed
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.schema import ZERO_UUID, WireMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import Answer, LateAnswer
    from falkirk.node.handlers.parts.view import NodeView
    from falkirk.protocol.schema import WireStruct
    from falkirk.slices import Slices

OFFSETS_AT_ONCE: Final = 1_000
"""Offsets of a request that one step reads or writes: to write one takes some 8 us."""
C = TypeVar("C", bound="WireStruct")
R = TypeVar("R", bound=WireMessage)


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


def in_topic_chunks(
    request: R, handle: Callable[[R], WireMessage | AnswerLater]
) -> WireMessage | AnswerLater | AnswerLaterInSlices:
    """Have `handle` answer a request; of a large one it gets chunks of the topics, each in a step.

    Differs from Kafka: there all offsets of a request are one batch, and none is written if it is too large.
    """
    # Any: each request has topics of its own type.
    all_topics: Any = request.topics  # type: ignore[attr-defined]
    if not has_many_offsets(all_topics, partitions="partitions"):
        return handle(request)

    def start(answer: Answer) -> Slices[None]:
        chunks = []
        for topics in topic_chunks(all_topics, partitions="partitions"):
            chunks.append(topics)
            yield
        gathered: Gathered[Any] = Gathered(len(chunks), lambda parts: answer(AnswerInSlices(_joined(parts))))

        def put(place: int, part: LateAnswer) -> None:
            if isinstance(part, Failed):
                answer(part)
            else:
                gathered.put(place, part)

        for place, topics in enumerate(chunks):
            part = handle(replace(request, topics=topics))
            if isinstance(part, AnswerLater):
                part.start(partial(put, place))
            else:
                gathered.put(place, part)
            yield

    # What the client sends next must not overtake.
    return AnswerLaterInSlices(start, is_exclusive=True)


def _joined(parts: Sequence[Any]) -> Slices[Any]:
    """Return the responses to chunks of a request as one; a topic may be in several of them.

    An error of the whole request, which OffsetDelete may have, replaces everything.
    """
    response = parts[0]
    topics: dict[tuple[str, bytes], Any] = {}
    response_topics: list[Any] = []
    for part in parts:
        if getattr(part, "error_code", ErrorCode.NONE):
            return part
        for topic in part.topics:
            key = topic.name, getattr(topic, "topic_id", ZERO_UUID)
            known = topics.setdefault(key, topic)
            if known is topic:
                response_topics.append(topic)
            else:
                known.partitions.extend(topic.partitions)
        yield
    response.topics = response_topics
    return response


def has_many_offsets(topics: Iterable[WireStruct], *, partitions: str) -> bool:
    """Return whether the topics of a request are more than one of the chunks of `topic_chunks`."""
    left = OFFSETS_AT_ONCE
    for topic in topics:
        left -= 1 + len(getattr(topic, partitions))
        if left < 0:
            return True
    return False


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
        error = _topic_error(view, context, topic, by_id=by_id)
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


def _topic_error(view: NodeView, context: RequestContext, topic: RequestedTopic, *, by_id: bool) -> ErrorCode:
    if by_id and not topic.name:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not view.authorizer.is_allowed(context, AclOperation.READ, ResourceType.TOPIC, topic.name):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NONE
