"""The transactions that a broker coordinates in numbers, for metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.slices import SliceBudget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.coordinator.records.transaction_state import TransactionState
    from falkirk.node.broker.coordinator_runtime.hosted_shard import HostState
    from falkirk.node.broker.transaction_coordinator.transaction_coordinator import TransactionCoordinator
    from falkirk.slices import Slices


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionMeasurements:
    """`states`: transactional ids of active shards. `shards`: led partitions of `__transaction_state`.

    `leaderless_markers` wait for a leader of their partition, `queued_markers` for their turn or a repetition.
    """

    states: "Mapping[TransactionState, int]"
    shards: "Mapping[HostState, int]"
    leaderless_markers: int
    queued_markers: int


def measure_transactions(coordinator: TransactionCoordinator) -> Slices[TransactionMeasurements]:
    """Count transactional ids as they are at the end of the log."""
    states: Counter[TransactionState] = Counter()
    budget = SliceBudget()
    hosts = list(coordinator.hosts.values())
    for shard in [host.shard for host in hosts if host.shard is not None]:
        for metadata in list(shard.store.all()):
            states[metadata.state] += 1
            if budget.spend(1):
                yield
    leaderless, queued = coordinator.sender.counts
    return TransactionMeasurements(
        states=states,
        shards=Counter(host.state for host in hosts),
        leaderless_markers=leaderless,
        queued_markers=queued,
    )
