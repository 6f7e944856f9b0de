"""OffsetFetch (key 9), v0-10: the committed offsets of groups. KIP-88, KIP-447, KIP-709, KIP-848.

Behaviour: needs DESCRIBE on each group, else GROUP_AUTHORIZATION_FAILED for it, and on each topic: named topics are
TOPIC_AUTHORIZATION_FAILED without it, of all topics they are left out. UNKNOWN_TOPIC_ID for an unknown id. v0 is
UNSUPPORTED_VERSION: its offsets were stored in ZooKeeper.
Version notes: v2 accepts null for all topics and adds an error of the group, v5 leader epochs, v7 waits for open
transactions on request; v8 accepts many groups, v9 adds the member, v10 names topics by id.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec.structs import replace

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.node.broker.group_coordinator.operation_errors import fetch_error
from falkirk.node.handlers.parts.coordinator_requests import KEYS_AT_ONCE, Gathered, client_of, schedule_in_slices
from falkirk.node.handlers.parts.group_requests import is_group_allowed
from falkirk.node.handlers.parts.handler_result import AnswerLater, guarded
from falkirk.node.handlers.parts.requested_topics import has_many_offsets, topic_chunks
from falkirk.node.handlers.parts.route import PARTITION_ELEMENTS_MAX, Route
from falkirk.node.handlers.parts.topic_authorization import allowed_topics
from falkirk.node.handlers.parts.view import BrokerView
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import OffsetFetchRequest, OffsetFetchResponse
from falkirk.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from falkirk.protocol.messages.offset_fetch_response import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from falkirk.protocol.schema import ZERO_UUID
from falkirk.slices import DECISION_VISITS, SliceBudget, exhaust

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.handlers.parts.handler_result import Answer
    from falkirk.node.sliced_work import Slices
    from falkirk.protocol.schema import WireMessage, WireStruct

_COORDINATOR_SINCE: Final = 1
_GROUP_ERROR_SINCE: Final = 2
_GROUPS_SINCE: Final = 8
_IDS_SINCE: Final = 10

_Part: TypeAlias = tuple[int, OffsetFetchRequestGroup]


def handle(view: BrokerView, context: RequestContext, request: OffsetFetchRequest) -> WireMessage | AnswerLater:
    """Have the shards of the groups answer."""
    if context.api_version < _COORDINATOR_SINCE:
        return error_response(request, context.api_version, ErrorCode.UNSUPPORTED_VERSION)
    return AnswerLater(partial(_fetch, view, context, request))


def _fetch(view: BrokerView, context: RequestContext, request: OffsetFetchRequest, answer: Answer) -> None:
    version = context.api_version
    groups = request.groups if version >= _GROUPS_SINCE else [_only_group(request)]
    # Of a group with many topics, some at a time.
    parts: list[_Part] = []

    def finish(fetched: Sequence[OffsetFetchResponseGroup]) -> None:
        whole = fetched if len(parts) == len(groups) else _whole(parts, fetched)
        if version >= _GROUPS_SINCE:
            answer(OffsetFetchResponse(groups=list(whole)))
        else:
            answer(_as_only_group(groups[0], whole[0], version))

    def ask() -> Slices:
        yield from _split(groups, parts)
        gathered = Gathered(len(parts), guarded(answer, finish))

        def schedule(start: int, end: int) -> None:
            for place, (_, group) in enumerate(parts[start:end], start):
                if not is_group_allowed(view, context, AclOperation.DESCRIBE, group.group_id):
                    gathered.put(place, _failed(group, ErrorCode.GROUP_AUTHORIZATION_FAILED))
                else:
                    _ask(view, context, request, group, gathered=gathered, place=place, answer=answer)

        is_split = len(parts) > len(groups)
        schedule_in_slices(view.broker.groups, len(parts), schedule, at_once=1 if is_split else KEYS_AT_ONCE)

    if len(groups) > KEYS_AT_ONCE or any(map(_is_large, groups)):
        view.broker.groups.start_work("requests to coordinators", ask())
    else:
        exhaust(ask())


def _split(groups: Sequence[OffsetFetchRequestGroup], parts: list[_Part]) -> Slices:
    """Add the parts of groups, each with its group's place."""
    budget = SliceBudget()
    for number, group in enumerate(groups):
        if group.topics is None or not _is_large(group):
            parts.append((number, group))
            if budget.spend(DECISION_VISITS):
                yield
            continue
        for topics in topic_chunks(group.topics, partitions="partition_indexes"):
            parts.append((number, replace(group, topics=topics)))
            yield


def _is_large(group: OffsetFetchRequestGroup) -> bool:
    return group.topics is not None and has_many_offsets(group.topics, partitions="partition_indexes")


def _whole(parts: Sequence[_Part], fetched: Sequence[OffsetFetchResponseGroup]) -> Sequence[OffsetFetchResponseGroup]:
    """Return what was fetched of each group."""
    whole: dict[int, OffsetFetchResponseGroup] = {}
    for (number, _), part in zip(parts, fetched, strict=True):
        known = whole.get(number)
        whole[number] = part if known is None else _joined(known, part)
    return list(whole.values())


def _joined(known: OffsetFetchResponseGroup, part: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
    """Add what was fetched of some more topics of a group; an error is one of all."""
    if known.error_code or part.error_code:
        return known if known.error_code else part
    topics = part.topics
    if (
        known.topics
        and topics
        and (known.topics[-1].name, known.topics[-1].topic_id)
        == (
            topics[0].name,
            topics[0].topic_id,
        )
    ):
        known.topics[-1].partitions.extend(topics[0].partitions)
        topics = topics[1:]
    known.topics.extend(topics)
    return known


def _ask(
    view: BrokerView,
    context: RequestContext,
    request: OffsetFetchRequest,
    group: OffsetFetchRequestGroup,
    *,
    gathered: Gathered[OffsetFetchResponseGroup],
    place: int,
    answer: Answer,
) -> None:
    named = None if group.topics is None else [_named(view, topic, context.api_version) for topic in group.topics]
    allowed, refused = named, list[tuple[OffsetFetchRequestTopics, ErrorCode]]()
    if named is not None:
        allowed, refused = _sort_out(view, context, named)
    requested = replace(group, topics=allowed)
    client = client_of(context)

    def done(result: WireStruct | ErrorCode) -> None:
        if isinstance(result, ErrorCode):
            gathered.put(place, _failed(group, fetch_error(result)))
            return
        assert isinstance(result, OffsetFetchResponseGroup)
        if result.error_code == ErrorCode.NONE:
            if allowed is None:
                result = replace(result, topics=_visible(view, context, result.topics))
            else:
                result = replace(result, topics=[*result.topics, *(_refused(*each) for each in refused)])
        gathered.put(place, result)

    view.broker.groups.schedule(
        group.group_id,
        lambda shard, token: shard.fetch_offsets(client, requested, token, is_stable_required=request.require_stable),
        guarded(answer, done),
    )


def _only_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(topic.name, partition_indexes=topic.partition_indexes) for topic in request.topics
        ]
    return OffsetFetchRequestGroup(request.group_id, topics=topics)


def _as_only_group(
    requested: OffsetFetchRequestGroup, part: OffsetFetchResponseGroup, version: int
) -> OffsetFetchResponse:
    if version < _GROUP_ERROR_SINCE and part.error_code:
        # This version has no error for the group.
        return OffsetFetchResponse(
            topics=[
                OffsetFetchResponseTopic(
                    topic.name,
                    [
                        OffsetFetchResponsePartition(index, committed_offset=-1, error_code=part.error_code)
                        for index in topic.partition_indexes
                    ],
                )
                for topic in requested.topics or ()
            ]
        )
    topics = [
        OffsetFetchResponseTopic(
            topic.name,
            [
                OffsetFetchResponsePartition(
                    each.partition_index,
                    each.committed_offset,
                    each.committed_leader_epoch,
                    each.metadata,
                    each.error_code,
                )
                for each in topic.partitions
            ],
        )
        for topic in part.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=part.error_code)


def _named(view: BrokerView, topic: OffsetFetchRequestTopics, version: int) -> OffsetFetchRequestTopics:
    """Return a topic with the name of its id, without one if the id is unknown."""
    if version < _IDS_SINCE:
        return topic
    return replace(topic, name=view.image.topics.names.get(topic.topic_id, ""))


def _sort_out(
    view: BrokerView, context: RequestContext, topics: Sequence[OffsetFetchRequestTopics]
) -> tuple[list[OffsetFetchRequestTopics], list[tuple[OffsetFetchRequestTopics, ErrorCode]]]:
    may_see = allowed_topics(view, context, AclOperation.DESCRIBE, {topic.name for topic in topics})
    allowed, refused = [], []
    for topic in topics:
        if context.api_version >= _IDS_SINCE and not topic.name:
            refused.append((topic, ErrorCode.UNKNOWN_TOPIC_ID))
        elif topic.name in may_see:
            allowed.append(topic)
        else:
            refused.append((topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    return allowed, refused


def _refused(topic: OffsetFetchRequestTopics, error: ErrorCode) -> OffsetFetchResponseTopics:
    partitions = [
        OffsetFetchResponsePartitions(index, committed_offset=-1, error_code=error) for index in topic.partition_indexes
    ]
    return OffsetFetchResponseTopics(topic.name, topic.topic_id, partitions)


def _visible(
    view: BrokerView, context: RequestContext, topics: Sequence[OffsetFetchResponseTopics]
) -> list[OffsetFetchResponseTopics]:
    """Return the topics that the client may describe; in versions with ids, those that still have one."""
    may_see = allowed_topics(view, context, AclOperation.DESCRIBE, {topic.name for topic in topics})
    seen = [topic for topic in topics if topic.name in may_see]
    if context.api_version < _IDS_SINCE:
        return seen
    with_ids = []
    for topic in seen:
        known = view.image.topics.topic(topic.name)
        topic_id = topic.topic_id
        if topic_id == ZERO_UUID and known is not None:
            topic_id = known.topic_id
        if topic_id != ZERO_UUID:
            with_ids.append(replace(topic, topic_id=topic_id))
    return with_ids


def _failed(group: OffsetFetchRequestGroup, error: ErrorCode) -> OffsetFetchResponseGroup:
    return OffsetFetchResponseGroup(group.group_id, [], error)


ROUTE: Final[Route[BrokerView, OffsetFetchRequest]] = Route(
    BrokerView, OffsetFetchRequest, handle, elements_max=PARTITION_ELEMENTS_MAX
)
