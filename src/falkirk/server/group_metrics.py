"""A broker's Prometheus metrics of the groups that it coordinates, under the names of Kafka's MBeans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client.core import GaugeMetricFamily, UnknownMetricFamily

from falkirk.coordinator.records.record_type import GroupType
from falkirk.node.broker.coordinator_runtime.hosted_shard import HostState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric

    from falkirk.node.broker.group_coordinator.group_measurements import GroupMeasurements

_METRICS: Final = "kafka_server_group_coordinator_metrics_"
_CLASSIC_STATES: Final = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty")
_CONSUMER_STATES: Final = ("Empty", "Assigning", "Reconciling", "Stable", "Dead")


def group_metrics(now: GroupMeasurements) -> Iterator[Metric]:
    """Yield all metrics of groups. Kafka's rates are left to Prometheus, which has the counts."""
    yield from _classic_groups(now)
    types = ((type_, now.count(type_)) for type_ in (GroupType.CLASSIC, GroupType.CONSUMER))
    group_count = _labelled("group_count", "Groups, by protocol.", "protocol")
    for type_, count in types:
        group_count.add_metric((type_.value,), count)
    yield group_count
    by_state = _labelled("consumer_group_count", "Consumer groups (KIP-848), by state.", "state")
    for state in _CONSUMER_STATES:
        by_state.add_metric((state,), now.count(GroupType.CONSUMER, state))
    yield by_state
    partitions = _labelled("num_partitions", "Led partitions of __consumer_offsets, by state.", "state")
    for host_state in (HostState.LOADING, HostState.ACTIVE, HostState.FAILED):
        partitions.add_metric((host_state.value.lower(),), now.shards.get(host_state, 0))
    yield partitions
    counters = now.counters
    for name, text, count in (
        ("offset_commit_count", "Committed offsets.", counters.offset_commits),
        ("offset_expiration_count", "Expired offsets.", counters.offset_expirations),
        ("offset_deletion_count", "Offsets deleted by operators.", counters.offset_deletions),
        ("group_completed_rebalance_count", "Rebalances of classic groups.", counters.classic_group_rebalances),
        ("consumer_group_rebalance_count", "Rebalances of consumer groups.", counters.consumer_group_rebalances),
    ):
        yield UnknownMetricFamily(f"{_METRICS}{name}", text, count)


def _classic_groups(now: GroupMeasurements) -> Iterator[Metric]:
    manager = "kafka_coordinator_group_groupmetadatamanager_"
    yield GaugeMetricFamily(f"{manager}numgroups", "Classic groups.", now.count(GroupType.CLASSIC))
    for state in _CLASSIC_STATES:
        name = f"{manager}numgroups{state.lower()}"
        yield GaugeMetricFamily(name, f"Classic groups that are {state}.", now.count(GroupType.CLASSIC, state))
    yield GaugeMetricFamily(f"{manager}numoffsets", "Committed offsets of all groups.", now.offsets)


def _labelled(name: str, text: str, label: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{_METRICS}{name}", text, labels=(label,))
