"""What `group.consumer.migration.policy` allows. A release that has no such config (3.7) converts no groups."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.coordinator.runtime.context import ShardContext


class MigrationPolicy(enum.StrEnum):
    """The values of the config."""

    DISABLED = "disabled"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    BIDIRECTIONAL = "bidirectional"

    @classmethod
    def of(cls, context: ShardContext) -> MigrationPolicy:
        """Return the broker's policy."""
        return cls(context.settings.consumer_migration_policy)

    @property
    def allows_upgrade(self) -> bool:
        """True if a classic group with members may become a consumer group."""
        return self in {MigrationPolicy.UPGRADE, MigrationPolicy.BIDIRECTIONAL}

    @property
    def allows_downgrade(self) -> bool:
        """True if a consumer group whose members all use the classic protocol may become a classic group."""
        return self in {MigrationPolicy.DOWNGRADE, MigrationPolicy.BIDIRECTIONAL}
