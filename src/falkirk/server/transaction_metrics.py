"""A broker's Prometheus metrics of the transactions that it coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.node.broker.coordinator_runtime.hosted_shard import HostState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric

    from falkirk.node.broker.transaction_coordinator.transaction_measurements import TransactionMeasurements


def transaction_metrics(now: TransactionMeasurements) -> Iterator[Metric]:
    """Yield all metrics of transactions; only that of markers without a leader is Kafka's."""
    yield GaugeMetricFamily(
        "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize",
        "Transaction markers whose partition has no leader.",
        now.leaderless_markers,
    )
    yield GaugeMetricFamily(
        "falkirk_transaction_markers_queued", "Transaction markers that wait for their turn.", now.queued_markers
    )
    by_state = GaugeMetricFamily("falkirk_transactional_ids", "Transactional ids, by state.", labels=("state",))
    for state in TransactionState:
        by_state.add_metric((state.state_name,), now.states.get(state, 0))
    yield by_state
    partitions = GaugeMetricFamily(
        "falkirk_transaction_partitions", "Led partitions of __transaction_state, by state.", labels=("state",)
    )
    for host_state in (HostState.LOADING, HostState.ACTIVE, HostState.FAILED):
        partitions.add_metric((host_state.value.lower(),), now.shards.get(host_state, 0))
    yield partitions
