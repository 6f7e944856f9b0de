"""Timers that fence members of the classic protocol from a consumer group, besides their sessions.

A member that was told to join again has its rebalance timeout for the JoinGroup, and the same again for the SyncGroup.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.runtime.outcome import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.coordinator.consumer.member import ConsumerGroupMember
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.outcome import Outcome


class ClassicMemberTimers:
    """Timers by group and member; `fence` removes a member from its group."""

    def __init__(self, context: ShardContext, fence: Callable[[str, str], Outcome]) -> None:
        self._context = context
        self._fence = fence

    def expect_join(self, group_id: str, member: ConsumerGroupMember) -> None:
        """Set the timer for a member's JoinGroup, unless one is set."""
        key = _join_key(group_id, member.member_id)
        if key not in self._context.timers:
            self._schedule(key, group_id, member)

    def joined(self, group_id: str, member: ConsumerGroupMember) -> None:
        """Set the timer for the SyncGroup of a member that has joined."""
        self._context.timers.cancel(_join_key(group_id, member.member_id))
        self._schedule(_sync_key(group_id, member.member_id), group_id, member)

    def synced(self, group_id: str, member_id: str) -> None:
        """Cancel the timer of a member that has synced."""
        self._context.timers.cancel(_sync_key(group_id, member_id))

    def cancel(self, group_id: str, member_id: str) -> None:
        """Cancel the timers of a member that is gone."""
        self._context.timers.cancel(_join_key(group_id, member_id))
        self._context.timers.cancel(_sync_key(group_id, member_id))

    def _schedule(self, key: str, group_id: str, member: ConsumerGroupMember) -> None:
        due_ms = self._context.now_ms + member.rebalance_timeout_ms
        self._context.timers.schedule(key, due_ms, lambda: self._timed_out(group_id, member.member_id))

    def _timed_out(self, group_id: str, member_id: str) -> Outcome:
        group = self._context.groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        # It may have changed its protocol since.
        return self._fence(group_id, member_id) if member is not None and member.uses_classic_protocol else NOTHING


def _join_key(group_id: str, member_id: str) -> str:
    return f"mixed join {len(group_id)} {group_id} {member_id}"


def _sync_key(group_id: str, member_id: str) -> str:
    return f"mixed sync {len(group_id)} {group_id} {member_id}"
