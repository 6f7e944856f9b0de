"""One partition of `__consumer_offsets`: finds the group of a request and lets the part answer that knows its type.

shard = GroupCoordinatorShard(context)
shard.replay(record, offset=17, producer=None)            # what stands in the log; then
outcome = shard.loaded()
context.now_ms = now_ms
outcome = shard.join_group(client, request, token)        # an Outcome: see `outcome.py` for what becomes of it
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from falkirk.coordinator.shard.client import ClientContext
    from falkirk.coordinator.shard.context import ShardContext
    from falkirk.coordinator.shard.outcome import CoordinatorRecord, Outcome, Producer, Token
    from falkirk.coordinator.shard.topics import Topics
    from falkirk.protocol.messages import (
        ConsumerGroupHeartbeatRequest,
        HeartbeatRequest,
        JoinGroupRequest,
        LeaveGroupRequest,
        OffsetCommitRequest,
        OffsetDeleteRequest,
        SyncGroupRequest,
        TxnOffsetCommitRequest,
    )
    from falkirk.protocol.messages.list_groups_response import ListedGroup
    from falkirk.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup


class GroupCoordinatorShard:
    """State is in `context.groups` and `offsets`; replies carry whole responses, but for requests of many groups.

    Of OffsetFetch, DescribeGroups, ConsumerGroupDescribe and DeleteGroups a reply carries one group's part:
    OffsetFetchResponseGroup, DescribedGroup (of either response), DeletableGroupResult. Throttle times are 0.
    """

    def __init__(self, context: ShardContext) -> None:
        self.context = context

    def join_group(self, client: ClientContext, request: JoinGroupRequest, token: Token) -> Outcome:
        """Answer JoinGroup with a JoinGroupResponse, often later."""
        raise NotImplementedError

    def sync_group(self, client: ClientContext, request: SyncGroupRequest, token: Token) -> Outcome:
        """Answer SyncGroup with a SyncGroupResponse, often later."""
        raise NotImplementedError

    def heartbeat(self, client: ClientContext, request: HeartbeatRequest, token: Token) -> Outcome:
        """Answer Heartbeat with a HeartbeatResponse."""
        raise NotImplementedError

    def leave_group(self, client: ClientContext, request: LeaveGroupRequest, token: Token) -> Outcome:
        """Answer LeaveGroup with a LeaveGroupResponse."""
        raise NotImplementedError

    def consumer_group_heartbeat(
        self,
        client: ClientContext,
        request: ConsumerGroupHeartbeatRequest,
        token: Token,
        *,
        is_describable: Callable[[str], bool],
    ) -> Outcome:
        """Answer with a ConsumerGroupHeartbeatResponse; `is_describable` says which topics a regex may find."""
        raise NotImplementedError

    def commit_offsets(self, client: ClientContext, request: OffsetCommitRequest, token: Token) -> Outcome:
        """Answer OffsetCommit with an OffsetCommitResponse; topics are those that exist and may be read."""
        raise NotImplementedError

    def commit_transactional_offsets(
        self, client: ClientContext, request: TxnOffsetCommitRequest, token: Token
    ) -> Outcome:
        """Answer TxnOffsetCommit with a TxnOffsetCommitResponse; `Outcome.producer` is the request's."""
        raise NotImplementedError

    def delete_offsets(self, client: ClientContext, request: OffsetDeleteRequest, token: Token) -> Outcome:
        """Answer OffsetDelete with an OffsetDeleteResponse."""
        raise NotImplementedError

    def fetch_offsets(
        self, client: ClientContext, group: OffsetFetchRequestGroup, token: Token, *, is_stable_required: bool
    ) -> Outcome:
        """Answer with an OffsetFetchResponseGroup; `group.topics` None: all. Topics go by name here, ids are kept."""
        raise NotImplementedError

    def list_groups(self, states: Sequence[str], types: Sequence[str]) -> list[ListedGroup]:
        """Give the groups in these states and of these types, whatever their case; none named: all."""
        raise NotImplementedError

    def describe_group(self, client: ClientContext, group_id: str, token: Token) -> Outcome:
        """Answer one group of DescribeGroups with its DescribedGroup."""
        raise NotImplementedError

    def describe_consumer_group(self, client: ClientContext, group_id: str, token: Token) -> Outcome:
        """Answer one group of ConsumerGroupDescribe with its DescribedGroup."""
        raise NotImplementedError

    def delete_group(self, client: ClientContext, group_id: str, token: Token) -> Outcome:
        """Answer one group of DeleteGroups with its DeletableGroupResult."""
        raise NotImplementedError

    def replay(self, record: CoordinatorRecord, *, offset: int, producer: Producer | None) -> None:
        """Apply a record of ours that got an offset; what stands in the log when a shard begins, a PartitionLoader applies.

        With a producer the record waits for the end of its transaction.
        """
        raise NotImplementedError

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply a marker."""
        raise NotImplementedError

    def loaded(self) -> Outcome:
        """Begin to coordinate what was loaded: timers start, groups that have to be converted are."""
        raise NotImplementedError

    def topics_changed(self, topics: Topics, changed: Collection[str]) -> Outcome:
        """Take a newer image; `changed` names the topics that were made, deleted, or got partitions."""
        raise NotImplementedError

    def partitions_deleted(self, partitions: Iterable[tuple[str, int]]) -> Outcome:
        """Give the tombstones of offsets of topics' partitions that are gone for good."""
        raise NotImplementedError
