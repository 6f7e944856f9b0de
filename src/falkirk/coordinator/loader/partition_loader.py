"""The load of one partition of `__consumer_offsets` into a shard, entry by entry.

loader = PartitionLoader(shard)
for entry in log_entries(batches):
    failure = loader.take(entry)        # a LoadFailure ends the load of this partition, and of no other
loader.unknown_types                    # what was skipped, for the log: once per type and partition
outcome = shard.loaded()
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.coordinator.log_entry import LogEntry
    from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """The record on which the load ends, and why."""

    offset: int
    reason: str


class PartitionLoader:
    """Reads as the shard's release does; `ShardContext.is_tolerant` makes it read as KIP-915 asks."""

    def __init__(self, shard: GroupCoordinatorShard) -> None:
        self.unknown_types: dict[int, int] = {}
        """Records that were skipped, by the type of their key; each type is told once, when the load ends."""
        self._shard = shard

    def take(self, entry: LogEntry) -> LoadFailure | None:
        """Apply an entry; entries come in log order."""
        raise NotImplementedError

    def finish(self) -> LoadFailure | None:
        """Say whether the coordinator stops after it has read all entries; then come the shard's timers."""
        raise NotImplementedError
