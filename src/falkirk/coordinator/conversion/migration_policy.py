"""What `group.consumer.migration.policy` allows. A release that has no such config (3.7) converts no groups."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.coordinator.shard.context import ShardContext


class MigrationPolicy(enum.StrEnum):
    """As the config has it."""

    DISABLED = "disabled"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    BIDIRECTIONAL = "bidirectional"

    @classmethod
    def of(cls, context: ShardContext) -> MigrationPolicy:
        """Give the broker's."""
        return cls(context.settings.consumer_migration_policy)

    @property
    def allows_upgrade(self) -> bool:
        """Say whether a classic group with members may become a consumer group."""
        return self in {MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL}

    @property
    def allows_downgrade(self) -> bool:
        """Say whether a consumer group, all of whose members use the classic protocol, may become a classic group."""
        return self in {MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL}
