"""SyncGroup (key 14), v0-5, of classic groups.

Version notes: v3 has static members (KIP-345); from v5 on the protocol is named (KIP-559).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from falkirk.coordinator.classic.classic_records import group_metadata_record
from falkirk.coordinator.classic.decision import Decision
from falkirk.coordinator.classic.responses import sync_error, synced
from falkirk.coordinator.classic.state import ClassicGroupState
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.coordinator.classic.group import ClassicGroup
    from falkirk.coordinator.classic.member import WaitingRequest
    from falkirk.coordinator.classic.rebalances import Rebalances
    from falkirk.coordinator.runtime.outcome import Reply
    from falkirk.protocol.messages import SyncGroupRequest


class Syncs:
    """Distributes the leader's assignments."""

    def __init__(self, rebalances: Rebalances) -> None:
        self._rebalances = rebalances

    def sync(self, group: ClassicGroup, request: SyncGroupRequest, waiting: WaitingRequest, decision: Decision) -> None:
        """Apply a SyncGroup: respond now, or let its member wait for the leader's."""
        error = _request_error(group, request)
        if error is not ErrorCode.NONE:
            decision.answer(waiting, sync_error(error))
            return
        member = group.members[request.member_id]
        self._rebalances.received_sync(group, member.member_id)
        if group.state is ClassicGroupState.STABLE:
            decision.answer(waiting, synced(group, member))
            return
        earlier, member.waiting_sync = member.waiting_sync, waiting
        if group.leader_id == member.member_id:
            assert earlier is None, "a leader's is not kept waiting"
            self._write(group, request, decision)
        elif earlier is not None:
            # It was sent on a connection that the member has given up.
            decision.answer(earlier, sync_error(ErrorCode.REBALANCE_IN_PROGRESS))

    def _write(self, group: ClassicGroup, request: SyncGroupRequest, decision: Decision) -> None:
        """Write the leader's assignments; a member that it left out gets an empty one."""
        given = {each.member_id: each.assignment for each in request.assignments}
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
        decision.record = group_metadata_record(group, assignments=assignments)
        decision.on_written = partial(self._written, group, assignments)
        decision.on_refused = partial(self._refused, group)

    def _written(self, group: ClassicGroup, assignments: dict[str, bytes]) -> Sequence[Reply]:
        decision = Decision()
        self._rebalances.assign(group, assignments, decision)
        return decision.replies

    def _refused(self, group: ClassicGroup, error: ErrorCode) -> Sequence[Reply]:
        decision = Decision()
        self._rebalances.fail_syncs(group, error, decision)
        self._rebalances.prepare(group, decision)
        assert decision.record is None, "members are there, none has joined again"
        return decision.replies


def _request_error(group: ClassicGroup, request: SyncGroupRequest) -> ErrorCode:
    error = group.member_error(request.member_id, request.group_instance_id)
    if error is not ErrorCode.NONE:
        return error
    if request.generation_id != group.generation_id:
        return ErrorCode.ILLEGAL_GENERATION
    if _differ(request.protocol_type, group.protocol_type) or _differ(request.protocol_name, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    is_rebalancing = group.state is ClassicGroupState.PREPARING_REBALANCE
    return ErrorCode.REBALANCE_IN_PROGRESS if is_rebalancing else ErrorCode.NONE


def _differ(given: str | None, known: str | None) -> bool:
    return given is not None and known is not None and given != known
