"""The interface through which the consumer protocol converts groups of one type to the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
    from falkirk.coordinator.consumer.member import ConsumerGroupMember
    from falkirk.coordinator.consumer.refusal import Refusal
    from falkirk.coordinator.runtime.group import Group
    from falkirk.coordinator.runtime.outcome import CoordinatorRecord, Outcome, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """A consumer group made from another group, the records that create it, and responses to requests waiting there.

    The group enters `context.groups` by the replay of its records.
    """

    group: "ConsumerGroup"
    records: "Sequence[CoordinatorRecord]"
    replies: "Sequence[Reply]" = field(default=())


class Conversions(Protocol):
    """Online migration of groups that have members (KIP-848)."""

    def upgrade(self, group: Group) -> Upgrade | Refusal:
        """Convert a group with members to a consumer group, as a consumer wants to join it."""
        ...

    def downgrade(self, group: ConsumerGroup, leaving: Collection[ConsumerGroupMember]) -> Outcome | None:
        """Convert a consumer group to a classic one without the members that leave or are fenced; None: no conversion.

        Its outcome replaces that of removing the members.
        """
        ...
