"""Requests wait while there is a reason, and it is told where they become too many."""

from __future__ import annotations

from typing import Any

from node_network import BROKER_LISTENER, NodeNetwork, controller_endpoint

from falkirk.node.config.node_config import BROKER
from falkirk.node.connections.client_connections import HELD_BYTES_MAX
from falkirk.node.connections.holds import NOT_SERVING, Hold, Holds
from falkirk.protocol.messages import MetadataRequest

SOME = Hold("something is the case", frozenset({3, 18}))
OTHER = Hold("another thing is the case", frozenset({3}))


def test_a_request_waits_until_no_hold_has_its_api():
    holds = Holds()
    holds.set(SOME, is_held=True)
    holds.set(OTHER, is_held=True)
    holds.set(OTHER, is_held=True)
    assert (holds.api_keys, holds.reason(3)) == ({3, 18}, "something is the case")
    holds.set(SOME, is_held=False)
    assert (holds.api_keys, holds.reason(3), holds.reason(18)) == ({3}, "another thing is the case", None)
    holds.set(OTHER, is_held=False)
    assert (holds.api_keys, holds.reason(3)) == (frozenset(), None)


def test_bytes_wait_for_another_reason_than_requests():
    holds = Holds()
    holds.set(SOME, is_held=True)
    assert (holds.holds_bytes, holds.reason()) == (False, None)
    holds.set(NOT_SERVING, is_held=True)
    assert (holds.holds_bytes, holds.reason(), holds.api_keys) == (True, "the broker does not serve yet", {3, 18})
    holds.set(NOT_SERVING, is_held=False)
    assert not holds.holds_bytes


def a_broker_without_a_controller(**settings: Any) -> NodeNetwork:
    network = NodeNetwork(release="4.3")
    network.add(101, roles={BROKER}, quorum_voters={1: controller_endpoint(1)}, **settings)
    network.start(101)
    network.run_for(100)
    return network


def test_who_sends_too_much_before_a_broker_serves_is_told_why():
    network = a_broker_without_a_controller()
    patient, flooding = network.client(101, BROKER_LISTENER), network.client(101, BROKER_LISTENER)
    patient.send_bytes(b"\0\0")
    flooding.send_bytes(bytes(HELD_BYTES_MAX + 1))
    network.run_for(100)
    assert (patient.is_closed, flooding.is_closed) == (False, True)
    (fact,) = network.facts("connection-flooded")
    assert fact.fields["reason"] == f"{HELD_BYTES_MAX + 1} bytes came while the broker does not serve yet"


def test_what_an_address_sends_before_a_broker_serves_counts_over_all_its_connections():
    network = a_broker_without_a_controller(socket_request_max_bytes=HELD_BYTES_MAX)
    clients = [network.client(101, BROKER_LISTENER) for _ in range(4)]
    for client in clients:
        client.send_bytes(bytes(HELD_BYTES_MAX))
        network.run_for(10)
    assert [client.is_closed for client in clients] == [False, False, True, True]
    fact = network.facts("connection-flooded")[0]
    kept = 3 * HELD_BYTES_MAX
    assert fact.fields["reason"] == f"the connections of its address keep {kept} bytes of requests waiting"


def test_a_request_that_came_before_a_broker_serves_is_answered_once_it_does():
    network = a_broker_without_a_controller()
    client = network.client(101, BROKER_LISTENER)
    client.send_bytes(client.connection.send_request(MetadataRequest(), 12)[1])
    network.run_for(1_000)
    assert not client.answers
    network.add_controllers(1)
    network.run_until(lambda: client.answers)
    assert client.answers[0].brokers[0].node_id == 101
