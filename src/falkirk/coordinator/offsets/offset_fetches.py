"""OffsetFetch of one group: all of its committed offsets, or those of some partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.offsets.committed_offset import decode_offset
from falkirk.coordinator.offsets.offset_records import offset_position
from falkirk.coordinator.records.offset_commit import offset_topic_partition
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages.offset_fetch_response import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from falkirk.protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from falkirk.coordinator.offsets.offset_store import OffsetStore
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup


_NO_OFFSET: Final = -1


def fetch_offsets(
    context: ShardContext, store: OffsetStore, request: OffsetFetchRequestGroup, *, is_stable_required: bool
) -> OffsetFetchResponseGroup:
    """Return a group's offsets; -1 where there is none, or no such group.

    UNSTABLE_OFFSET_COMMIT for partitions with pending offsets, if stable ones are required. The whole group is refused
    (from v9 on) for a member that it does not have, or whose epoch differs.
    """
    group = context.groups.get(request.group_id)
    error = ErrorCode.NONE if group is None else group.fetch_error(request.member_id, request.member_epoch)
    is_missing = group is None or error is ErrorCode.GROUP_ID_NOT_FOUND
    if error is not ErrorCode.NONE and not is_missing:
        return OffsetFetchResponseGroup(group_id=request.group_id, topics=[], error_code=error)
    fetch = _Fetch(store, request.group_id, is_missing=is_missing, is_stable_required=is_stable_required)
    if request.topics is None:
        return OffsetFetchResponseGroup(group_id=request.group_id, topics=fetch.all_topics())
    topics = [
        OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[fetch.partition(topic.name, index, topic.topic_id) for index in topic.partition_indexes],
        )
        for topic in request.topics
    ]
    return OffsetFetchResponseGroup(group_id=request.group_id, topics=topics)


class _Fetch:
    def __init__(self, store: OffsetStore, group_id: str, *, is_missing: bool, is_stable_required: bool) -> None:
        # Offsets of a missing group are not served, even if there are any (see LoaderRules).
        self._offsets = {} if is_missing else store.of_group(group_id)
        self._unstable = store.pending_positions(group_id) if is_stable_required else ()

    def all_topics(self) -> list[OffsetFetchResponseTopics]:
        topics: dict[str, OffsetFetchResponseTopics] = {}
        for position, value in self._offsets.items():
            name, index = offset_topic_partition(position)
            topic = topics.get(name)
            if topic is None:
                topic = topics[name] = OffsetFetchResponseTopics(name=name, partitions=[])
            topic.partitions.append(self._answer(index, position, value, ZERO_UUID))
        return list(topics.values())

    def partition(self, topic: str, index: int, topic_id: bytes) -> OffsetFetchResponsePartitions:
        position = offset_position(topic, index)
        return self._answer(index, position, self._offsets.get(position), topic_id)

    def _answer(
        self, index: int, position: bytes, value: bytes | None, topic_id: bytes
    ) -> OffsetFetchResponsePartitions:
        if position in self._unstable:
            return _nothing(index, ErrorCode.UNSTABLE_OFFSET_COMMIT)
        if value is None:
            return _nothing(index)
        offset = decode_offset(value)
        # Of a topic of this name that was there before.
        if ZERO_UUID not in (topic_id, offset.topic_id) and topic_id != offset.topic_id:
            return _nothing(index)
        return OffsetFetchResponsePartitions(
            partition_index=index,
            committed_offset=offset.offset,
            committed_leader_epoch=offset.leader_epoch,
            metadata=offset.metadata,
        )


def _nothing(index: int, error: ErrorCode = ErrorCode.NONE) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=_NO_OFFSET,
        committed_leader_epoch=-1,
        metadata="",
        error_code=error,
    )
