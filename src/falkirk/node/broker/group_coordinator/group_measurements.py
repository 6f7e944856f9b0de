"""The groups that a broker coordinates in numbers, for metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.slices import SliceBudget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.coordinator.records.record_type import GroupType
    from falkirk.coordinator.runtime.counters import GroupCounters
    from falkirk.node.broker.coordinator_runtime.hosted_shard import HostState
    from falkirk.node.broker.group_coordinator.group_coordinator import GroupCoordinator
    from falkirk.slices import Slices


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMeasurements:
    """Counts of active shards. `groups`: by type and state, as Kafka lists it; `offsets`: committed offsets.

    `shards`: the partitions of `__consumer_offsets` that the broker leads, by state.
    """

    groups: "Mapping[tuple[GroupType, str], int]"
    offsets: int
    shards: "Mapping[HostState, int]"
    counters: "GroupCounters"

    def count(self, type_: GroupType, *states: str) -> int:
        """Return the number of groups of a type, in these states if any are given."""
        return sum(n for (each, state), n in self.groups.items() if each is type_ and (not states or state in states))


def measure_groups(coordinator: GroupCoordinator) -> Slices[GroupMeasurements]:
    """Count groups as they are at the end of the log; Kafka counts them as of the high watermark."""
    groups: Counter[tuple[GroupType, str]] = Counter()
    offsets, budget = 0, SliceBudget()
    for host in list(coordinator.hosts.values()):
        shard = host.shard
        if shard is not None:
            for group in list(shard.context.groups.values()):
                groups[group.type, group.state_name] += 1
                if budget.spend(1):
                    yield
            offsets += shard.offsets.store.count
    return GroupMeasurements(
        groups=groups,
        offsets=offsets,
        shards=Counter(host.state for host in coordinator.hosts.values()),
        counters=coordinator.counters,
    )
