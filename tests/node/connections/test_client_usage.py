"""What clients make a node hold is bounded: by connection, and for all connections of an address together."""

from __future__ import annotations

import struct
from itertools import pairwise

from node_network import CONTROLLER_LISTENER, Client, NodeNetwork

from falkirk.node.connections.client_usage import FRAME_WINDOW_BYTES, FRAME_WINDOW_MS
from falkirk.protocol.messages import DeleteTopicsRequest, DescribeClusterRequest

MIB = 1024 * 1024
FRAME_BYTES = 8 * MIB


def a_node() -> NodeNetwork:
    network = NodeNetwork()
    network.add_controllers(1, socket_request_max_bytes=FRAME_BYTES)
    network.run_until(lambda: network.active)
    return network


def begin_frame(client: Client, size: int) -> None:
    """Send the start of a frame of the largest size: its length and `size` bytes."""
    header = struct.pack(">hhih", 18, 3, 1, -1)
    client.send_bytes(struct.pack(">i", FRAME_BYTES) + header + bytes(size - len(header)))


def usage(network: NodeNetwork, client: Client):
    return network.hosts[1].running._clients._clients[client.connection_id].usage


def test_a_request_that_comes_too_slowly_costs_its_connection() -> None:
    network = a_node()
    slow, steady = network.client(1), network.client(1)
    for client in (slow, steady):
        begin_frame(client, 100_000)
    network.run_for(100)
    for _ in range(3):
        slow.send_bytes(bytes(100))
        steady.send_bytes(bytes(FRAME_WINDOW_BYTES))
        network.run_for(FRAME_WINDOW_MS - 5_000)
    assert (slow.is_closed, steady.is_closed) == (True, False)
    (fact,) = network.facts("request-too-slow")
    assert fact.fields["reason"] == "less than 65536 bytes of an unfinished request came in 60000 ms"
    assert network.hosts[1].running.counters.closed_for_slowness == 1


def test_a_request_that_came_in_two_parts_leaves_no_window_behind() -> None:
    network = a_node()
    client = network.client(1)
    request = client.connection.send_request(DescribeClusterRequest(endpoint_type=2), 1)[1]
    client.send_bytes(request[:10])
    network.run_for(100)
    client.send_bytes(request[10:])
    network.run_for(3 * FRAME_WINDOW_MS)
    assert not client.is_closed
    assert len(client.answers) == 1


def test_windows_count_for_each_request_anew() -> None:
    network = a_node()
    client = network.client(1)
    requests = [client.connection.send_request(DescribeClusterRequest(endpoint_type=2), 1)[1] for _ in range(6)]
    # Never between requests, and none takes longer than a window.
    client.send_bytes(requests[0][:10])
    for request, following in pairwise(requests):
        network.run_for(FRAME_WINDOW_MS - 1_000)
        client.send_bytes(request[10:] + following[:10])
    network.run_for(1_000)
    assert not client.is_closed
    assert len(client.answers) == 5


def test_connections_of_an_address_share_what_they_may_keep_waiting() -> None:
    network = a_node()
    clients = [network.client(1, CONTROLLER_LISTENER) for _ in range(5)]
    for client in clients:
        begin_frame(client, 4 * MIB - 4)
        network.run_for(10)
    assert [client.is_closed for client in clients] == [False, False, False, False, True]
    reason = network.facts("connection-flooded")[-1].fields["reason"]
    assert reason == f"the connections of its address keep {20 * MIB} bytes of requests waiting"
    assert usage(network, clients[0]).buffered_bytes == 16 * MIB
    for client in clients[:4]:
        network.disconnect(client)
    network.run_for(10)
    latest = network.client(1)
    network.run_for(10)
    assert (usage(network, latest).connections, usage(network, latest).buffered_bytes) == (1, 0)


def test_what_is_answered_is_no_longer_counted() -> None:
    network = a_node()
    client = network.client(1)
    for _ in range(10):
        client.ask(DescribeClusterRequest(endpoint_type=2), 1)
    assert usage(network, client).open_bytes == usage(network, client).buffered_bytes == 0


def test_whole_requests_that_wait_behind_a_pause_are_counted() -> None:
    network = a_node()
    client = network.client(1)
    client.ask(DescribeClusterRequest(endpoint_type=2), 1)
    connections = network.hosts[1].running._clients
    paused = connections._clients[client.connection_id]
    connections.throttle(paused, network.now_ms + 10_000)
    for _ in range(4):
        client.send_bytes(a_request(client, 4 * MIB))
        network.settle()
    assert usage(network, client).buffered_bytes == 16 * MIB
    client.send_bytes(a_request(client, 4 * MIB))
    network.settle()
    assert client.is_closed
    reason = network.facts("connection-flooded")[-1].fields["reason"]
    assert reason == f"the connections of its address keep {20 * MIB} bytes of requests waiting"


def test_a_request_that_is_read_in_slices_no_longer_waits() -> None:
    network = a_node()
    client = network.client(1)
    client.ask(DescribeClusterRequest(endpoint_type=2), 1)
    connections = network.hosts[1].running._clients
    connections.throttle(connections._clients[client.connection_id], network.now_ms + 1_000)
    names = [f"t{number:096}" for number in range(3_000)]
    client.send(DeleteTopicsRequest(topic_names=names, timeout_ms=1_000), 4)
    client.send_bytes(a_request(client, 3 * MIB))
    network.settle()
    waited = [usage(network, client).buffered_bytes]
    while len(client.answers) < 2:
        network.run_for(1)
        waited.append(usage(network, client).buffered_bytes)
    assert list(dict.fromkeys(waited))[1:] == [3 * MIB, 0]


def a_request(client: Client, size: int) -> bytes:
    """Return a request of this size; its last bytes are ignored."""
    request = client.connection.send_request(DescribeClusterRequest(endpoint_type=2), 1)[1]
    return struct.pack(">i", size) + request[4:].ljust(size, b"\0")
