"""Counters of a broker's group coordinator since it started (Kafka's sensors of GroupCoordinatorMetrics)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class GroupCounters:
    """Shared by all shards of a broker, and increased where Kafka's coordinator does.

    Offsets count per partition: committed (transactional or not), expired, and deleted by an operator. A classic group
    completes a rebalance with its leader's assignment; a consumer group rebalances whenever its epoch rises.
    """

    offset_commits: int = 0
    offset_expirations: int = 0
    offset_deletions: int = 0
    classic_group_rebalances: int = 0
    consumer_group_rebalances: int = 0
