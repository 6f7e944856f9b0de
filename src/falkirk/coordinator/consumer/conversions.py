"""What the consumer protocol asks of those who turn groups of one type into the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from falkirk.coordinator.consumer.consumer_group import ConsumerGroup
    from falkirk.coordinator.consumer.member import ConsumerGroupMember
    from falkirk.coordinator.consumer.refusal import Refusal
    from falkirk.coordinator.shard.group import Group
    from falkirk.coordinator.shard.outcome import CoordinatorRecord, Outcome, Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """A consumer group made of another, and the records that make it; `replies` to who waited for the other.

    The group is not in `context.groups`: there it comes by the replay of the records.
    """

    group: ConsumerGroup
    records: Sequence[CoordinatorRecord]
    replies: Sequence[Reply] = field(default=())


class Conversions(Protocol):
    """Online migration of groups that have members (KIP-848)."""

    def upgrade(self, group: Group) -> Upgrade | Refusal:
        """Make a consumer group of a group of another type that has members, as a consumer wants to join it."""
        ...

    def downgrade(self, group: ConsumerGroup, leaving: Collection[ConsumerGroupMember]) -> Outcome | None:
        """Make a classic group of a consumer group without those who leave or are fenced; None: it stays as it is.

        Its outcome stands in place of that of the members' removal.
        """
        ...
