"""How a node shows that it follows when metadata.version is lowered: `falkirk.downgrade` among its features."""

from __future__ import annotations

import pytest
from node_network import BROKER_LISTENER, NodeNetwork, controller_endpoint

from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.protocol.messages import ApiVersionsRequest
from falkirk.versions.features import FALKIRK_DOWNGRADE

ASKED = ApiVersionsRequest(client_software_name="tester", client_software_version="1")


def a_cluster(release: str, **settings) -> NodeNetwork:
    network = NodeNetwork(release=release)
    voters = {1: controller_endpoint(1)}
    network.add(1, roles={CONTROLLER}, quorum_voters=voters, **settings)
    network.add(101, roles={BROKER}, quorum_voters=voters, **settings)
    network.start(1)
    network.start(101)
    network.run_until(lambda: network.hosts[101].running.broker.state is BrokerState.RUNNING)
    network.run_until(lambda: 1 in image(network).cluster.controllers)
    return network


def image(network: NodeNetwork):
    return network.hosts[1].running.image


def highest_levels(features) -> dict[str, int]:
    return {feature.name: feature.max_supported_version for feature in features}


@pytest.mark.parametrize("release", ["3.7", "3.9", "4.0", "4.3", "4.4"])
def test_every_node_shows_it_in_its_registration_beside_what_its_release_supports(release):
    network = a_cluster(release)
    expected = {name: levels.highest for name, levels in network.release.supported_features().items()}
    expected[FALKIRK_DOWNGRADE] = 1
    assert highest_levels(image(network).cluster.brokers[101].features) == expected
    assert highest_levels(image(network).cluster.controllers[1].features) == expected
    assert {name: levels.highest for name, levels in network.active.running.config.supported_features.items()} == (
        expected
    )


def test_every_node_tells_it_to_clients_that_can_read_it():
    network = a_cluster("4.3")
    for client in (network.client(1), network.client(101, BROKER_LISTENER)):
        told = {feature.name: (feature.min_version, feature.max_version) for feature in supported(client, 4)}
        assert told[FALKIRK_DOWNGRADE] == (0, 1)
        # Older clients cannot read a lowest level of 0.
        assert FALKIRK_DOWNGRADE not in {feature.name for feature in supported(client, 3)}


def test_a_node_that_is_told_not_to_follow_shows_nothing():
    network = a_cluster("4.3", downgrade_enable=False)
    assert FALKIRK_DOWNGRADE not in highest_levels(image(network).cluster.brokers[101].features)
    assert FALKIRK_DOWNGRADE not in highest_levels(image(network).cluster.controllers[1].features)
    assert FALKIRK_DOWNGRADE not in {feature.name for feature in supported(network.client(1), 4)}


def test_a_node_may_follow_without_telling_clients():
    network = a_cluster("4.3", downgrade_advertise=False)
    assert highest_levels(image(network).cluster.brokers[101].features)[FALKIRK_DOWNGRADE] == 1
    assert highest_levels(image(network).cluster.controllers[1].features)[FALKIRK_DOWNGRADE] == 1
    for client in (network.client(1), network.client(101, BROKER_LISTENER)):
        told = {feature.name for feature in supported(client, 4)}
        assert "metadata.version" in told
        assert FALKIRK_DOWNGRADE not in told


def supported(client, version):
    return client.ask(ASKED, version).supported_features
