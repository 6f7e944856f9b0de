"""The offsets of a shard: requests of clients, and state replayed from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.offsets.deleted_partitions import DeletedPartitions
from falkirk.coordinator.offsets.offset_commits import OffsetCommits, commit_refusal, transaction_refusal
from falkirk.coordinator.offsets.offset_expiry import OffsetExpiry
from falkirk.coordinator.offsets.offset_fetches import fetch_offsets
from falkirk.coordinator.offsets.offset_records import offset_position, offset_tombstone
from falkirk.coordinator.records.record_type import GroupType
from falkirk.coordinator.runtime.outcome import Outcome, Reply
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import OffsetDeleteResponse
from falkirk.protocol.messages.offset_delete_response import OffsetDeleteResponsePartition, OffsetDeleteResponseTopic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.coordinator.offsets.offset_store import OffsetStore
    from falkirk.coordinator.runtime.client import ClientContext
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.group import Group
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord, Token
    from falkirk.protocol.messages import OffsetCommitRequest, OffsetDeleteRequest, TxnOffsetCommitRequest
    from falkirk.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup


_CONSUMER = "consumer"


class OffsetManager:
    """`store` is the state, and changes only by replay; expiry and deleted topics are separate parts."""

    def __init__(self, context: ShardContext, store: OffsetStore) -> None:
        self.store = store
        self.expiry = OffsetExpiry(context, store)
        self.deleted_partitions = DeletedPartitions(context, store)
        self._context = context
        self._commits = OffsetCommits(context)

    def commit(self, client: ClientContext, request: OffsetCommitRequest, token: Token) -> tuple[ErrorCode, Outcome]:
        """Answer OffsetCommit; also return the error of the whole request."""
        error = self._commits.commit_error(client, request)
        if error is not ErrorCode.NONE:
            return error, commit_refusal(request, token, error)
        return error, self._commits.commit(request, token)

    def commit_pending(self, client: ClientContext, request: TxnOffsetCommitRequest, token: Token) -> Outcome:
        """Answer TxnOffsetCommit."""
        error = self._commits.transaction_commit_error(client, request)
        if error is not ErrorCode.NONE:
            return transaction_refusal(request, token, error)
        return self._commits.commit_pending(request, token)

    def fetch(self, request: OffsetFetchRequestGroup, token: Token, *, is_stable_required: bool) -> Outcome:
        """Answer one group of OffsetFetch."""
        response = fetch_offsets(self._context, self.store, request, is_stable_required=is_stable_required)
        return Outcome(replies=(Reply(token, response),))

    def delete(self, request: OffsetDeleteRequest, token: Token) -> Outcome:
        """Answer OffsetDelete: GROUP_SUBSCRIBED_TO_TOPIC for topics with a subscriber.

        The whole request fails if the group does not exist, or has members that are not consumers.
        """
        group = self._context.groups.get(request.group_id)
        error = _deletion_error(group)
        if group is None or error is not ErrorCode.NONE:
            return Outcome(replies=(Reply(token, OffsetDeleteResponse(error_code=error)),))
        records: list[CoordinatorRecord] = []
        topics = []
        for topic in request.topics:
            is_read = group.is_subscribed_to(topic.name)
            error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_read else ErrorCode.NONE
            indexes = [partition.partition_index for partition in topic.partitions]
            if not is_read:
                records += self._tombstones(request.group_id, topic.name, indexes)
            partitions = [OffsetDeleteResponsePartition(partition_index=index, error_code=error) for index in indexes]
            topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
        self._context.counters.offset_deletions += len(records)
        return Outcome(records=records, replies=(Reply(token, OffsetDeleteResponse(topics=topics)),))

    def tombstones_of(self, group_id: str) -> list[CoordinatorRecord]:
        """Return the tombstones of all offsets of a group, committed or pending."""
        positions = dict.fromkeys((*self.store.of_group(group_id), *self.store.pending_positions(group_id)))
        return [offset_tombstone(group_id, position) for position in positions]

    def _tombstones(self, group_id: str, topic: str, indexes: Iterable[int]) -> list[CoordinatorRecord]:
        positions = dict.fromkeys(offset_position(topic, index) for index in indexes)
        return [offset_tombstone(group_id, position) for position in positions if self._has(group_id, position)]

    def _has(self, group_id: str, position: bytes) -> bool:
        return self.store.get(group_id, position) is not None or self.store.is_pending(group_id, position)


def _deletion_error(group: Group | None) -> ErrorCode:
    # To Kafka share groups have no offsets of their own, hence are no groups here.
    if group is None or group.type is GroupType.SHARE:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if group.type is GroupType.CLASSIC and not group.is_empty and group.protocol_type != _CONSUMER:
        return ErrorCode.NON_EMPTY_GROUP
    return ErrorCode.NONE
