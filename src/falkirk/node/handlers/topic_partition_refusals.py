"""Topics of a request about offsets: which go on to the group's shard, what the others are told (Kafka's KafkaApis)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from msgspec.structs import replace

from falkirk.metadata.acl_types import AclOperation, ResourceType
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.node.handlers.handler import NodeView


class AskedPartition(Protocol):
    """A partition as requests have it."""

    partition_index: int


class AskedTopic(Protocol):
    """A topic as requests have it, with partitions; some requests name it by id."""

    name: str

    @property
    def partitions(self) -> Sequence[AskedPartition]:
        """Its partitions."""
        ...


T = TypeVar("T", bound=AskedTopic)


class SortedTopics(Generic[T]):
    """`accepted`: topics with those of their partitions that there are; `refused`: (topic, partition, error)."""

    def __init__(self) -> None:
        self.accepted: list[T] = []
        self.refused: list[tuple[T, int, ErrorCode]] = []


def sort_topics(
    view: NodeView, context: RequestContext, topics: Iterable[T], *, by_id: bool = False
) -> SortedTopics[T]:
    """Sort topics, whose offsets are to be written, by who may READ them and whether they are there.

    UNKNOWN_TOPIC_ID for an id that nobody knows; TOPIC_AUTHORIZATION_FAILED; UNKNOWN_TOPIC_OR_PARTITION. Topics get
    the name or the id that the request lacks.
    """
    result: SortedTopics[T] = SortedTopics()
    for asked in topics:
        topic = _named(view, asked, by_id=by_id)
        error = _topic_error(view, context, topic)
        left = []
        for partition in topic.partitions:
            index = partition.partition_index
            why = error
            if why is ErrorCode.NONE and view.image.topics.partition(topic.name, index) is None:
                why = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if why is ErrorCode.NONE:
                left.append(partition)
            else:
                result.refused.append((topic, index, why))
        if left:
            whole = len(left) == len(topic.partitions)
            result.accepted.append(topic if whole else replace(topic, partitions=left))  # type: ignore[type-var]
    return result


def _named(view: NodeView, asked: T, *, by_id: bool) -> T:
    if not hasattr(asked, "topic_id"):
        return asked
    if by_id:
        return replace(asked, name=view.image.topics.names.get(asked.topic_id, ""))  # type: ignore[type-var]
    known = view.image.topics.topic(asked.name)
    return replace(asked, topic_id=ZERO_UUID if known is None else known.topic_id)  # type: ignore[type-var]


def _topic_error(view: NodeView, context: RequestContext, topic: AskedTopic) -> ErrorCode:
    if not topic.name and getattr(topic, "topic_id", ZERO_UUID) != ZERO_UUID:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not view.authorizer.is_allowed(context, AclOperation.READ, ResourceType.TOPIC, topic.name):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NONE
