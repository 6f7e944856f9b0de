"""What nodes write and ask of each other follows metadata.version as it is now, up and down, without a restart."""

from __future__ import annotations

import pytest
from node_network import NodeNetwork, controller_endpoint

from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.node.connections.request_facts import REQUEST_ANSWERED
from falkirk.protocol.messages import CreateTopicsRequest, IncrementalAlterConfigsRequest, UpdateFeaturesRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.metadata_record import decode_metadata_record
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

ELR = "eligible.leader.replicas.version"
BROKERS = (101, 102)


def a_cluster(level: str) -> NodeNetwork:
    """Make a controller and two brokers of 4.3, and a topic that both brokers have."""
    network = NodeNetwork(release="4.3")
    voters = {1: controller_endpoint(1)}
    at = MetadataVersion.parse(level)
    network.add(1, roles={CONTROLLER}, quorum_voters=voters, level=at, has_request_facts=True)
    network.start(1)
    for node_id in BROKERS:
        network.add(node_id, roles={BROKER}, quorum_voters=voters, level=at, has_request_facts=True)
        network.start(node_id)
    network.run_until(lambda: all(is_running(network, node_id) for node_id in BROKERS))
    network.run_until(lambda: 1 in image(network).cluster.controllers)
    create_topic(network, "first")
    return network


def is_running(network: NodeNetwork, node_id: int) -> bool:
    return network.hosts[node_id].running.broker.state is BrokerState.RUNNING


def image(network: NodeNetwork):
    return network.hosts[1].running.image


def create_topic(network: NodeNetwork, name: str) -> None:
    topic = CreatableTopic(name=name, num_partitions=4, replication_factor=2)
    answer = network.client(1).ask(CreateTopicsRequest([topic], 30_000, validate_only=False), 5)
    assert answer.topics[0].error_code == 0


def move_to(network: NodeNetwork, level: str, **others: int) -> None:
    """Bring metadata.version, and with it other features, to levels, whatever is lost."""
    to, at = MetadataVersion.parse(level), image(network).features.metadata_version
    kind = UpgradeType.UPGRADE if to > at else UpgradeType.UNSAFE_DOWNGRADE
    updates = [FeatureUpdateKey(METADATA_VERSION, to.level, upgrade_type=kind)]
    updates += [
        FeatureUpdateKey(name.replace("_", "."), lowered, upgrade_type=kind) for name, lowered in others.items()
    ]
    answer = network.client(1).ask(UpdateFeaturesRequest(60_000, updates), 2)
    assert answer.error_code == 0, answer.error_message
    network.run_until(lambda: all(host.running.image.features.metadata_version == to for host in network.running))
    network.run_for(1500)


def forget(network: NodeNetwork) -> None:
    for host in network.hosts.values():
        host.facts.clear()


def versions_asked(network: NodeNetwork, api: str, node_ids: tuple[int, ...]) -> set[int]:
    """Return the versions in which nodes were asked, by other nodes."""
    headers = [
        fact.fields["line"].request_header
        for node_id in node_ids
        for fact in network.hosts[node_id].facts
        if fact.event == REQUEST_ANSWERED
    ]
    return {each.request_api_version for each in headers if each.request_api_key_name == api}


def versions_written(network: NodeNetwork, record: str, *, since: int) -> set[int]:
    log = network.hosts[1].running.log
    decoded = [
        decode_metadata_record(value)
        for batch in log.batches(since, log.end_offset)
        if not batch.is_control
        for value in batch.values()
    ]
    return {version for message, version in decoded if type(message).__name__ == record}


@pytest.mark.slow
def test_followers_fetch_in_the_version_of_the_level_that_is_now():
    network = a_cluster("3.9-IV0")
    seen = []
    for level in (None, "3.7-IV4", "3.7-IV0", "4.1-IV1", "3.9-IV0"):
        if level is not None:
            move_to(network, level)
        forget(network)
        network.run_for(2000)
        seen.append(versions_asked(network, "FETCH", BROKERS))
    assert seen == [{17}, {16}, {15}, {18}, {17}]
    assert all(network.hosts[node_id].starts == 1 for node_id in network.hosts)


@pytest.mark.slow
def test_records_are_written_in_the_version_of_the_level_that_is_now():
    network = a_cluster("4.3-IV0")
    seen = []
    for level in ("4.2-IV1", "3.7-IV0", "3.9-IV0", "4.3-IV0"):
        move_to(network, level)
        since = network.hosts[1].running.log.end_offset
        create_topic(network, f"at-{level}")
        network.restart(102)
        network.run_until(lambda: is_running(network, 102))
        seen.append(
            (
                versions_written(network, "PartitionRecord", since=since),
                versions_written(network, "RegisterBrokerRecord", since=since),
            )
        )
    assert seen == [({2}, {3}), ({0}, {2}), ({1}, {3}), ({2}, {4})]


@pytest.mark.slow
def test_eligible_leader_replicas_are_kept_as_long_as_the_feature_is_on():
    network = a_cluster("4.1-IV1")
    kept = []
    for level, elr in (("4.2-IV1", 1), ("3.9-IV0", 0), ("4.1-IV1", 1)):
        move_to(network, level, **{ELR.replace(".", "_"): elr})
        client = network.client(1)
        config = min_isr_request()
        assert {each.error_code for each in client.ask(config, 1).responses} == {0}
        network.kill(102)
        network.run_until(lambda: image(network).cluster.brokers[102].fenced)
        topic = image(network).topics.topic("first")
        kept.append({partition.eligible_leader_replicas for partition in topic.partitions} - {()})
        network.start(102)
        network.run_until(lambda: is_running(network, 102))
        network.run_until(lambda: all(len(each.isr) == 2 for each in first(network)))
        network.run_for(1000)
    assert kept == [{(102,)}, set(), {(102,)}]


def first(network: NodeNetwork):
    return image(network).topics.topic("first").partitions


def min_isr_request():
    change = AlterableConfig("min.insync.replicas", 0, "2")
    return IncrementalAlterConfigsRequest([AlterConfigsResource(2, "first", [change])], validate_only=False)
