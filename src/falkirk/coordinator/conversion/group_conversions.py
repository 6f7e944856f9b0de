"""Converts groups of one protocol to the other when the consumer protocol asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.consumer.consumer_protocol import ConsumerProtocol
from falkirk.coordinator.consumer.refusal import Refusal
from falkirk.coordinator.conversion.classic_member_timers import ClassicMemberTimers
from falkirk.coordinator.conversion.downgrade import Downgrade
from falkirk.coordinator.conversion.upgrade import upgrade
from falkirk.coordinator.runtime.outcome import Outcome
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from falkirk.coordinator.classic.member import WaitingRequest
    from falkirk.coordinator.classic.protocol import ClassicProtocol
    from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
    from falkirk.coordinator.consumer.conversions import Upgrade
    from falkirk.coordinator.consumer.member import ConsumerGroupMember
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.group import Group
    from falkirk.coordinator.runtime.outcome import Reply


class GroupConversions:
    """One for each shard; creates the shard's `consumer` protocol, which asks for conversions. See Conversions."""

    def __init__(self, context: ShardContext, classic: ClassicProtocol) -> None:
        self.consumer = ConsumerProtocol(context, self)
        self.timers = ClassicMemberTimers(context, self.consumer.fence)
        self._context = context
        self._classic = classic

    def upgrade(self, group: Group) -> Upgrade | Refusal:
        """Convert a classic group with members to a consumer group."""
        if not isinstance(group, ClassicGroup):
            return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group.group_id} is not a consumer group.")
        made = upgrade(group, self._context)
        if not isinstance(made, Refusal):
            # If nothing comes of it the members are not found when these are due.
            for member in made.group.members.values():
                self.consumer.timers.start_session(group.group_id, member)
        return made

    def downgrade(self, group: ConsumerGroup, leaving: Collection[ConsumerGroupMember]) -> Outcome | None:
        """Convert a consumer group that some members leave to a classic group, if that is due."""
        downgrade = self._downgrade(group, leaving)
        return self._outcome(downgrade) if downgrade.is_due(self._context) else None

    def downgrade_with(
        self, group: ConsumerGroup, leaving: ConsumerGroupMember, joining: ConsumerGroupMember, waiting: WaitingRequest
    ) -> Outcome | None:
        """Convert to a classic group as a static member of the classic protocol replaces the last member of the other.

        Its JoinGroup then waits for the rebalance that follows.
        """
        downgrade = self._downgrade(group, [leaving], joining)
        return self._outcome(downgrade, waiting) if downgrade.is_due(self._context) else None

    def _downgrade(
        self,
        group: ConsumerGroup,
        leaving: Collection[ConsumerGroupMember],
        joining: ConsumerGroupMember | None = None,
    ) -> Downgrade:
        timeout_ms = self.consumer.services.session_timeout_ms(group.group_id)
        return Downgrade(group=group, leaving=leaving, joining=joining, session_timeout_ms=timeout_ms)

    def _outcome(self, downgrade: Downgrade, waiting: WaitingRequest | None = None) -> Outcome:
        return Outcome(
            records=downgrade.records(self._context), on_written=lambda: self._downgraded(downgrade, waiting)
        )

    def _downgraded(self, downgrade: Downgrade, waiting: WaitingRequest | None) -> Sequence[Reply]:
        before = downgrade.group
        for member_id in before.members:
            self.consumer.timers.cancel(before.group_id, member_id)
            self.timers.cancel(before.group_id, member_id)
        group = self._context.groups[before.group_id]
        assert isinstance(group, ClassicGroup)
        self._classic.keep_members_alive(group)
        if downgrade.joining is not None:
            group.wait_for_join(group.members[downgrade.joining.member_id], waiting)
        outcome = self._classic.remove_members(group, [member.member_id for member in downgrade.leaving])
        assert not outcome.records, "members stay"
        return outcome.replies
