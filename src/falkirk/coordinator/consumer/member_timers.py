"""Timers that fence a member: its session, and its rebalance timeout while it has partitions to revoke."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
from falkirk.coordinator.consumer.member import ConsumerGroupMember, MemberState
from falkirk.coordinator.runtime.outcome import NOTHING
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.coordinator.consumer.services import ConsumerServices
    from falkirk.coordinator.runtime.outcome import Outcome, Reply


# How long Kafka's coordinator waits before it tries again what a timer wanted.
_RETRY_MS: Final = 500
_RETRY_MS_MAX: Final = 60_000
_DOUBLINGS_MAX: Final = 10


class MemberTimers:
    """Timers by group and member; `fence` removes a member, or does nothing if it is gone."""

    def __init__(self, services: ConsumerServices, fence: Callable[[str, str], Outcome]) -> None:
        self._services = services
        self._context = services.context
        self._fence = fence
        # How often in a row what fences a member was too large for the log, by the key of its session.
        self._times_too_large: dict[str, int] = {}

    def start(self, group_id: str, member: ConsumerGroupMember) -> None:
        """Start all timers of a member that this coordinator has just loaded."""
        self.start_session(group_id, member)
        self.start_rebalance(group_id, member)

    def start_session(self, group_id: str, member: ConsumerGroupMember) -> None:
        """Restart a member's session; a member of the classic protocol brings its own session timeout."""
        metadata, member_id = member.classic_metadata, member.member_id
        timeout_ms = self._services.session_timeout_ms(group_id) if metadata is None else metadata.session_timeout_ms
        key = _session_key(group_id, member_id)
        if self._times_too_large:
            self._times_too_large.pop(key, None)
        self._context.timers.schedule(key, self._context.now_ms + timeout_ms, lambda: self._fence(group_id, member_id))

    def start_rebalance(self, group_id: str, member: ConsumerGroupMember) -> None:
        """Start the rebalance timeout of a member that has partitions to revoke; otherwise cancel it.

        Members of the classic protocol have timers of their own for JoinGroup and SyncGroup.
        """
        key = _rebalance_key(group_id, member.member_id)
        if member.uses_classic_protocol or member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._context.timers.cancel(key)
            return
        self._context.timers.schedule(
            key,
            self._context.now_ms + member.rebalance_timeout_ms,
            lambda: self._fence_unless_moved(group_id, member),
        )

    def fence_later(self, group_id: str, member_id: str, error: ErrorCode) -> Sequence[Reply]:
        """Fence a member later, as the log rejected the records; `error` as clients see it.

        Differs from Kafka: records that are too large (UNKNOWN_SERVER_ERROR) stay too large as long as the group stays
        the same, so that is retried less and less often.
        """
        key = _session_key(group_id, member_id)
        times = 0
        if error is ErrorCode.UNKNOWN_SERVER_ERROR:
            times = self._times_too_large.get(key, 0)
            self._times_too_large[key] = times + 1
        retry_ms = min(_RETRY_MS << min(times, _DOUBLINGS_MAX), _RETRY_MS_MAX)
        self._context.timers.schedule(key, self._context.now_ms + retry_ms, lambda: self._fence(group_id, member_id))
        return ()

    def cancel(self, group_id: str, member_id: str) -> None:
        """Cancel both timers."""
        key = _session_key(group_id, member_id)
        self._times_too_large.pop(key, None)
        self._context.timers.cancel(key)
        self._context.timers.cancel(_rebalance_key(group_id, member_id))

    def _fence_unless_moved(self, group_id: str, then: ConsumerGroupMember) -> Outcome:
        group = self._context.groups.get(group_id)
        member = group.members.get(then.member_id) if isinstance(group, ConsumerGroup) else None
        if member is None or member.member_epoch != then.member_epoch:
            return NOTHING
        return self._fence(group_id, then.member_id)


def _session_key(group_id: str, member_id: str) -> str:
    return f"consumer-session-{group_id}-{member_id}"


def _rebalance_key(group_id: str, member_id: str) -> str:
    return f"consumer-rebalance-{group_id}-{member_id}"
