"""A broker that loads its logs, in many steps: it stays in the cluster meanwhile, and leads nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from replica_cluster import ReplicaCluster

from falkirk.metadata.image.configs import TOPIC
from falkirk.node.broker import broker_role
from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.protocol.messages import CreateTopicsRequest, IncrementalAlterConfigsRequest
from falkirk.protocol.messages.create_topics_request import CreatableReplicaAssignment, CreatableTopic
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from falkirk.storage.log.log_manager import LogManager

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow


class SlowLoading:
    """Loads one log a step, and has not loaded all before it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may_end = False
        self.steps = 0
        load_some = LogManager.load_some

        def load_one(logs: LogManager) -> bool:
            self.steps += 1
            return (self.may_end or self.steps < 3) and load_some(logs, 1)

        monkeypatch.setattr(LogManager, "load_some", load_one)


def test_a_broker_heartbeats_and_is_fenced_until_its_logs_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = ReplicaCluster(brokers=2)
    for topic in ("a", "b", "c"):
        cluster.create(topic, replicas={0: [101, 102]})
        assert cluster.produce(topic, b"one") == 0
    cluster.kill(102)
    cluster.wait_for_isr("a", 101)
    loading = SlowLoading(monkeypatch)

    cluster.network.start(102)
    cluster.run(3_000)

    broker = cluster.network.hosts[102].running.broker
    assert broker is not None
    assert broker.state is BrokerState.RECOVERY
    assert cluster.network.now_ms - broker._lifecycle._last_response_ms < 2_000
    assert cluster.network.active is not None
    assert cluster.network.active.running.image.cluster.brokers[102].fenced
    assert cluster.produce("a", b"two") == 0
    cluster.delete("b")
    cluster.run(200)

    loading.may_end = True
    cluster.wait_for_isr("a", 101, 102)
    assert broker.state is BrokerState.RUNNING
    assert cluster.values(102, "a") == [b"one", b"two"]
    names = cluster.network.hosts[102].disk.list("/d0")
    # Its log was loaded before the topic was deleted.
    assert [name.endswith("-stray") for name in names if name.startswith("b-0")] == [True]


def test_a_start_with_many_logs_reports_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_role, "LOADING_FACT_LOGS", 10)
    cluster = ReplicaCluster(brokers=1)
    cluster.create("t", partitions=40, factor=1)
    cluster.network.shut_down(101)

    cluster.start(101)

    reported = [fact.fields for fact in cluster.network.facts("logs-loading")]
    assert [fields["opened"] for fields in reported] == [12, 24, 36]
    assert [fields["left"] for fields in reported] == sorted((fields["left"] for fields in reported), reverse=True)


def test_what_changes_when_all_logs_are_in_use_but_not_reported_on_is_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = ReplicaCluster(brokers=2)
    for topic in ("again", "kept"):
        cluster.create(topic, replicas={0: [101, 102]})
        assert cluster.produce(topic, b"old") == 0
    cluster.kill(102)
    cluster.wait_for_isr("again", 101)
    reported = []

    def slow_facts(*_: object) -> Iterator[None]:
        while not reported:
            yield None

    monkeypatch.setattr(broker_role, "loading_facts", slow_facts)
    cluster.network.start(102)
    cluster.run_until(lambda: cluster.network.hosts[102].running.broker._loading_facts is not None)

    cluster.delete("again")
    answer = cluster.client(101).ask(
        IncrementalAlterConfigsRequest(
            [AlterConfigsResource(TOPIC, "kept", [AlterableConfig("retention.ms", 0, "12345")])]
        ),
        1,
    )
    assert answer.responses[0].error_code == 0
    topic = CreatableTopic("again", -1, -1, assignments=[CreatableReplicaAssignment(0, (101, 102))])
    created = cluster.client(101).ask(CreateTopicsRequest([topic], 30_000, validate_only=False), 5)
    assert created.topics[0].error_code == 0
    cluster.run(1_000)
    reported.append(True)

    cluster.wait_for_isr("again", 101, 102)
    assert cluster.produce("again", b"new") == 0
    assert cluster.values(102, "again") == [b"new"]
    assert cluster.log(102, "kept").config.retention_ms == 12345
