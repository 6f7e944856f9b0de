"""What nodes tell of unstable versions: as real nodes do (`tests/interop/test_negotiation.py`)."""

from __future__ import annotations

import pytest
from node_network import BROKER_LISTENER, CONTROLLER_LISTENER, NodeNetwork, controller_endpoint

from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER
from falkirk.protocol.messages import ApiVersionsRequest, ApiVersionsResponse, InitProducerIdRequest

ASKED = ApiVersionsRequest(client_software_name="tester", client_software_version="1")
INIT_PRODUCER_ID = 22
# Highest metadata.version that real nodes told, without and with the setting.
TOLD = [("3.9", 21, 23), ("4.0", 25, 26), ("4.3", 30, 31), ("4.4", 33, 34)]


def a_cluster(release: str, **settings: bool) -> NodeNetwork:
    network = NodeNetwork(release=release)
    network.add_controllers(1, **settings)
    network.add(2, roles={BROKER}, quorum_voters={1: controller_endpoint(1)}, **settings)
    host = network.start(2)
    network.run_until(lambda: host.running.broker.state is BrokerState.RUNNING)
    return network


def answers(network: NodeNetwork) -> tuple[ApiVersionsResponse, ApiVersionsResponse]:
    """Return what the controller answers, and what the broker does."""
    controller, broker = network.client(1, CONTROLLER_LISTENER), network.client(2, BROKER_LISTENER)
    return controller.ask(ASKED, 3), broker.ask(ASKED, 3)


def highest_level(answer: ApiVersionsResponse) -> int:
    [level] = (one.max_version for one in answer.supported_features if one.name == "metadata.version")
    return level


@pytest.mark.parametrize(("release", "stable", "unstable"), TOLD)
def test_controllers_tell_unstable_levels_with_unstable_apis_and_brokers_with_unstable_features(
    release, stable, unstable
):
    def told(**settings: bool) -> tuple[int, int]:
        controller, broker = answers(a_cluster(release, **settings))
        return highest_level(controller), highest_level(broker)

    assert told() == (stable, stable)
    assert told(unstable_api_versions_enable=True) == (unstable, stable)
    assert told(unstable_feature_versions_enable=True) == (stable, unstable)


def test_unstable_versions_are_offered_and_served_with_unstable_apis_alone():
    def highest(answer: ApiVersionsResponse) -> int:
        return {one.api_key: one.max_version for one in answer.api_keys}[INIT_PRODUCER_ID]

    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
    without, unstable = a_cluster("4.3"), a_cluster("4.3", unstable_api_versions_enable=True)
    assert (highest(answers(without)[1]), highest(answers(unstable)[1])) == (5, 6)

    refused = without.client(2, BROKER_LISTENER)
    refused.send(request, 6)
    without.run_until(lambda: refused.is_closed)
    served = unstable.client(2, BROKER_LISTENER)
    # The first one has the broker ask for ids.
    served.ask(request, 6)
    unstable.run_for(1000)
    assert served.ask(request, 6).error_code == 0
