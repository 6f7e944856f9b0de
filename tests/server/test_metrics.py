"""What Prometheus is told, and how it asks."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from falkirk.coordinator.records.record_type import GroupType
from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.coordinator.runtime.counters import GroupCounters
from falkirk.node.broker.coordinator_runtime.hosted_shard import HostState
from falkirk.node.broker.group_coordinator.group_measurements import GroupMeasurements
from falkirk.node.broker.transaction_coordinator.transaction_measurements import TransactionMeasurements
from falkirk.node.connections.api_uses import ApiUse
from falkirk.node.connections.connection_counters import ConnectionCounters
from falkirk.node.effects import Fact
from falkirk.node.measurements import Measurements, PartitionCounts
from falkirk.server.errors import ServerError
from falkirk.server.feature_update_facts import FeatureUpdateFacts
from falkirk.server.metrics_listener import HEAD_BYTES_MAX, SCRAPES_MAX, bind_metrics, serve_metrics, shown_address
from falkirk.server.step_meter import StepMeter
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

NOW = Measurements(
    leader_id=1,
    leader_epoch=7,
    is_active_controller=True,
    high_watermark=101,
    log_end_offset=102,
    last_applied_offset=100,
    metadata_version=25,
    finalized_features={"metadata.version": 25, "group.version": 1},
    supported_features={"metadata.version": SupportedRange(7, 29)},
    connections={("BROKER", "sarama", "1.40"): 2, ("BROKER", "", ""): 1},
    connection_counters=ConnectionCounters(accepted=9, closed_for_other_versions=4),
    api_uses=(ApiUse(3, 12, "sarama", "1.40", 5), ApiUse(18, 0, "", "", 1)),
    brokers=(2, 1),
    broker_state=3,
    partitions=PartitionCounts(
        hosted=10,
        offline=1,
        led=4,
        under_replicated=2,
        under_min_isr=1,
        cut_bytes=90,
        cut_records=3,
        strays=1,
        throttled_rates=(1.5, 2.0, 3.0),
    ),
    groups=GroupMeasurements(
        groups={
            (GroupType.CLASSIC, "Stable"): 3,
            (GroupType.CLASSIC, "PreparingRebalance"): 2,
            (GroupType.CONSUMER, "Empty"): 4,
            (GroupType.CONSUMER, "Reconciling"): 1,
        },
        offsets=77,
        shards={HostState.ACTIVE: 6, HostState.FAILED: 1},
        counters=GroupCounters(
            offset_commits=11,
            offset_expirations=12,
            offset_deletions=13,
            classic_group_rebalances=14,
            consumer_group_rebalances=15,
        ),
    ),
    transactions=TransactionMeasurements(
        states={TransactionState.ONGOING: 2, TransactionState.PREPARE_COMMIT: 1},
        shards={HostState.ACTIVE: 4, HostState.LOADING: 1},
        leaderless_markers=3,
        queued_markers=9,
    ),
)


def told(
    now: Measurements = NOW, updates: FeatureUpdateFacts | None = None, meter: StepMeter | None = None
) -> dict[tuple[str, frozenset], float]:
    """Every sample of a scrape, by name and labels."""

    async def scrape(ask: Callable[[bytes], Awaitable[bytes]]) -> str:
        answer = await ask(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        return answer.partition(b"\r\n\r\n")[2].decode()

    families = text_string_to_metric_families(served(scrape, now, updates, meter))
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def slices_of(now: Measurements):
    """A measurement of two slices."""
    yield
    return now


def served(story, now: Measurements = NOW, updates: FeatureUpdateFacts | None = None, meter: StepMeter | None = None):
    """What `story` gives, which is told how to ask."""

    async def run():
        listening = bind_metrics("127.0.0.1:0")
        server = await serve_metrics(
            listening, lambda: slices_of(now), updates or FeatureUpdateFacts(), meter or StepMeter()
        )
        port = int(shown_address(listening).rpartition(":")[2])

        async def ask(data: bytes) -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(data)
            try:
                return await reader.read()
            except ConnectionError:  # who sent more than was read may hear of the end so
                return b""
            finally:
                writer.close()

        try:
            return await story(ask)
        finally:
            server.close()

    return asyncio.run(run())


def named(**labels: str) -> frozenset:
    return frozenset(labels.items())


def test_levels_are_told_under_the_names_of_kafkas_mbeans():
    samples = told()
    assert samples["kafka_server_metadataloader_currentmetadataversion", named()] == 25
    assert samples["kafka_server_metadataloader_finalizedlevel", named(featureName="group.version")] == 1
    assert samples["kafka_server_metadataloader_finalizedlevel", named(featureName="metadata.version")] == 25
    for bound, level in (("minimum", 7), ("maximum", 29)):
        name = f"kafka_server_node_metrics_{bound}_supported_level"
        assert samples[name, named(feature_name="metadata.version")] == level


def test_quorum_controller_and_partitions_are_told():
    samples = told()
    for name, value in {
        "kafka_server_raftmetrics_current_leader": 1,
        "kafka_server_raftmetrics_current_epoch": 7,
        "kafka_server_raftmetrics_high_watermark": 101,
        "kafka_server_raftmetrics_log_end_offset": 102,
        "kafka_server_brokermetadatametrics_last_applied_record_offset": 100,
        "kafka_controller_kafkacontroller_activecontrollercount": 1,
        "kafka_controller_kafkacontroller_activebrokercount": 2,
        "kafka_controller_kafkacontroller_fencedbrokercount": 1,
        "kafka_server_kafkaserver_brokerstate": 3,
        "kafka_server_replicamanager_partitioncount": 10,
        "kafka_server_replicamanager_offlinereplicacount": 1,
        "kafka_server_replicamanager_leadercount": 4,
        "kafka_server_replicamanager_underreplicatedpartitions": 2,
        "kafka_server_replicamanager_underminisrpartitioncount": 1,
        "falkirk_log_cut_bytes": 90,
        "falkirk_log_cut_records": 3,
        "falkirk_stray_logs": 1,
        "kafka_server_leaderreplication_byte_rate": 1.5,
        "kafka_server_followerreplication_byte_rate": 2,
        "kafka_server_alterlogdirsreplication_byte_rate": 3,
    }.items():
        assert samples[name, named()] == value


def test_groups_are_told_by_type_and_state_under_the_names_of_kafkas_mbeans():
    samples = told()
    manager, metrics = "kafka_coordinator_group_groupmetadatamanager_", "kafka_server_group_coordinator_metrics_"
    for name, value in {
        "numgroups": 5,
        "numgroupsstable": 3,
        "numgroupspreparingrebalance": 2,
        "numgroupscompletingrebalance": 0,
        "numgroupsempty": 0,
        "numgroupsdead": 0,
        "numoffsets": 77,
    }.items():
        assert samples[manager + name, named()] == value
    for protocol, value in {"classic": 5, "consumer": 5}.items():
        assert samples[f"{metrics}group_count", named(protocol=protocol)] == value
    for state, value in {"Empty": 4, "Assigning": 0, "Reconciling": 1, "Stable": 0, "Dead": 0}.items():
        assert samples[f"{metrics}consumer_group_count", named(state=state)] == value
    for state, value in {"loading": 0, "active": 6, "failed": 1}.items():
        assert samples[f"{metrics}num_partitions", named(state=state)] == value
    for name, value in {
        "offset_commit_count": 11,
        "offset_expiration_count": 12,
        "offset_deletion_count": 13,
        "group_completed_rebalance_count": 14,
        "consumer_group_rebalance_count": 15,
    }.items():
        assert samples[metrics + name, named()] == value


def test_transactions_are_told_by_state_and_so_are_markers_that_wait():
    samples = told()
    manager = "kafka_coordinator_transaction_transactionmarkerchannelmanager_"
    assert samples[f"{manager}unknowndestinationqueuesize", named()] == 3
    assert samples["falkirk_transaction_markers_queued", named()] == 9
    for state, value in {"Ongoing": 2, "PrepareCommit": 1, "CompleteAbort": 0}.items():
        assert samples["falkirk_transactional_ids", named(state=state)] == value
    for state, value in {"loading": 1, "active": 4, "failed": 0}.items():
        assert samples["falkirk_transaction_partitions", named(state=state)] == value


def test_a_node_tells_nothing_of_a_role_that_it_has_not():
    from dataclasses import replace

    samples = told(
        replace(
            NOW,
            brokers=None,
            broker_state=None,
            partitions=None,
            groups=None,
            transactions=None,
            is_active_controller=False,
        )
    )
    names = {name for name, _ in samples}
    assert samples["kafka_controller_kafkacontroller_activecontrollercount", named()] == 0
    others = (
        "replicamanager",
        "brokerstate",
        "activebroker",
        "groupmetadatamanager",
        "group_coordinator",
        "transaction",
    )
    assert not any(word in name for name in names for word in others)


def test_the_processor_time_of_steps_is_a_histogram_in_seconds():
    meter = StepMeter()
    meter.counts = [4, 3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1]
    meter.sum_ns = 6_500_000_000
    samples = told(meter=meter)
    name = "falkirk_node_step_cpu_seconds"
    bounds = {"0.001": 4, "0.002": 7, "0.02": 7, "0.05": 9, "5.0": 9, "+Inf": 10}
    assert {bound: samples[f"{name}_bucket", named(le=bound)] for bound in bounds} == bounds
    assert (samples[f"{name}_count", named()], samples[f"{name}_sum", named()]) == (10, 6.5)


def test_api_versions_in_use_are_told_by_software_and_connections_too():
    samples = told()
    sarama, unknown = (
        {"clientSoftwareName": name, "clientSoftwareVersion": version}
        for name, version in (("sarama", "1.40"), ("unknown", "unknown"))
    )
    assert samples["falkirk_api_requests_total", named(api="Metadata", version="12", **sarama)] == 5
    assert samples["falkirk_api_requests_total", named(api="ApiVersions", version="0", **unknown)] == 1
    assert samples["kafka_server_socket_server_metrics_connections", named(listener="BROKER", **sarama)] == 2
    assert samples["kafka_server_socket_server_metrics_connections", named(listener="BROKER", **unknown)] == 1
    assert samples["falkirk_connections_accepted_total", named()] == 9
    assert samples["falkirk_connections_closed_total", named(reason="other_versions")] == 4


def test_the_last_updates_losses_are_told_or_what_stood_in_its_way():
    updates = FeatureUpdateFacts()
    for lost in (("scram", "scram", "elr"), ("elr",)):
        updates.count(Fact("info", "features-updated", {"metadata.version": 17}))
        for kind in lost:
            updates.count(Fact("warning", "metadata-lost", {"kind": kind, "key": "x"}))
    updates.count(Fact("warning", "cut-off", {"kind": "open_transaction"}))
    updates.count(Fact("warning", "more-is-lost", {"count": 7}))
    updates.count(Fact("info", "snapshot-begins", {"kind": "elr"}))
    assert losses(updates) == {named(kind="elr"): 1, named(kind="open_transaction"): 1, named(kind="more"): 7}

    blockers = [{"feature": "metadata.version", "node_id": node_id} for node_id in (1, 2)]
    updates.count(Fact("warning", "feature-update-refused", {"blockers": blockers}))
    assert told(updates=updates)["falkirk_feature_update_blockers", named(feature="metadata.version")] == 2
    updates.count(Fact("info", "features-updated", {}))
    assert (losses(updates), updates.blockers) == ({}, {})


def losses(updates: FeatureUpdateFacts) -> dict[frozenset, float]:
    samples = told(updates=updates)
    return {labels: value for (name, labels), value in samples.items() if name == "falkirk_feature_update_losses"}


def test_facts_without_the_fields_that_are_expected_count_as_unknown():
    updates = FeatureUpdateFacts()
    updates.count(Fact("warning", "metadata-lost"))
    updates.count(Fact("warning", "more-is-lost", {"count": "many"}))
    updates.count(Fact("warning", "feature-update-refused", {"blockers": [{}, 1]}))
    assert (updates.losses, updates.blockers) == (Counter(unknown=1, more=1), Counter(unknown=2))


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /metrics HTTP/1.1", b"200 OK"),
        (b"GET /metrics?name[]=x HTTP/1.0", b"200 OK"),
        (b"HEAD /metrics HTTP/1.1", b"200 OK"),
        (b"GET / HTTP/1.1", b"404 Not Found"),
        (b"POST /metrics HTTP/1.1", b"405 Method Not Allowed"),
        (b"", b"405 Method Not Allowed"),
        (b"\xff\xfe\x00", b"405 Method Not Allowed"),
    ],
)
def test_a_scrape_is_answered_and_all_else_is_refused(request_line, status):
    async def story(ask):
        return await ask(request_line + b"\r\n\r\n")

    answer = served(story)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + status + b"\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    assert len(body) == (0 if request_line.startswith(b"HEAD") else length)
    assert (length > 1000) == (status == b"200 OK")


def test_a_request_without_end_is_cut_off_and_others_go_on():
    async def story(ask):
        first = await ask(b"GET /metrics HTTP/1.1\r\n" + b"a" * 4 * HEAD_BYTES_MAX)
        return first, await ask(b"GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n")

    cut, answer = served(story)
    assert cut == b""
    assert b"application/openmetrics-text" in answer
    assert answer.endswith(b"# EOF\n")


def test_requests_that_do_not_end_shut_no_scraper_out():
    async def story(ask):
        silent = [asyncio.create_task(ask(b"GET /metrics HTTP/1.1\r\n")) for _ in range(3 * SCRAPES_MAX)]
        # So many make room for the others.
        dropped = asyncio.as_completed(silent)
        for _ in range(2 * SCRAPES_MAX):
            await next(dropped)
        answer = await ask(b"GET /metrics HTTP/1.1\r\n\r\n")
        for each in silent:
            each.cancel()
        return answer

    assert served(story).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(
    "listener", ["9404", "host", "127.0.0.1:", ":1", "127.0.0.1:x", "127.0.0.1:65536", "h:" + "9" * 5000]
)
def test_what_is_no_address_is_named(listener):
    with pytest.raises(ServerError, match=r"falkirk\.metrics\.listener: "):
        bind_metrics(listener)


def test_a_port_in_use_is_named():
    with bind_metrics("127.0.0.1:0") as taken:
        taken.listen()
        with pytest.raises(ServerError, match="Address already in use"):
            bind_metrics(shown_address(taken))
