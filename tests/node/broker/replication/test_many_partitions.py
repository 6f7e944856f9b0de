"""A broker with 10,000 partitions is made, serves, stops and starts, and heartbeats in time; no step of it is long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from node_network import BROKER_LISTENER
from serving_cluster import BROKER_ID, a_cluster

from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.step import STEP_MS_MAX
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import CreateTopicsRequest, FetchRequest, MetadataRequest, ProduceRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record
from falkirk.simulation.machine.step_costs import StepCosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from node_network import NodeNetwork

    from falkirk.node.events import Event
    from falkirk.node.node import Node

PARTITIONS = 10_000
"""As many as one request may create, with the topic itself (MAX_RECORDS_PER_USER_OP)."""
CREATED = PARTITIONS // 2
MINUTE_MS = 60_000


class Costs:
    """The largest cost of a node's steps, in microseconds; `busiest` is what most of it went to."""

    def __init__(self) -> None:
        self.us = 0
        self.busiest = ""

    def measure(self, node: Node) -> None:
        """Measure the steps of a node from now on."""
        costs, step = StepCosts(), node.step

        def measured(events: Sequence[Event], now_ms: int) -> list[Any]:
            effects = costs.measure(lambda: step(events, now_ms))
            if costs.last.us > self.us:
                self.us, self.busiest = costs.last.us, costs.last.busiest
            return list(effects)

        node.step = measured  # type: ignore[method-assign]


def online(cluster: NodeNetwork) -> int:
    broker = cluster.hosts[BROKER_ID].running.broker
    assert broker is not None
    return len(broker.replicas.partitions.online)


def leads_all(cluster: NodeNetwork) -> bool:
    """Return whether the broker runs, and has applied that it leads all partitions again."""
    broker = cluster.hosts[BROKER_ID].running.broker
    assert broker is not None
    if broker.state is not BrokerState.RUNNING or broker.replicas.pending_offset is not None:
        return False
    topics = cluster.hosts[BROKER_ID].running.image.topics
    return all(partition.leader == BROKER_ID for topic in topics for partition in topic.partitions)


def topic_id(cluster: NodeNetwork, name: str) -> bytes:
    request = MetadataRequest([MetadataRequestTopic(name=name)])
    found: bytes = cluster.client(BROKER_ID, BROKER_LISTENER).ask(request, 12).topics[0].topic_id
    return found


def produce_to_all(cluster: NodeNetwork, topic: bytes) -> set[int]:
    """Produce a record to each partition of a topic; return the base offsets."""
    batch = build_batch([Record(0, cluster.now_ms, None, b"value")], base_offset=0, leader_epoch=-1)
    data = [PartitionProduceData(index, batch) for index in range(CREATED)]
    request = ProduceRequest(acks=-1, timeout_ms=MINUTE_MS, topic_data=[TopicProduceData(topic_id=topic)])
    request.topic_data[0].partition_data = data
    (answer,) = cluster.client(BROKER_ID, BROKER_LISTENER).ask(request, 13).responses
    assert {each.error_code for each in answer.partition_responses} == {0}
    assert len(answer.partition_responses) == CREATED
    return {each.base_offset for each in answer.partition_responses}


def fetched(cluster: NodeNetwork, topic: bytes) -> int:
    """Return how many partitions of a topic one fetch has records of."""
    partitions = [FetchPartition(index, partition_max_bytes=1_000) for index in range(CREATED)]
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic_id=topic, partitions=partitions)])
    answer = cluster.client(BROKER_ID, BROKER_LISTENER).ask(request, 13)
    return sum(bool(each.records) for found in answer.responses for each in found.partitions)


@pytest.mark.slow
@pytest.mark.full
def test_ten_thousand_partitions_on_one_broker_are_made_and_serve_and_it_stops_and_starts() -> None:
    cluster = a_cluster("4.4", broker_session_timeout_ms=9_000)
    others, costs = online(cluster), Costs()
    costs.measure(cluster.hosts[BROKER_ID].running)
    for name in ("m", "n"):
        request = CreateTopicsRequest([CreatableTopic(name, CREATED, 1)], MINUTE_MS)
        assert cluster.client(BROKER_ID, BROKER_LISTENER).ask(request, 7).topics[0].error_code == 0
    cluster.run_until(lambda: online(cluster) == others + PARTITIONS)
    ids = [topic_id(cluster, name) for name in ("m", "n")]
    assert [produce_to_all(cluster, each) for each in ids] == [{0}, {0}]
    assert [fetched(cluster, each) for each in ids] == [CREATED, CREATED]

    cluster.shut_down(BROKER_ID)
    stop = cluster.hosts[BROKER_ID].stop
    assert stop is not None
    assert stop.exit_code == 0
    cluster.start(BROKER_ID)
    costs.measure(cluster.hosts[BROKER_ID].running)
    cluster.run_until(lambda: leads_all(cluster))

    assert online(cluster) == others + PARTITIONS
    assert [produce_to_all(cluster, each) for each in ids] == [{1}, {1}]
    assert [fetched(cluster, each) for each in ids] == [CREATED, CREATED]
    assert [each for each in cluster.facts("broker-fenced") if each.fields["reason"] == "session timed out"] == []
    assert costs.us <= STEP_MS_MAX * 1_000, costs.busiest
