"""How a classic group gets from one generation to the next: joins, timeouts, and members that are removed on the way.

Empty --first member--> PreparingRebalance --all joined, or time is up--> CompletingRebalance --leader synced--> Stable.
Any change of the members of a Stable or CompletingRebalance group starts again at PreparingRebalance.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.classic.classic_records import group_metadata_record
from falkirk.coordinator.classic.decision import Decision
from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.classic.responses import join_error, joined, sync_error, synced
from falkirk.coordinator.classic.state import ClassicGroupState
from falkirk.coordinator.runtime.outcome import NOTHING, Outcome
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.coordinator.classic.member import ClassicMember
    from falkirk.coordinator.runtime.context import ShardContext


JOIN_TIMEOUT_MS_MIN: Final = 100
"""Where nobody has joined: static members whose time is over at once would be looked for without end, as in Kafka."""


class Rebalances:
    """Begins and completes rebalances, and runs the timers of groups and members.

    A timer finds its group by id: it does nothing if the group is gone or of another type by then.
    """

    def __init__(self, context: ShardContext) -> None:
        self._context = context

    # --- phases

    def prepare_or_complete(self, group: ClassicGroup, decision: Decision) -> None:
        """Begin a rebalance, or complete the join phase of a running one if all have joined."""
        if group.can_rebalance:
            self.prepare(group, decision)
        else:
            self.complete_if_all_joined(group, decision)

    def prepare(self, group: ClassicGroup, decision: Decision) -> None:
        """Begin a rebalance: members learn of it from their heartbeats and have to join again.

        A group that was empty waits for more members first (KIP-134).
        """
        if group.state is ClassicGroupState.COMPLETING_REBALANCE:
            self.fail_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS, decision)
        self._cancel_sync(group)
        is_initial = group.is_empty
        group.transition_to(ClassicGroupState.PREPARING_REBALANCE, self._context.now_ms)
        if is_initial:
            delay_ms = self._context.settings.group_initial_rebalance_delay_ms
            self._delay_initial(group, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        elif group.have_all_joined:
            self.complete(group, decision)
        else:
            self._schedule_join_timeout(group)

    def complete_if_all_joined(self, group: ClassicGroup, decision: Decision) -> None:
        """Complete a running join phase if all have joined, unless it still waits for the group's first members."""
        if (
            group.state is ClassicGroupState.PREPARING_REBALANCE
            and group.previous_state is not ClassicGroupState.EMPTY
            and group.have_all_joined
        ):
            self.complete(group, decision)

    def complete(self, group: ClassicGroup, decision: Decision) -> None:
        """Complete the join phase without the members that did not join; static members stay (KIP-345).

        If no member joined, it continues until session timeouts remove them.
        """
        self._context.timers.cancel(_join_key(group.group_id))
        for member in list(group.members.values()):
            if member.waiting_join is None and not member.is_static:
                self.forget(group, member.member_id)
        if group.members and not group.elect_joined_leader():
            self._schedule_join_timeout(group, timeout_ms_min=JOIN_TIMEOUT_MS_MIN)
            return
        group.begin_generation(self._context.now_ms)
        if group.is_empty:
            decision.record = group_metadata_record(group)
            return
        for member in group.members.values():
            if member.waiting_join is not None:
                decision.answer(member.waiting_join, joined(member.waiting_join.api_version, group, member.member_id))
                group.wait_for_join(member, None)
            self.keep_alive(group, member)
            member.is_new = False
            group.pending_syncs[member.member_id] = None
        action = partial(self._sync_timed_out, group.group_id, group.generation_id)
        self._schedule(_sync_key(group.group_id), group.rebalance_timeout_ms, action)

    def assign(self, group: ClassicGroup, assignments: dict[str, bytes], decision: Decision) -> None:
        """Apply the leader's assignments, by member id: the group is Stable, and waiting members get theirs."""
        for member in group.members.values():
            member.assignment = assignments[member.member_id]
            if member.waiting_sync is not None:
                decision.answer(member.waiting_sync, synced(group, member))
                member.waiting_sync = None
                self.keep_alive(group, member)
        group.transition_to(ClassicGroupState.STABLE, self._context.now_ms)
        self._context.counters.classic_group_rebalances += 1

    def fail_syncs(self, group: ClassicGroup, error: ErrorCode, decision: Decision) -> None:
        """Drop all assignments and refuse the members that wait for one."""
        for member in group.members.values():
            member.assignment = b""
            if member.waiting_sync is not None:
                decision.answer(member.waiting_sync, sync_error(error))
                member.waiting_sync = None
                self.keep_alive(group, member)

    # --- members

    def remove(self, group: ClassicGroup, member: ClassicMember, decision: Decision) -> None:
        """Remove a member; if a request of it waits, the response makes it start over.

        Differs from Kafka: a member that waits for an assignment gets a response, too, and need not run into its
        timeout.
        """
        self.refuse_waiting(group, member, ErrorCode.UNKNOWN_MEMBER_ID, decision, member_id="")
        self.forget(group, member.member_id)

    def refuse_waiting(
        self, group: ClassicGroup, member: ClassicMember, error: ErrorCode, decision: Decision, *, member_id: str
    ) -> None:
        """Refuse the request that a member waits on, if any."""
        if member.waiting_join is not None:
            decision.answer(member.waiting_join, join_error(member.waiting_join.api_version, error, member_id))
            group.wait_for_join(member, None)
        if member.waiting_sync is not None:
            decision.answer(member.waiting_sync, sync_error(error))
            member.waiting_sync = None

    def forget(self, group: ClassicGroup, member_id: str) -> None:
        """Remove a member without a waiting request, or a pending member id, and its timer."""
        group.remove(member_id)
        self._context.timers.cancel(_session_key(group.group_id, member_id))

    def rename(self, group: ClassicGroup, member: ClassicMember, member_id: str) -> None:
        """Assign a new member id to a static member without a waiting request; the session of the old id ends."""
        self._context.timers.cancel(_session_key(group.group_id, member.member_id))
        group.rename(member, member_id)
        self.keep_alive(group, member)

    def received_sync(self, group: ClassicGroup, member_id: str) -> None:
        """Record that a member has synced; once all have, the sync timer is cancelled."""
        group.pending_syncs.pop(member_id, None)
        if not group.pending_syncs:
            self._context.timers.cancel(_sync_key(group.group_id))

    # --- timers

    def keep_alive(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Restart a member's session."""
        self.expect(group, member.member_id, member.session_timeout_ms)

    def expect(self, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
        """Set the session timer of a member, or of a pending member id."""
        action = partial(self._session_timed_out, group.group_id, member_id)
        self._schedule(_session_key(group.group_id, member_id), timeout_ms, action)

    def cancel_timers(self, group: ClassicGroup) -> None:
        """Cancel all timers of a group that goes away or changes its type."""
        timers = self._context.timers
        timers.cancel(_join_key(group.group_id))
        timers.cancel(_sync_key(group.group_id))
        for member_id in (*group.members, *group.pending_joins):
            timers.cancel(_session_key(group.group_id, member_id))

    def _schedule(self, key: str, timeout_ms: int, action: Callable[[], Outcome]) -> None:
        self._context.timers.schedule(key, self._context.now_ms + timeout_ms, action)

    def _cancel_sync(self, group: ClassicGroup) -> None:
        group.pending_syncs.clear()
        self._context.timers.cancel(_sync_key(group.group_id))

    def _schedule_join_timeout(self, group: ClassicGroup, *, timeout_ms_min: int = 0) -> None:
        action = partial(self._join_timed_out, group.group_id)
        self._schedule(_join_key(group.group_id), max(group.rebalance_timeout_ms, timeout_ms_min), action)

    def _delay_initial(self, group: ClassicGroup, delay_ms: int, remaining_ms: int) -> None:
        action = partial(self._initial_delay_over, group.group_id, delay_ms, remaining_ms)
        self._schedule(_join_key(group.group_id), delay_ms, action)

    def _initial_delay_over(self, group_id: str, delay_ms: int, remaining_ms: int) -> Outcome:
        group = self._find(group_id)
        if group is None:
            return NOTHING
        if group.is_new_member_added and remaining_ms:
            group.is_new_member_added = False
            next_delay_ms = min(self._context.settings.group_initial_rebalance_delay_ms, remaining_ms)
            self._delay_initial(group, next_delay_ms, max(remaining_ms - delay_ms, 0))
            return NOTHING
        return self._complete(group)

    def _join_timed_out(self, group_id: str) -> Outcome:
        group = self._find(group_id)
        return NOTHING if group is None else self._complete(group)

    def _complete(self, group: ClassicGroup) -> Outcome:
        decision = Decision()
        self.complete(group, decision)
        return decision.outcome()

    def _sync_timed_out(self, group_id: str, generation_id: int) -> Outcome:
        group = self._find(group_id)
        if group is None or group.generation_id != generation_id or not group.pending_syncs:
            return NOTHING
        for member_id in list(group.pending_syncs):
            self.forget(group, member_id)
        decision = Decision()
        self.prepare(group, decision)
        return decision.outcome()

    def _session_timed_out(self, group_id: str, member_id: str) -> Outcome:
        group = self._find(group_id)
        if group is None:
            return NOTHING
        decision = Decision()
        member = group.members.get(member_id)
        if member is not None and not member.has_satisfied_heartbeat:
            self.remove(group, member, decision)
            if group.can_rebalance:
                self.prepare(group, decision)
                return decision.outcome()
        elif member_id in group.pending_joins:
            group.remove(member_id)
        else:
            return NOTHING
        # All joining members may have waited for this one; that ends an initial rebalance, too.
        if group.state is ClassicGroupState.PREPARING_REBALANCE and group.have_all_joined:
            self.complete(group, decision)
        return decision.outcome()

    def _find(self, group_id: str) -> ClassicGroup | None:
        group = self._context.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) else None


def _join_key(group_id: str) -> str:
    return f"classic join {group_id}"


def _sync_key(group_id: str) -> str:
    return f"classic sync {group_id}"


def _session_key(group_id: str, member_id: str) -> str:
    # The length keeps apart whatever ids may contain.
    return f"classic session {len(group_id)} {group_id} {member_id}"
