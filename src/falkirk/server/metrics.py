"""A node's Prometheus metrics: its measurements, under the names that the JMX exporter gives Kafka's MBeans.

Names and labels of Kafka's are those of the exporter's own rules for Kafka; what only falkirk has begins with
`falkirk_`. docs/reference/metrics.md has the table.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from falkirk.protocol.messages import REQUESTS
from falkirk.server.group_metrics import group_metrics
from falkirk.server.step_meter import BOUNDS_MS
from falkirk.server.transaction_metrics import transaction_metrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prometheus_client.core import Metric

    from falkirk.node.measurements import Measurements, PartitionCounts
    from falkirk.server.feature_update_facts import FeatureUpdateFacts
    from falkirk.server.step_meter import StepMeter

UNKNOWN: Final = "unknown"
"""Kafka's name for unknown software."""
THROTTLED_REPLICATIONS: Final = ("leaderreplication", "followerreplication", "alterlogdirsreplication")


class NodeMetrics(Collector):
    """Made anew for each scrape, of what was measured for it: a node that is not scraped pays nothing."""

    def __init__(self, measured: Measurements, updates: FeatureUpdateFacts, meter: StepMeter) -> None:
        self._measured = measured
        self._meter = meter
        self._updates = updates

    def describe(self) -> Iterable[Metric]:
        """Return nothing: names are known when values are."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics."""
        now = self._measured
        yield from _quorum(now)
        yield from _features(now)
        yield from _connections(now)
        yield _step_times(self._meter)
        if now.broker_state is not None:
            yield _gauge("kafka_server_kafkaserver_brokerstate", "State of the broker.", now.broker_state)
        if now.partitions is not None:
            yield from _partitions(now.partitions)
        if now.groups is not None:
            yield from group_metrics(now.groups)
        if now.transactions is not None:
            yield from transaction_metrics(now.transactions)
        losses, blockers = self._updates.losses, self._updates.blockers
        text = "What the last update of features lost, by kind."
        yield _labelled("falkirk_feature_update_losses", text, ("kind",), (((kind,), n) for kind, n in losses.items()))
        text = "Servers in the way of an update that was refused, by feature."
        yield _labelled(
            "falkirk_feature_update_blockers", text, ("feature",), (((feature,), n) for feature, n in blockers.items())
        )


def _quorum(now: Measurements) -> Iterator[Metric]:
    raft, controller = "kafka_server_raftmetrics_", "kafka_controller_kafkacontroller_"
    yield _gauge(f"{raft}current_leader", "Id of the quorum's leader; -1: unknown.", now.leader_id)
    yield _gauge(f"{raft}current_epoch", "Epoch of the quorum.", now.leader_epoch)
    yield _gauge(f"{raft}high_watermark", "High watermark of the metadata log; -1: unknown.", now.high_watermark)
    yield _gauge(f"{raft}log_end_offset", "End of the metadata log here.", now.log_end_offset)
    yield _gauge(
        "kafka_server_brokermetadatametrics_last_applied_record_offset",
        "Last offset of the metadata log that was applied.",
        now.last_applied_offset,
    )
    yield _gauge(
        f"{controller}activecontrollercount", "1 at the active controller, else 0.", int(now.is_active_controller)
    )
    if now.brokers is not None:
        active, fenced = now.brokers
        yield _gauge(f"{controller}activebrokercount", "Brokers that are not fenced.", active)
        yield _gauge(f"{controller}fencedbrokercount", "Brokers that are fenced.", fenced)


def _features(now: Measurements) -> Iterator[Metric]:
    loader, node = "kafka_server_metadataloader_", "kafka_server_node_metrics_"
    yield _gauge(f"{loader}currentcontrollerid", "Id of the active controller; -1: unknown.", now.leader_id)
    yield _gauge(
        f"{loader}currentmetadataversion", "Finalized level of metadata.version; -1: none.", now.metadata_version
    )
    levels = (((name,), level) for name, level in now.finalized_features.items())
    yield _labelled(f"{loader}finalizedlevel", "Finalized level of a feature.", ("featureName",), levels)
    lowest = (((name,), versions.lowest) for name, versions in now.supported_features.items())
    yield _labelled(f"{node}minimum_supported_level", "Lowest level that the node supports.", ("feature_name",), lowest)
    highest = (((name,), versions.highest) for name, versions in now.supported_features.items())
    yield _labelled(
        f"{node}maximum_supported_level", "Highest level that the node supports.", ("feature_name",), highest
    )


def _connections(now: Measurements) -> Iterator[Metric]:
    yield _labelled(
        "kafka_server_socket_server_metrics_connections",
        "Accepted connections that stand, by the client's software.",
        ("listener", "clientSoftwareName", "clientSoftwareVersion"),
        (
            ((listener, name or UNKNOWN, version or UNKNOWN), n)
            for (listener, name, version), n in now.connections.items()
        ),
    )
    counters = now.connection_counters
    yield CounterMetricFamily("falkirk_connections_accepted", "Accepted connections.", counters.accepted)
    text = "How often requests of a connection were held because a quota of its client was used up."
    yield CounterMetricFamily("falkirk_connections_throttled", text, counters.throttled)
    closed = CounterMetricFamily(
        "falkirk_connections_closed", "Connections that the node closed, by reason.", labels=("reason",)
    )
    for reason, count in (
        ("garbage", counters.closed_for_garbage),
        ("unserved_api", counters.closed_for_unserved_apis),
        ("flooding", counters.closed_for_flooding),
        ("slowness", counters.closed_for_slowness),
        ("idleness", counters.closed_for_idleness),
        ("other_versions", counters.closed_for_other_versions),
    ):
        closed.add_metric((reason,), count)
    yield closed
    requests = CounterMetricFamily(
        "falkirk_api_requests",
        "Requests by API, its version, and the client's software.",
        labels=("api", "version", "clientSoftwareName", "clientSoftwareVersion"),
    )
    for use in now.api_uses:
        software = (use.software_name or UNKNOWN, use.software_version or UNKNOWN)
        requests.add_metric((_api_name(use.api_key), str(use.api_version), *software), use.requests)
    yield requests


def _step_times(meter: StepMeter) -> HistogramMetricFamily:
    bounds = [*(str(bound_ms / 1000) for bound_ms in BOUNDS_MS), "+Inf"]
    buckets = list(zip(bounds, accumulate(meter.counts), strict=True))
    text = "Processor time of the node's steps."
    return HistogramMetricFamily("falkirk_node_step_cpu_seconds", text, buckets=buckets, sum_value=meter.sum_ns / 1e9)


def _partitions(counts: PartitionCounts) -> Iterator[Metric]:
    manager = "kafka_server_replicamanager_"
    yield _gauge(f"{manager}partitioncount", "Partitions of which the broker has a replica.", counts.hosted)
    yield _gauge(f"{manager}leadercount", "Partitions that the broker leads.", counts.led)
    yield _gauge(f"{manager}offlinereplicacount", "Replicas whose directory has failed.", counts.offline)
    text = "Partitions led here that have replicas that are not in sync."
    yield _gauge(f"{manager}underreplicatedpartitions", text, counts.under_replicated)
    text = "Partitions led here of which fewer are in sync than min.insync.replicas."
    yield _gauge(f"{manager}underminisrpartitioncount", text, counts.under_min_isr)
    yield _gauge("falkirk_log_cut_bytes", "Bytes that the start cut off the ends of logs.", counts.cut_bytes)
    yield _gauge("falkirk_log_cut_records", "Valid records in what the start cut off logs.", counts.cut_records)
    yield _gauge("falkirk_stray_logs", "Logs without a place in the metadata that the start set aside.", counts.strays)
    for replication, rate in zip(THROTTLED_REPLICATIONS, counts.throttled_rates, strict=True):
        text = "Bytes per second of throttled replication."
        yield _gauge(f"kafka_server_{replication}_byte_rate", text, rate)


def _api_name(api_key: int) -> str:
    return REQUESTS[api_key].removesuffix("Request")


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value)


def _labelled(
    name: str, text: str, labels: tuple[str, ...], values: Iterable[tuple[tuple[str, ...], int]]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text, labels=labels)
    for names, value in values:
        family.add_metric(names, value)
    return family
