"""The classic group protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup of groups that are classic, or not yet.

protocol = ClassicProtocol(context)
outcome = protocol.join_group(client, request, token)   # the same for sync_group, heartbeat, leave_group
protocol.replay(key, value)                             # from the log; then, for each group
outcome = protocol.loaded(group)

Who joins, and how far a rebalance is, stands in memory alone; written down is a group when its leader has assigned,
when it became empty, and when a static member got a new id. A coordinator that takes over has the last of these.

Differs from Kafka: the old coordinator (3.x) is not told apart, but for the record of a new group, which only the new
one writes: between protocols with equally many votes it may have chosen another, and it logs where we are silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.classic.decision import Decision
from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.classic.joining import Joining
from falkirk.coordinator.classic.joins import Joins
from falkirk.coordinator.classic.leaves import Leaves
from falkirk.coordinator.classic.member import ClassicMember, WaitingRequest
from falkirk.coordinator.classic.rebalances import Rebalances
from falkirk.coordinator.classic.responses import join_error, sync_error
from falkirk.coordinator.classic.state import ClassicGroupState
from falkirk.coordinator.classic.syncs import Syncs
from falkirk.coordinator.loader_rules import CoordinatorKind
from falkirk.coordinator.records.classic_records import group_metadata_record
from falkirk.coordinator.shard.outcome import Outcome, Reply
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import HeartbeatResponse
from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.coordinator.shard.client import ClientContext
    from falkirk.coordinator.shard.context import ShardContext
    from falkirk.coordinator.shard.outcome import Token
    from falkirk.protocol.messages import (
        GroupMetadataKey,
        GroupMetadataValue,
        HeartbeatRequest,
        JoinGroupRequest,
        LeaveGroupRequest,
        SyncGroupRequest,
    )
    from falkirk.protocol.schema import WireMessage


class ClassicProtocol:
    """One for each shard. Groups are in `context.groups`: those of requests are classic ones, or not there."""

    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self._rebalances = Rebalances(context)
        self._joins = Joins(context, self._rebalances)
        self._syncs = Syncs(self._rebalances)
        self._leaves = Leaves(self._rebalances)

    # --- requests

    def why_join_refused(self, request: JoinGroupRequest) -> ErrorCode:
        """Say whether any group would take such a request: NONE, INVALID_GROUP_ID or INVALID_SESSION_TIMEOUT."""
        settings = self._context.settings
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        lowest, highest = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
        return ErrorCode.NONE if lowest <= request.session_timeout_ms <= highest else ErrorCode.INVALID_SESSION_TIMEOUT

    def join_group(self, client: ClientContext, request: JoinGroupRequest, token: Token) -> Outcome:
        """Take a JoinGroup to a group that is classic or not there; a member without an id makes the group."""
        error = self.why_join_refused(request)
        group = self._find(request.group_id)
        if error is ErrorCode.NONE and group is None and request.member_id:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if error is not ErrorCode.NONE:
            return _reply(token, join_error(client.api_version, error, request.member_id))
        decision = Decision()
        joining = Joining(client, request, token)
        if group is not None:
            self._joins.join(group, joining, decision)
            return decision.outcome()
        group = ClassicGroup(request.group_id, now_ms=self._context.now_ms)
        # Written as it is before anybody joins: for a coordinator that takes over it is there, and empty.
        record = group_metadata_record(group)
        self._context.groups[group.group_id] = group
        self._joins.join(group, joining, decision)
        if self._context.kind is CoordinatorKind.NEW:
            decision.record = record
            decision.on_refused = lambda error: self._unmake(group, joining, error)
        return decision.outcome()

    def why_sync_refused(self, client: ClientContext, request: SyncGroupRequest) -> ErrorCode:
        """Say whether any group would take such a request: NONE, INVALID_GROUP_ID or INCONSISTENT_GROUP_PROTOCOL.

        From version 5 on a member has to say which protocol it believes in (KIP-559).
        """
        names_protocol = request.protocol_type is not None and request.protocol_name is not None
        if client.api_version >= _FIRST_WITH_PROTOCOL and not names_protocol:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.NONE if request.group_id else ErrorCode.INVALID_GROUP_ID

    def sync_group(self, client: ClientContext, request: SyncGroupRequest, token: Token) -> Outcome:
        """Take a SyncGroup (key 14), v0-5: the leader assigns, everybody else waits for it."""
        error = self.why_sync_refused(client, request)
        group = self._find(request.group_id)
        if error is ErrorCode.NONE and (group is None or group.is_empty):
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if group is None or error is not ErrorCode.NONE:
            return _reply(token, sync_error(error))
        decision = Decision()
        self._syncs.sync(group, request, WaitingRequest(token, client.api_version), decision)
        return decision.outcome()

    def heartbeat(self, client: ClientContext, request: HeartbeatRequest, token: Token) -> Outcome:  # noqa: ARG002
        """Take a Heartbeat (key 12), v0-4: v3 has static members."""
        return _reply(token, HeartbeatResponse(error_code=self._heartbeat(request)))

    def leave_group(self, client: ClientContext, request: LeaveGroupRequest, token: Token) -> Outcome:
        """Take a LeaveGroup (key 13), v0-5, of one member, from v3 on of several (KIP-345)."""
        decision = Decision()
        group = self._find(request.group_id)
        self._leaves.leave(group, request, WaitingRequest(token, client.api_version), decision)
        return decision.outcome()

    # --- the log

    def replay(self, key: GroupMetadataKey, value: GroupMetadataValue | None) -> None:
        """Make, replace or remove a group as a record says; whoever reads the log has seen to it that it is sound."""
        if value is None:
            group = self._find(key.group)
            if group is not None:
                self.remove(group)
            return
        self._context.groups[key.group] = ClassicGroup.stable(
            key.group,
            _members(value),
            now_ms=None if value.current_state_timestamp == _NO_TIMESTAMP else value.current_state_timestamp,
            protocol_type=value.protocol_type,
            generation_id=value.generation,
            protocol_name=value.protocol,
            leader_id=value.leader or "",
        )

    def loaded(self, group: ClassicGroup) -> Outcome:
        """Begin to coordinate a group that was loaded: its members show that they live, too many have to join again."""
        self.keep_members_alive(group)
        is_too_large = len(group.members) > self._context.settings.group_max_size
        return self.rebalance(group) if is_too_large else Outcome()

    # --- groups that come, go, or change their type

    def keep_members_alive(self, group: ClassicGroup) -> None:
        """Begin the sessions of all members."""
        for member in group.members.values():
            self._rebalances.keep_alive(group, member)

    def member_was_heard(self, group: ClassicGroup, member_id: str) -> None:
        """Begin a member's session anew: a commit shows that it lives, unless it is to sync now."""
        member = group.members.get(member_id)
        if member is not None and group.state is not ClassicGroupState.COMPLETING_REBALANCE:
            self._rebalances.keep_alive(group, member)

    def rebalance(self, group: ClassicGroup) -> Outcome:
        """Have all members of a group join again."""
        decision = Decision()
        self._rebalances.prepare_or_complete(group, decision)
        return decision.outcome()

    def take_out(self, group: ClassicGroup, member_ids: Iterable[str]) -> Outcome:
        """Take out members that are gone, and have the others join again."""
        decision = Decision()
        for member_id in member_ids:
            self._rebalances.remove(group, group.members[member_id], decision)
        self._rebalances.prepare_or_complete(group, decision)
        return decision.outcome()

    def refuse_waiting(self, group: ClassicGroup, error: ErrorCode) -> Sequence[Reply]:
        """Refuse all JoinGroups and SyncGroups that wait."""
        decision = Decision()
        for member in group.members.values():
            self._rebalances.refuse_waiting(group, member, error, decision, member_id=member.member_id)
        return decision.replies

    def remove(self, group: ClassicGroup) -> None:
        """Forget a group and its timers; nobody waits for it."""
        self._rebalances.cancel_timers(group)
        del self._context.groups[group.group_id]

    # --- inside

    def _find(self, group_id: str) -> ClassicGroup | None:
        group = self._context.groups.get(group_id)
        assert group is None or isinstance(group, ClassicGroup)
        return group

    def _heartbeat(self, request: HeartbeatRequest) -> ErrorCode:
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        group = self._find(request.group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error = group.why_member_refused(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            return error
        if request.generation_id != group.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        self._rebalances.keep_alive(group, group.members[request.member_id])
        is_rebalancing = group.state is ClassicGroupState.PREPARING_REBALANCE
        return ErrorCode.REBALANCE_IN_PROGRESS if is_rebalancing else ErrorCode.NONE

    def _unmake(self, group: ClassicGroup, joining: Joining, error: ErrorCode) -> Sequence[Reply]:
        self.remove(group)
        return [Reply(joining.token, join_error(joining.client.api_version, error))]


_FIRST_WITH_PROTOCOL = 5
_NO_TIMESTAMP = -1
# What stands for the rebalance timeout in records of before Kafka 0.10.1.
_NO_TIMEOUT = -1


def _members(value: GroupMetadataValue) -> list[ClassicMember]:
    return [
        ClassicMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.session_timeout
            if member.rebalance_timeout == _NO_TIMEOUT
            else member.rebalance_timeout,
            session_timeout_ms=member.session_timeout,
            protocols=[JoinGroupRequestProtocol(name=value.protocol or "", metadata=member.subscription)],
            assignment=member.assignment,
        )
        for member in value.members
    ]


def _reply(token: Token, response: WireMessage) -> Outcome:
    return Outcome(replies=(Reply(token, response),))
