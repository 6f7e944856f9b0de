"""The classic group protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup of classic groups, and of new ones.

protocol = ClassicProtocol(context)
outcome = protocol.join_group(client, request, token)   # the same for sync_group, heartbeat, leave_group
protocol.replay(key, value)                             # from the log; then, for each group
outcome = protocol.loaded(group)

The members that have joined and the progress of a rebalance are kept in memory only. A group is written when its leader
has assigned, when it became empty, and when a static member got a new id. A new coordinator starts from the last of
these.

Differs from Kafka: the old coordinator (3.x) is not modelled apart, except that only the new one writes the record of a
new group: between protocols with equally many votes it may have chosen another, and it logs where we do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.classic.classic_records import group_metadata_record
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
from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.runtime.outcome import Outcome, Reply
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import HeartbeatResponse
from falkirk.protocol.messages.join_group_request import JoinGroupRequestProtocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.coordinator.runtime.client import ClientContext
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.outcome import Token
    from falkirk.protocol.messages import (
        GroupMetadataKey,
        GroupMetadataValue,
        HeartbeatRequest,
        JoinGroupRequest,
        LeaveGroupRequest,
        SyncGroupRequest,
    )
    from falkirk.protocol.schema import WireMessage


_FIRST_WITH_PROTOCOL = 5
_NO_TIMESTAMP = -1
# What stands for the rebalance timeout in records of before Kafka 0.10.1.
_NO_TIMEOUT = -1


class ClassicProtocol:
    """One for each shard. Groups are in `context.groups`; requests here are for classic or missing groups."""

    def __init__(self, context: ShardContext) -> None:
        self._context = context
        self._rebalances = Rebalances(context)
        self._joins = Joins(context, self._rebalances)
        self._syncs = Syncs(self._rebalances)
        self._leaves = Leaves(self._rebalances)

    # --- requests

    def join_request_error(self, request: JoinGroupRequest) -> ErrorCode:
        """Return the error of a request that no group accepts: NONE, INVALID_GROUP_ID or INVALID_SESSION_TIMEOUT."""
        settings = self._context.settings
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        lowest, highest = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
        return ErrorCode.NONE if lowest <= request.session_timeout_ms <= highest else ErrorCode.INVALID_SESSION_TIMEOUT

    def join_group(self, client: ClientContext, request: JoinGroupRequest, token: Token) -> Outcome:
        """Apply a JoinGroup to a classic or missing group; a member without an id creates the group."""
        error = self.join_request_error(request)
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

    def sync_request_error(self, client: ClientContext, request: SyncGroupRequest) -> ErrorCode:
        """Return the error of a request that no group accepts: NONE, INVALID_GROUP_ID or INCONSISTENT_GROUP_PROTOCOL.

        From version 5 on a member has to name the protocol it expects (KIP-559).
        """
        names_protocol = request.protocol_type is not None and request.protocol_name is not None
        if client.api_version >= _FIRST_WITH_PROTOCOL and not names_protocol:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return ErrorCode.NONE if request.group_id else ErrorCode.INVALID_GROUP_ID

    def sync_group(self, client: ClientContext, request: SyncGroupRequest, token: Token) -> Outcome:
        """Apply a SyncGroup (key 14), v0-5: the leader assigns, all others wait for it."""
        error = self.sync_request_error(client, request)
        group = self._find(request.group_id)
        if error is ErrorCode.NONE and (group is None or group.is_empty):
            error = ErrorCode.UNKNOWN_MEMBER_ID
        if group is None or error is not ErrorCode.NONE:
            return _reply(token, sync_error(error))
        decision = Decision()
        self._syncs.sync(group, request, WaitingRequest(token, client.api_version), decision)
        return decision.outcome()

    def heartbeat(self, client: ClientContext, request: HeartbeatRequest, token: Token) -> Outcome:  # noqa: ARG002
        """Apply a Heartbeat (key 12), v0-4: v3 has static members."""
        return _reply(token, HeartbeatResponse(error_code=self._heartbeat(request)))

    def leave_group(self, client: ClientContext, request: LeaveGroupRequest, token: Token) -> Outcome:
        """Apply a LeaveGroup (key 13), v0-5, of one member, from v3 on of several (KIP-345)."""
        decision = Decision()
        group = self._find(request.group_id)
        self._leaves.leave(group, request, WaitingRequest(token, client.api_version), decision)
        return decision.outcome()

    # --- the log

    def replay(self, key: GroupMetadataKey, value: GroupMetadataValue | None) -> None:
        """Create, replace or remove a group as a record says; the loader has checked the record."""
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
        """Begin to coordinate a loaded group: start its members' sessions, or rebalance if there are too many."""
        self.keep_members_alive(group)
        is_too_large = len(group.members) > self._context.settings.group_max_size
        return self.rebalance(group) if is_too_large else Outcome()

    # --- groups that come, go, or change their type

    def keep_members_alive(self, group: ClassicGroup) -> None:
        """Restart the sessions of all members."""
        for member in group.members.values():
            self._rebalances.keep_alive(group, member)

    def member_was_heard(self, group: ClassicGroup, member_id: str) -> None:
        """Restart a member's session after a commit, which shows that it is alive, unless its SyncGroup is awaited."""
        member = group.members.get(member_id)
        if member is not None and group.state is not ClassicGroupState.COMPLETING_REBALANCE:
            self._rebalances.keep_alive(group, member)

    def rebalance(self, group: ClassicGroup) -> Outcome:
        """Make all members of a group join again."""
        decision = Decision()
        self._rebalances.prepare_or_complete(group, decision)
        return decision.outcome()

    def remove_members(self, group: ClassicGroup, member_ids: Iterable[str]) -> Outcome:
        """Remove members and make the others join again."""
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
        """Remove a group and its timers; no request waits for it."""
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
        error = group.member_error(request.member_id, request.group_instance_id)
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
