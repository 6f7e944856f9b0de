"""JoinGroup (key 11), v0-9, of classic groups.

Version notes: v1 has a rebalance timeout, before it is the session timeout; from v4 on a member without an id is
assigned one and joins again with it (KIP-394); v5 has static members (KIP-345); v7 returns the protocol type; from v9
on a static leader that comes back keeps the lead and skips the assignment (KIP-814).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.classic.member import ClassicMember
from falkirk.coordinator.classic.responses import join_error, joined
from falkirk.coordinator.classic.state import ClassicGroupState
from falkirk.coordinator.classic.static_members import replace_static_member
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.uuid import random_uuid

if TYPE_CHECKING:
    from falkirk.coordinator.classic.decision import Decision
    from falkirk.coordinator.classic.group import ClassicGroup
    from falkirk.coordinator.classic.joining import Joining
    from falkirk.coordinator.classic.rebalances import Rebalances
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.protocol.chance import Chance

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 5 * 60 * 1_000
"""How long a new member waits for a rebalance: it cannot send heartbeats, so its death would go unnoticed."""


_FIRST_WITH_KNOWN_ID = 4


class Joins:
    """Admits members to groups."""

    def __init__(self, context: ShardContext, rebalances: Rebalances) -> None:
        self._context = context
        self._rebalances = rebalances

    def join(self, group: ClassicGroup, joining: Joining, decision: Decision) -> None:
        """Apply a JoinGroup: respond now, or let its member wait for the rebalance."""
        request = joining.request
        if not self._has_room(group, request.member_id):
            self._rebalances.forget(group, request.member_id)
            _refuse(joining, ErrorCode.GROUP_MAX_SIZE_REACHED, "", decision)
        elif not group.supports(request.protocol_type, [protocol.name for protocol in request.protocols]):
            _refuse(joining, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id, decision)
        elif not request.member_id:
            self._join_new(group, joining, decision)
        elif request.member_id not in group.pending_joins:
            self._join_again(group, joining, decision)
        elif request.group_instance_id is None:
            self._add(group, joining, request.member_id, decision)
        else:
            # Static members need not join again with their id: no client of Kafka's does this.
            _refuse(joining, ErrorCode.UNKNOWN_SERVER_ERROR, request.member_id, decision)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """Return whether the group's size limit admits a member.

        During the join phase only waiting members count: if the limit was lowered, the last to join are rejected.
        """
        size_max = self._context.settings.group_max_size
        if group.is_empty:
            return True
        member = group.members.get(member_id)
        if group.state is ClassicGroupState.PREPARING_REBALANCE:
            return (member is not None and member.waiting_join is not None) or group.waiting_joins < size_max
        return member is not None or len(group.members) < size_max

    def _join_new(self, group: ClassicGroup, joining: Joining, decision: Decision) -> None:
        client, instance_id = joining.client, joining.request.group_instance_id
        member_id = _new_member_id(client.client_id if instance_id is None else instance_id, self._context.random)
        if instance_id is not None and instance_id in group.static_members:
            replace_static_member(self._rebalances, group, joining, member_id, decision)
        elif instance_id is None and client.api_version >= _FIRST_WITH_KNOWN_ID:
            group.pending_joins.add(member_id)
            self._rebalances.expect(group, member_id, joining.request.session_timeout_ms)
            _refuse(joining, ErrorCode.MEMBER_ID_REQUIRED, member_id, decision)
        else:
            self._add(group, joining, member_id, decision)

    def _join_again(self, group: ClassicGroup, joining: Joining, decision: Decision) -> None:
        request = joining.request
        error = group.member_error(request.member_id, request.group_instance_id)
        if error is not ErrorCode.NONE:
            _refuse(joining, error, request.member_id, decision)
            return
        member = group.members[request.member_id]
        # The leader of a stable group asks for a rebalance by joining: what it watches has changed.
        leads_stable = group.state is ClassicGroupState.STABLE and group.leader_id == member.member_id
        is_rebalancing = group.state is ClassicGroupState.PREPARING_REBALANCE
        if not is_rebalancing and not leads_stable and member.protocols == request.protocols:
            # It may not have received the answer to its last JoinGroup.
            decision.answer(joining.waiting, joined(joining.client.api_version, group, member.member_id))
            return
        # One that it sent before is of a connection that it has given up.
        self._rebalances.refuse_waiting(
            group, member, ErrorCode.REBALANCE_IN_PROGRESS, decision, member_id=member.member_id
        )
        group.update(
            member,
            request.protocols,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
        )
        group.wait_for_join(member, joining.waiting)
        self._rebalances.prepare_or_complete(group, decision)

    def _add(self, group: ClassicGroup, joining: Joining, member_id: str, decision: Decision) -> None:
        client, request = joining.client, joining.request
        if not group.members:
            group.protocol_type = request.protocol_type
        if group.state is ClassicGroupState.PREPARING_REBALANCE and group.previous_state is ClassicGroupState.EMPTY:
            group.is_new_member_added = True
        member = ClassicMember(
            member_id=member_id,
            group_instance_id=request.group_instance_id,
            client_id=client.client_id,
            client_host=client.client_host,
            rebalance_timeout_ms=joining.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocols=request.protocols,
            waiting_join=joining.waiting,
            is_new=True,
        )
        group.add(member)
        self._rebalances.expect(group, member_id, NEW_MEMBER_JOIN_TIMEOUT_MS)
        self._rebalances.prepare_or_complete(group, decision)


def _refuse(joining: Joining, error: ErrorCode, member_id: str, decision: Decision) -> None:
    decision.answer(joining.waiting, join_error(joining.client.api_version, error, member_id))


def _new_member_id(prefix: str, random: Chance) -> str:
    text = random_uuid(random).hex()
    return f"{prefix}-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
