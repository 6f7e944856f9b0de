"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup of members of the classic protocol in consumer groups.

Their generation is their member epoch. The coordinator assigns: no member is made the leader, a JoinGroup gets its
response at once, and a SyncGroup fetches what the member may own by now. A member that has to revoke partitions, or
could get more, is told to join again.

Differs from Kafka: 4.3 and later tell a member to join again only when there is a new assignment; none is computed
before a member asks for one, and where all members use the classic protocol none would. For the same reason a Heartbeat
refreshes the group's topics when that is due: in Kafka only members of the consumer protocol notice that one has grown.
Source: KIP-848, "Migrating"; Kafka's GroupMetadataManager, classicGroupJoinToConsumerGroup and its neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from falkirk.coordinator.classic.joining import Joining
from falkirk.coordinator.classic.leaves import leaving_members
from falkirk.coordinator.classic.responses import join_error, leave_error, left, sync_error
from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.consumer.group_update import GroupUpdate
from falkirk.coordinator.consumer.heartbeat_checks import static_member_refusal
from falkirk.coordinator.consumer.member import ConsumerGroupMember, MemberState
from falkirk.coordinator.conversion.classic_joins import ClassicJoins
from falkirk.coordinator.conversion.downgrade import encode_assignment, subscription_version
from falkirk.coordinator.runtime.outcome import Outcome, Reply
from falkirk.protocol.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import HeartbeatResponse, SyncGroupResponse
from falkirk.protocol.messages.leave_group_response import MemberResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.coordinator.classic.protocol import ClassicProtocol
    from falkirk.coordinator.conversion.group_conversions import GroupConversions
    from falkirk.coordinator.runtime.client import ClientContext
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.outcome import Token
    from falkirk.protocol.messages import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest
    from falkirk.protocol.messages.leave_group_request import MemberIdentity
    from falkirk.protocol.schema import WireMessage


class MixedProtocol:
    """One for each shard; the group of each request is a consumer group."""

    def __init__(self, context: ShardContext, classic: ClassicProtocol, conversions: GroupConversions) -> None:
        self._context = context
        self._classic = classic
        self._consumer = conversions.consumer
        self._timers = conversions.timers
        self._joins = ClassicJoins(context, conversions)

    def join_group(self, client: ClientContext, request: JoinGroupRequest, token: Token) -> Outcome:
        """Apply a JoinGroup (key 11), v0-9. An empty group is replaced by a classic one, under any policy."""
        group = self._group(request.group_id)
        error = self._classic.join_request_error(request)
        if error is not ErrorCode.NONE:
            return _reply(token, join_error(client.api_version, error, request.member_id))
        if group.is_empty:
            return self._join_anew(group, client, request, token)
        return self._joins.join(group, Joining(client, request, token))

    def sync_group(self, client: ClientContext, request: SyncGroupRequest, token: Token) -> Outcome:
        """Apply a SyncGroup (key 14), v0-5."""
        error = self._classic.sync_request_error(client, request)
        if error is not ErrorCode.NONE:
            return _reply(token, sync_error(error))
        group = self._group(request.group_id)
        member = _classic_member(group, request.member_id, request.group_instance_id, request.generation_id)
        if isinstance(member, ErrorCode):
            return _reply(token, sync_error(member))
        error = _protocol_error(member, request)
        if error is ErrorCode.NONE and _is_behind(member, GroupUpdate(self._consumer.services, group).due_epoch):
            self._timers.expect_join(group.group_id, member)
            error = ErrorCode.REBALANCE_IN_PROGRESS
        if error is not ErrorCode.NONE:
            return _reply(token, sync_error(error))
        self._timers.synced(group.group_id, member.member_id)
        self._consumer.timers.start_session(group.group_id, member)
        response = SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=self._assignment(member),
        )
        return _reply(token, response)

    def heartbeat(self, client: ClientContext, request: HeartbeatRequest, token: Token) -> Outcome:  # noqa: ARG002
        """Apply a Heartbeat (key 12), v0-4."""
        group = self._group(request.group_id)
        member = _classic_member(group, request.member_id, request.group_instance_id, request.generation_id)
        if isinstance(member, ErrorCode):
            return _reply(token, HeartbeatResponse(error_code=member))
        self._consumer.timers.start_session(group.group_id, member)
        update = GroupUpdate(self._consumer.services, group)
        if update.is_refresh_due:
            update.refresh_subscription(is_bumped=False)
        error = ErrorCode.NONE
        if member.member_epoch < update.due_epoch or _has_to_join(group, member):
            self._timers.expect_join(group.group_id, member)
            error = ErrorCode.REBALANCE_IN_PROGRESS
        return Outcome(records=update.records, replies=[Reply(token, HeartbeatResponse(error_code=error))])

    def leave_group(self, client: ClientContext, request: LeaveGroupRequest, token: Token) -> Outcome:
        """Apply a LeaveGroup (key 13), v0-5. An operator may remove members of either protocol with it.

        Before 4.0 it does not know members of the consumer protocol, and a static member needs its member id in the
        request; 3.7 has no such group: GROUP_ID_NOT_FOUND.
        """
        release = self._context.release
        if not release.mixes_group_protocols:
            return Outcome(replies=[Reply(token, leave_error(ErrorCode.GROUP_ID_NOT_FOUND))])
        removes_all = release.leave_group_removes_consumers
        group = self._group(request.group_id)
        members: dict[str, ConsumerGroupMember] = {}
        responses = []
        for leaving in leaving_members(request, client.api_version):
            member = _leaving_member(group, leaving)
            response = MemberResponse(member_id=leaving.member_id, group_instance_id=leaving.group_instance_id)
            responses.append(response)
            if isinstance(member, ErrorCode):
                response.error_code = member
            elif removes_all:
                members[member.member_id] = member
            elif member.uses_classic_protocol:
                response.member_id = member.member_id
                members[member.member_id] = member
            else:
                response.error_code = ErrorCode.UNKNOWN_MEMBER_ID
        reply = Reply(token, left(client.api_version, responses))
        if not members:
            return Outcome(replies=[reply])
        outcome = self._consumer.remove(group, list(members.values()))
        return replace(outcome, replies=[*outcome.replies, reply])

    def _group(self, group_id: str) -> ConsumerGroup:
        group = self._context.groups[group_id]
        assert isinstance(group, ConsumerGroup)
        return group

    def _join_anew(
        self, group: ConsumerGroup, client: ClientContext, request: JoinGroupRequest, token: Token
    ) -> Outcome:
        """Replace an empty consumer group by a classic one; its tombstones go with the new group's first record."""
        groups = self._context.groups
        del groups[group.group_id]
        outcome = self._classic.join_group(client, request, token)
        if not outcome.records:
            groups[group.group_id] = group
            return outcome

        def on_refused(error: ErrorCode) -> Sequence[Reply]:
            assert outcome.on_refused is not None
            replies = outcome.on_refused(error)
            groups[group.group_id] = group
            return replies

        return replace(outcome, records=[*group.deletion_records(), *outcome.records], on_refused=on_refused)

    def _assignment(self, member: ConsumerGroupMember) -> bytes:
        assert member.classic_metadata is not None
        version = subscription_version(member.classic_metadata.supported_protocols[0].metadata)
        return encode_assignment(member.assigned, self._context.topics, version)


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int
) -> ConsumerGroupMember | ErrorCode:
    """Return the member of the classic protocol that sent a request, or the error."""
    if instance_id is None:
        member = group.members.get(member_id)
    else:
        member = group.static_member(instance_id)
        refusal = static_member_refusal(member, member_id, instance_id)
        if refusal is not None:
            return refusal.error_code
    if member is None or not member.uses_classic_protocol:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return member if member.member_epoch == generation_id else ErrorCode.ILLEGAL_GENERATION


def _leaving_member(group: ConsumerGroup, leaving: MemberIdentity) -> ConsumerGroupMember | ErrorCode:
    if leaving.group_instance_id is None:
        return group.members.get(leaving.member_id) or ErrorCode.UNKNOWN_MEMBER_ID
    member = group.static_member(leaving.group_instance_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    # An operator takes out a static member without knowing its member id.
    return member if leaving.member_id in {"", member.member_id} else ErrorCode.FENCED_INSTANCE_ID


def _protocol_error(member: ConsumerGroupMember, request: SyncGroupRequest) -> ErrorCode:
    is_other_type = request.protocol_type not in {None, CONSUMER_PROTOCOL_TYPE}
    is_other_name = request.protocol_name not in {None, member.classic_protocols[0]}
    return ErrorCode.INCONSISTENT_GROUP_PROTOCOL if is_other_type or is_other_name else ErrorCode.NONE


def _is_behind(member: ConsumerGroupMember, due_epoch: int) -> bool:
    """Return whether a member has not joined the latest rebalance; one that revokes partitions has."""
    return due_epoch > member.member_epoch and member.state is not MemberState.UNREVOKED_PARTITIONS


def _has_to_join(group: ConsumerGroup, member: ConsumerGroupMember) -> bool:
    """Return whether a member has to revoke partitions, or what it waits for is free by now."""
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        return True
    return member.state is MemberState.UNRELEASED_PARTITIONS and not group.is_waiting_for_partitions(member)


def _reply(token: Token, response: WireMessage) -> Outcome:
    return Outcome(replies=(Reply(token, response),))
