"""One partition of `__consumer_offsets`: finds the group of a request and passes it to the part for the group's type.

    shard = GroupCoordinatorShard(context)
    loader = PartitionLoader(shard)                           # replays the log; then
    outcome = exhaust(shard.loaded())
    context.now_ms = now_ms
    outcome = shard.join_group(client, request, token)        # an Outcome: `outcome.py` says how to handle it
    shard.replay(record, data, offset=17, producer=None)      # as soon as a record of it has an offset

Groups of types that are not coordinated here are answered as Kafka answers for a group of the wrong type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy_extensions import mypyc_attr

from falkirk.coordinator.classic.description import describe
from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.classic.leaves import leaving_members
from falkirk.coordinator.classic.protocol import ClassicProtocol
from falkirk.coordinator.classic.responses import join_error, left, sync_error
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.consumer.description import described_group, no_consumer_group
from falkirk.coordinator.conversion.group_conversions import GroupConversions
from falkirk.coordinator.conversion.mixed_protocol import MixedProtocol
from falkirk.coordinator.offsets.offset_manager import OffsetManager
from falkirk.coordinator.offsets.offset_records import offset_position_of
from falkirk.coordinator.offsets.offset_store import OffsetStore
from falkirk.coordinator.records.loader_rules import loader_rules
from falkirk.coordinator.runtime.outcome import NOTHING, Outcome, Reply
from falkirk.coordinator.shard.foreign_group import ForeignGroup
from falkirk.coordinator.shard.group_replay import GroupReplay
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatResponse,
    DescribeGroupsResponse,
    HeartbeatResponse,
    OffsetCommitKey,
)
from falkirk.protocol.messages.delete_groups_response import DeletableGroupResult
from falkirk.protocol.messages.leave_group_response import MemberResponse
from falkirk.protocol.messages.list_groups_response import ListedGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence

    from falkirk.coordinator.runtime.client import ClientContext
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.group import Group
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord, KeyAndValue, Producer, Token
    from falkirk.coordinator.runtime.topics import Topics
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
    from falkirk.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup
    from falkirk.protocol.schema import WireStruct

GROUPS_AT_ONCE = 500
"""How many groups are looked through, or begin to be coordinated, in one slice: some 10 ms."""


@mypyc_attr(allow_interpreted_subclasses=True)
class GroupCoordinatorShard:
    """State is in `context.groups` and `offsets.store`. Replies are whole responses, except for multi-group requests.

    For OffsetFetch, DescribeGroups, ConsumerGroupDescribe and DeleteGroups a reply is one group's part:
    OffsetFetchResponseGroup, DescribedGroup (of either response), DeletableGroupResult. Throttle times are 0.
    """

    def __init__(self, context: ShardContext) -> None:
        self._rules = loader_rules(context.release, context.kind)
        self.context = context
        self.offsets = OffsetManager(
            context,
            OffsetStore(tombstones_end_pending=context.is_tolerant or self._rules.tombstones_end_pending_offsets),
        )
        self.classic = ClassicProtocol(context)
        conversions = GroupConversions(context, self.classic)
        self.consumer = conversions.consumer
        self.mixed = MixedProtocol(context, self.classic, conversions)
        self.replays = GroupReplay(context, self.offsets.store, self.classic, self.consumer)

    # --- Members

    def join_group(self, client: ClientContext, request: JoinGroupRequest, token: Token) -> Outcome:
        """Answer JoinGroup with a JoinGroupResponse, often later."""
        if self._is_foreign(request.group_id):
            return _reply(token, join_error(client.api_version, ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        return self._protocol_of(request.group_id).join_group(client, request, token)

    def sync_group(self, client: ClientContext, request: SyncGroupRequest, token: Token) -> Outcome:
        """Answer SyncGroup with a SyncGroupResponse, often later."""
        if self._is_foreign(request.group_id):
            return _reply(token, sync_error(ErrorCode.UNKNOWN_MEMBER_ID))
        return self._protocol_of(request.group_id).sync_group(client, request, token)

    def heartbeat(self, client: ClientContext, request: HeartbeatRequest, token: Token) -> Outcome:
        """Answer Heartbeat with a HeartbeatResponse."""
        if self._is_foreign(request.group_id):
            return _reply(token, HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        return self._protocol_of(request.group_id).heartbeat(client, request, token)

    def leave_group(self, client: ClientContext, request: LeaveGroupRequest, token: Token) -> Outcome:
        """Answer LeaveGroup with a LeaveGroupResponse."""
        if self._is_foreign(request.group_id):
            responses = [
                MemberResponse(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    error_code=ErrorCode.UNKNOWN_MEMBER_ID,
                )
                for member in leaving_members(request, client.api_version)
            ]
            return _reply(token, left(client.api_version, responses))
        return self._protocol_of(request.group_id).leave_group(client, request, token)

    def consumer_group_heartbeat(
        self,
        client: ClientContext,
        request: ConsumerGroupHeartbeatRequest,
        token: Token,
        *,
        is_describable: Callable[[str], bool],
    ) -> Outcome:
        """Answer with a ConsumerGroupHeartbeatResponse; `is_describable`: whether a regex may match a topic."""
        if self._is_foreign(request.group_id):
            message = f"Group {request.group_id} is not a consumer group."
            response = ConsumerGroupHeartbeatResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message=message)
            return _reply(token, response)
        return self.consumer.heartbeat(client, request, token, is_describable=is_describable)

    # --- Offsets

    def commit_offsets(self, client: ClientContext, request: OffsetCommitRequest, token: Token) -> Outcome:
        """Answer OffsetCommit with an OffsetCommitResponse; the request's topics exist and are authorized."""
        error, outcome = self.offsets.commit(client, request, token)
        group = self.context.groups.get(request.group_id)
        if error is ErrorCode.NONE and isinstance(group, ClassicGroup):
            self.classic.member_was_heard(group, request.member_id)
        return outcome

    def commit_transactional_offsets(
        self, client: ClientContext, request: TxnOffsetCommitRequest, token: Token
    ) -> Outcome:
        """Answer TxnOffsetCommit with a TxnOffsetCommitResponse; `Outcome.producer` is the request's."""
        return self.offsets.commit_pending(client, request, token)

    def delete_offsets(self, client: ClientContext, request: OffsetDeleteRequest, token: Token) -> Outcome:  # noqa: ARG002
        """Answer OffsetDelete with an OffsetDeleteResponse."""
        return self.offsets.delete(request, token)

    def fetch_offsets(
        self,
        client: ClientContext,  # noqa: ARG002
        group: OffsetFetchRequestGroup,
        token: Token,
        *,
        is_stable_required: bool,
    ) -> Outcome:
        """Answer with an OffsetFetchResponseGroup; `group.topics` None: all. Topics go by name; ids are kept."""
        return self.offsets.fetch(group, token, is_stable_required=is_stable_required)

    # --- Groups

    def list_groups(self, states: Sequence[str], types: Sequence[str]) -> list[ListedGroup]:
        """Return the groups in these states and of these types, ignoring case; none given: all."""
        wanted_states = {state.strip().lower() for state in states}
        wanted_types = {type_.lower() for type_ in types}
        listed = []
        for group in self.context.groups.values():
            state = group.state_name
            if wanted_states and state.lower() not in wanted_states:
                continue
            if wanted_types and group.type.value not in wanted_types:
                continue
            listed.append(
                ListedGroup(
                    group_id=group.group_id,
                    protocol_type=group.protocol_type,
                    group_state=state,
                    group_type=group.type.value,
                )
            )
        return listed

    def describe_groups(self, client: ClientContext, group_ids: Iterable[str], token: Token) -> Outcome:
        """Answer groups of DescribeGroups with a DescribeGroupsResponse that leaves out those that do not exist."""
        groups = [describe(group.group_id, group, client.api_version) for group in self._existing(group_ids)]
        return _reply(token, DescribeGroupsResponse(groups=groups))

    def describe_consumer_groups(self, group_ids: Iterable[str], token: Token) -> Outcome:
        """Answer groups of ConsumerGroupDescribe, as `describe_groups`."""
        groups = [
            described_group(self.consumer.services, group)
            if isinstance(group, ConsumerGroup)
            else no_consumer_group(group.group_id, group)
            for group in self._existing(group_ids)
        ]
        return _reply(token, ConsumerGroupDescribeResponse(groups=groups))

    def delete_group(self, client: ClientContext, group_id: str, token: Token) -> Outcome:  # noqa: ARG002
        """Answer one group of DeleteGroups with its DeletableGroupResult; its offsets are deleted, too."""
        group = self.context.groups.get(group_id)
        error = ErrorCode.GROUP_ID_NOT_FOUND if group is None else group.deletion_error()
        reply = Reply(token, DeletableGroupResult(group_id=group_id, error_code=error))
        if group is None or error is not ErrorCode.NONE:
            return Outcome(replies=(reply,))
        records = self.offsets.tombstones_of(group_id)
        self.context.counters.offset_deletions += len(records)
        return Outcome(records=[*records, *group.deletion_records()], replies=(reply,))

    # --- The log, and the cluster

    def replay(self, record: CoordinatorRecord, data: KeyAndValue, *, offset: int, producer: Producer | None) -> None:
        """Replay a written record; with a producer it is pending until the transaction ends.

        `data`: its bytes in the log.
        """
        key = record.key
        if isinstance(key, OffsetCommitKey):
            position = offset_position_of(data.key)
            producer_id = None if producer is None else producer.producer_id
            self.replays.replay_offset(key.group, position, data.value, log_offset=offset, producer_id=producer_id)
        else:
            self.replays.replay(record)

    def as_written(self, records: Sequence[CoordinatorRecord]) -> Sequence[CoordinatorRecord]:
        """Return an outcome's records as they are to be written and replayed: see KeptTags."""
        return self.replays.kept_tags.restore(records)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply a transaction marker."""
        self.offsets.store.end_transaction(producer_id, is_commit=is_commit)

    def loaded(self) -> Generator[None, None, Outcome]:
        """Begin to coordinate the loaded groups, some in each slice: start members' sessions and pending work."""
        replies: list[Reply] = []
        for number, group in enumerate(list(self.context.groups.values()), 1):
            if isinstance(group, ClassicGroup):
                outcome = self.classic.loaded(group)
                assert not outcome.records, "a rebalance begins with time to join"
                replies += outcome.replies
            elif isinstance(group, ConsumerGroup):
                self.consumer.loaded(group)
            if number % GROUPS_AT_ONCE == 0:
                yield
        self.offsets.expiry.start()
        if self.context.is_tolerant or self._rules.any_value_makes_consumer_group:
            # Others would fail at such tombstones when they load.
            self.replays.orphaned_records.bury()
        return Outcome(replies=replies)

    def topics_changed(self, topics: Topics, changed: Collection[str]) -> Outcome:
        """Apply a newer image; `changed`: the topics that were created, deleted, moved, or got partitions."""
        self.context.topics = topics
        self.consumer.topics_changed(changed)
        return NOTHING

    def partitions_deleted(self, partitions: Iterable[tuple[str, int]]) -> Outcome:
        """Return the tombstones of deleted partitions' offsets, or of the first of them."""
        return self.offsets.deleted_partitions.delete(partitions)

    def _is_foreign(self, group_id: str) -> bool:
        return isinstance(self.context.groups.get(group_id), ForeignGroup)

    def _protocol_of(self, group_id: str) -> ClassicProtocol | MixedProtocol:
        """Return the part that handles a group's requests of the classic protocol."""
        return self.mixed if isinstance(self.context.groups.get(group_id), ConsumerGroup) else self.classic

    def _existing(self, group_ids: Iterable[str]) -> Iterator[Group]:
        groups = self.context.groups
        return filter(None, map(groups.get, group_ids))


def _reply(token: Token, response: WireStruct) -> Outcome:
    return Outcome(replies=(Reply(token, response),))
