"""What a broker's group coordinator has done since it started (Kafka's sensors of GroupCoordinatorMetrics)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class GroupCounters:
    """Shared by all shards of a broker, which add to it where Kafka's coordinator does.

    Offsets are counted one for each partition: committed (transactional or not), expired, and deleted by an operator.
    A classic group has completed a rebalance when its leader's assignment is taken; a consumer group is rebalanced
    whenever its epoch rises.
    """

    offset_commits: int = 0
    offset_expirations: int = 0
    offset_deletions: int = 0
    classic_group_rebalances: int = 0
    consumer_group_rebalances: int = 0
