"""A cluster that serves all APIs: controllers, and a broker with a topic that coordinates groups."""

from __future__ import annotations

from typing import Any

from node_network import BROKER_LISTENER, NodeNetwork, controller_endpoint

from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    CreateTopicsRequest,
    FindCoordinatorRequest,
    UpdateFeaturesRequest,
)
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.versions.api_support import Listener

BROKER_ID = 101
TOPIC = "t"
PRODUCE = 0
OWN_GROUP_TOPIC = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
}


def a_cluster(release: str, **settings: Any) -> NodeNetwork:
    """An active controller, a standby, a broker that coordinates groups; a topic. All nodes have the settings."""
    network = NodeNetwork(release=release)
    network.add_controllers(3, **settings)
    voters = {node_id: controller_endpoint(node_id) for node_id in (1, 2, 3)}
    network.add(BROKER_ID, roles={BROKER}, quorum_voters=voters, properties=OWN_GROUP_TOPIC, **settings)
    network.start(BROKER_ID)
    network.run_until(lambda: network.hosts[BROKER_ID].running.broker.state is BrokerState.RUNNING)
    client = network.client(BROKER_ID, BROKER_LISTENER)
    assert client.ask(CreateTopicsRequest([CreatableTopic(TOPIC, 1, 1)], 5000), 2).topics[0].error_code == 0
    network.run_until(lambda: network.hosts[BROKER_ID].running.image.topics.topic(TOPIC))
    client.ask(FindCoordinatorRequest("g"), 3)
    groups = network.hosts[BROKER_ID].running.broker.groups
    network.run_until(lambda: any(host.shard is not None for host in groups.hosts.values()))
    return network


def with_consumer_groups(network: NodeNetwork) -> NodeNetwork:
    """Raise group.version, and wait until the broker serves the protocol of KIP-848."""
    update = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("group.version", 1)])
    assert network.client(BROKER_ID, BROKER_LISTENER).ask(update, 1).error_code == 0
    groups = network.hosts[BROKER_ID].running.broker.groups
    network.run_until(lambda: groups.is_consumer_protocol_enabled)
    return network


def advertised(network: NodeNetwork, node_id: int, listener: str) -> dict[int, range]:
    answer = network.client(node_id, listener).ask(ApiVersionsRequest(), 0)
    assert answer.error_code == 0
    told = {api.api_key: range(api.min_version, api.max_version + 1) for api in answer.api_keys}
    if PRODUCE in told:
        # Told from 0 on, whatever is served.
        lowest = network.release.api_ranges(Listener.BROKER)[PRODUCE].lowest
        told[PRODUCE] = range(lowest, told[PRODUCE].stop)
    return told
