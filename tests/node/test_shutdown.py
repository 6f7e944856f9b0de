"""Whole clusters of nodes that are broker and voter stop together."""

from __future__ import annotations

import pytest
from controllers import Broker, make_image
from node_network import NodeNetwork, controller_endpoint

from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.node.events import ShutdownRequested
from falkirk.node.shutdown import is_last, is_needed


def a_cluster(count: int, **settings) -> NodeNetwork:
    network = NodeNetwork(release="4.3")
    voters = {node_id: controller_endpoint(node_id) for node_id in range(1, count + 1)}
    for node_id in voters:
        network.add(node_id, roles={BROKER, CONTROLLER}, quorum_voters=voters, **settings)
    for node_id in voters:
        network.start(node_id)
    network.run_until(lambda: all(state(network, node_id) is BrokerState.RUNNING for node_id in voters))
    return network


def state(network: NodeNetwork, node_id: int) -> BrokerState:
    broker = network.hosts[node_id].running.broker
    assert broker is not None
    return broker.state


def ask_to_stop(network: NodeNetwork, *node_ids: int) -> None:
    for node_id in node_ids:
        network.hosts[node_id].inbox.append(ShutdownRequested())


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_cluster_that_stops_as_a_whole_stops_in_order_and_soon(count):
    network = a_cluster(count)
    before_ms = network.now_ms
    ask_to_stop(network, *network.hosts)
    network.run_until(lambda: not network.running)
    assert network.now_ms - before_ms < 6_000
    assert {host.stop.exit_code for host in network.hosts.values()} == {0}
    assert network.facts("controlled-shutdown-timed-out") == []


@pytest.mark.slow
def test_one_after_the_other_the_last_ones_do_not_wait_for_a_quorum_that_cannot_be():
    network = a_cluster(3, broker_session_timeout_ms=9_000)
    for node_id in (1, 2, 3):
        before_ms = network.now_ms
        ask_to_stop(network, node_id)
        network.run_until(lambda left=node_id: network.hosts[left].node is None)
        assert network.now_ms - before_ms < 10_000
        assert network.hosts[node_id].stop.exit_code == 0
    # Nobody was there any more to let the last one go.
    assert len(network.facts("controlled-shutdown-timed-out")) == 1


def test_a_node_that_leaves_serves_controllers_to_the_end_and_no_new_clients():
    network = a_cluster(2)
    ask_to_stop(network, 1)
    network.settle()
    assert network.hosts[1].node is not None, "it waits for the other one"
    client = network.client(1, "PLAINTEXT")
    other = network.client(1, "CONTROLLER")
    network.settle()
    assert client.is_closed
    assert not other.is_closed


@pytest.mark.parametrize(
    ("serving", "voters", "needed", "last"),
    [
        ({2, 3}, (1, 2, 3), False, False),
        ({2}, (1, 2, 3), True, False),
        (set(), (1, 2, 3), False, True),
        (set(), (1,), False, True),
        ({2}, (2, 3), False, False),  # is no voter
        ({2}, (1, 2, 9), False, False),  # 9 is a mere controller
    ],
)
def test_a_voter_is_needed_by_those_that_serve_and_have_no_majority_without_it(serving, voters, needed, last):
    brokers = [Broker(broker_id=broker_id, fenced=broker_id not in serving) for broker_id in (1, 2, 3)]
    cluster = make_image(brokers=brokers).cluster
    assert is_needed(cluster, voters, 1) is needed
    assert is_last(cluster, voters, 1) is last
