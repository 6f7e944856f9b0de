"""The groups that a broker coordinates, in numbers, for whoever watches it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.coordinator.record_type import GroupType
    from falkirk.coordinator.shard.counters import GroupCounters
    from falkirk.node.group_coordinator.group_coordinator import GroupCoordinator
    from falkirk.node.group_coordinator.hosted_shard import HostState


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMeasurements:
    """Of what is loaded. `groups`: how many, by type and by state as Kafka lists it; `offsets`: committed ones.

    `shards`: the partitions of `__consumer_offsets` that the broker leads, by state.
    """

    groups: Mapping[tuple[GroupType, str], int]
    offsets: int
    shards: Mapping[HostState, int]
    counters: GroupCounters

    def count(self, type_: GroupType, *states: str) -> int:
        """Count the groups of a type, in these states if any are named."""
        return sum(n for (each, state), n in self.groups.items() if each is type_ and (not states or state in states))


def measure_groups(coordinator: GroupCoordinator) -> GroupMeasurements:
    """Look at all groups: as they are at the end of the log, which Kafka tells when it is committed."""
    groups: Counter[tuple[GroupType, str]] = Counter()
    offsets = 0
    for host in coordinator.hosts.values():
        shard = host.shard
        if shard is not None:
            groups.update((group.type, group.state_name) for group in shard.context.groups.values())
            offsets += shard.offsets.store.count
    return GroupMeasurements(
        groups=groups,
        offsets=offsets,
        shards=Counter(host.state for host in coordinator.hosts.values()),
        counters=coordinator.counters,
    )
