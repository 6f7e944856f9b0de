"""Many connections that open, send garbage, half frames and floods: the cluster behind them goes on as before."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from node_network import CONTROLLER_LISTENER
from replica_cluster import ReplicaCluster

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ApiVersionsRequest, FetchRequest, MetadataRequest
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic

if TYPE_CHECKING:
    from collections.abc import Callable

    from node_network import Client

ROUNDS = 12
CONNECTIONS = 40
REQUESTS = 10


def open_and_leave(cluster: ReplicaCluster, client: Client) -> None:
    cluster.network.disconnect(client)


def send_garbage(_: ReplicaCluster, client: Client) -> None:
    client.send_bytes(b"GET / HTTP/1.1\r\nHost: broker\r\n\r\n")


def send_garbage_in_a_frame(_: ReplicaCluster, client: Client) -> None:
    client.send_bytes(struct.pack(">i", 30) + b"\xff" * 30)


def send_half_a_frame(_: ReplicaCluster, client: Client) -> None:
    client.send_bytes(struct.pack(">ihhih", 1_000_000, 0, 8, 7, -1) + bytes(1000))


def flood_with_metadata(_: ReplicaCluster, client: Client) -> None:
    for _ in range(REQUESTS):
        client.send(MetadataRequest(), 12)


def flood_with_versions(_: ReplicaCluster, client: Client) -> None:
    for _ in range(REQUESTS):
        client.send(ApiVersionsRequest("storm", "1"), 3)


def flood_with_fetches(cluster: ReplicaCluster, client: Client) -> None:
    topic_id = client.host.running.image.topics.by_name["t"].topic_id
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    for _ in range(REQUESTS):
        client.send(
            FetchRequest(max_wait_ms=500, min_bytes=1 << 20, topics=[FetchTopic("t", topic_id, [partition])]), 13
        )


STORMS_OF_CLIENTS = [
    open_and_leave,
    send_garbage,
    send_garbage_in_a_frame,
    send_half_a_frame,
    flood_with_metadata,
    flood_with_versions,
    flood_with_fetches,
]


def assert_nothing_was_lost(cluster: ReplicaCluster, epochs: tuple[int, int]) -> None:
    """Assert that nobody was elected anew, which fencing a broker would have led to, and records are written."""
    assert (cluster.network.active.running.raft.epoch, cluster.state("t").leader_epoch) == epochs
    assert all(cluster.is_running(broker) for broker in cluster.brokers)
    assert set(cluster.state("t").isr) == set(cluster.brokers)
    assert cluster.produce("t", b"after") == 0
    for host in cluster.network.running:
        assert not {fact.event for fact in host.facts} & {
            "handler-failed",
            "broker-fenced",
            "response-cannot-be-written",
        }


def storm(
    cluster: ReplicaCluster, node_id: int, listener: str, send: Callable[[ReplicaCluster, Client], None]
) -> list[Client]:
    """Let connections come, wave by wave, for longer than any session or election timeout; return the last wave's."""
    clients: list[Client] = []
    for _ in range(ROUNDS):
        clients = [cluster.network.client(node_id, listener) for _ in range(CONNECTIONS)]
        cluster.network.settle()
        for client in clients:
            send(cluster, client)
        cluster.run(500)
    return clients


@pytest.mark.slow
@pytest.mark.parametrize("send", STORMS_OF_CLIENTS, ids=lambda send: send.__name__)
def test_a_broker_keeps_its_session_leaderships_and_followers(
    send: Callable[[ReplicaCluster, Client], None],
) -> None:
    cluster = ReplicaCluster(brokers=2)
    cluster.create("t", replicas={0: [101, 102]})
    assert cluster.produce("t", b"before") == 0
    epochs = cluster.network.active.running.raft.epoch, cluster.state("t").leader_epoch

    clients = storm(cluster, 101, "PLAINTEXT", send)

    assert_nothing_was_lost(cluster, epochs)
    assert all(client.answers for client in clients if "flood" in send.__name__)
    assert all(client.is_closed for client in clients if "garbage" in send.__name__)


@pytest.mark.slow
@pytest.mark.parametrize(
    "send",
    [open_and_leave, send_garbage, send_garbage_in_a_frame, send_half_a_frame, flood_with_versions],
    ids=lambda send: send.__name__,
)
def test_a_controller_keeps_its_leadership_and_brokers_their_sessions(
    send: Callable[[ReplicaCluster, Client], None],
) -> None:
    cluster = ReplicaCluster(brokers=2, controllers=3)
    cluster.create("t", replicas={0: [101, 102]})
    active = cluster.network.active
    epochs = active.running.raft.epoch, cluster.state("t").leader_epoch

    storm(cluster, active.config.node_id, CONTROLLER_LISTENER, send)

    assert cluster.network.active is active
    assert_nothing_was_lost(cluster, epochs)


def test_connections_that_are_gone_leave_nothing_behind() -> None:
    cluster = ReplicaCluster(brokers=1)
    cluster.create("t", factor=1)
    node = cluster.network.hosts[101].running
    before = len(node._clients)

    for send in STORMS_OF_CLIENTS:
        for client in storm_once(cluster, send):
            cluster.network.disconnect(client)
    cluster.run(2000)

    assert len(node._clients) == before
    assert not node._clients._holding
    assert cluster.produce("t", b"after") == ErrorCode.NONE


def storm_once(cluster: ReplicaCluster, send: Callable[[ReplicaCluster, Client], None]) -> list[Client]:
    clients = [cluster.client(101) for _ in range(CONNECTIONS)]
    cluster.network.settle()
    for client in clients:
        send(cluster, client)
    cluster.network.settle()
    return clients
