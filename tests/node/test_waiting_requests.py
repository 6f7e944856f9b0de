"""Requests that wait behind open ones of their connection go on in the step in which those are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from replica_cluster import ReplicaCluster

from falkirk.node.connections.client_connections import OPEN_REQUESTS_MAX
from falkirk.node.handlers import fetch
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import FetchRequest, ListGroupsRequest, ProduceRequest
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record

if TYPE_CHECKING:
    from node_network import Client

BROKER = 101
WAIT_MS = 60_000


@pytest.fixture
def cluster() -> ReplicaCluster:
    cluster = ReplicaCluster(brokers=1)
    cluster.create("t", factor=1)
    return cluster


def fill(cluster: ReplicaCluster, client: Client, max_wait_ms: int) -> int:
    """Send as many fetches as may be open, and a request behind them; return its correlation id."""
    topic_id = cluster.network.hosts[BROKER].running.image.topics.by_name["t"].topic_id
    topic = FetchTopic("t", topic_id, [FetchPartition(partition=0, partition_max_bytes=2**20)])
    for _ in range(OPEN_REQUESTS_MAX):
        client.send(FetchRequest(max_wait_ms=max_wait_ms, min_bytes=1, topics=[topic]), 13)
    held = client.send(ListGroupsRequest(), 4)
    cluster.network.run_for(100)
    cluster.network.settle()
    assert client.answers == {}
    return held


def delay_ms(cluster: ReplicaCluster, client: Client, held: int) -> int:
    """Return how long after the fetches the request behind them is answered."""
    cluster.run_until(lambda: len(client.answers) >= OPEN_REQUESTS_MAX)
    began_ms = cluster.network.now_ms
    cluster.run_until(lambda: held in client.answers)
    return cluster.network.now_ms - began_ms


def test_what_waits_behind_fetches_goes_on_when_records_come(cluster):
    client, producer = cluster.client(BROKER), cluster.client(BROKER)
    held = fill(cluster, client, WAIT_MS)
    batch = build_batch([Record(0, cluster.network.now_ms, None, b"v", ())], base_offset=0)
    topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(0, batch)])
    producer.send(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]), 9)
    assert delay_ms(cluster, client, held) == 0


def test_what_waits_behind_fetches_goes_on_when_their_time_is_up(cluster):
    client = cluster.client(BROKER)
    held = fill(cluster, client, 1_234)
    assert delay_ms(cluster, client, held) == 0


@pytest.mark.source
def test_a_fault_of_ours_after_a_wait_fails_the_request_that_waited_and_not_the_node(cluster, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("planted")

    monkeypatch.setattr(fetch, "fetched_partition", broken)
    client = cluster.client(BROKER)
    topic_id = cluster.network.hosts[BROKER].running.image.topics.by_name["t"].topic_id
    topic = FetchTopic("t", topic_id, [FetchPartition(partition=0, partition_max_bytes=2**20)])
    assert client.ask(FetchRequest(max_wait_ms=500, min_bytes=1, topics=[topic]), 13).error_code == -1
    (fact,) = cluster.network.facts("handler-failed")
    assert "RuntimeError: planted" in fact.fields["traceback"]
    assert client.ask(ListGroupsRequest(), 4).error_code == 0
