"""A node that does not support what is finalized neither registers, starts nor runs (KIP-584, KIP-778)."""

from __future__ import annotations

import re

import pytest
from node_network import BROKER_LISTENER, NodeNetwork, controller_endpoint

from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.node.errors import StartupError
from falkirk.protocol.messages import FeatureLevelRecord, UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release

LEVEL = MetadataVersion.parse("3.7-IV4")
VOTERS = {node_id: controller_endpoint(node_id) for node_id in (1, 2, 3)}


def a_cluster(*, controllers: str = "4.3", brokers: str = "4.3") -> NodeNetwork:
    """Make controllers 1 to 3 and brokers 101 and 102 of these releases, at 3.7-IV4."""
    network = NodeNetwork()
    for node_id in VOTERS:
        network.add(node_id, roles={CONTROLLER}, quorum_voters=VOTERS, release=Release.parse(controllers), level=LEVEL)
        network.start(node_id)
    for node_id in (101, 102):
        add_broker(network, node_id, brokers)
    network.run_until(lambda: all(is_running(network, node_id) for node_id in (101, 102)))
    network.run_until(lambda: len(network.active.running.image.cluster.controllers) == 3)
    return network


def add_broker(network: NodeNetwork, node_id: int, release: str) -> None:
    network.add(node_id, roles={BROKER}, quorum_voters=VOTERS, release=Release.parse(release), level=LEVEL)
    network.start(node_id)


def is_running(network: NodeNetwork, node_id: int) -> bool:
    return network.hosts[node_id].running.broker.state is BrokerState.RUNNING


def append(network: NodeNetwork, name: str, level: int) -> None:
    """Finalize a level past every check, as a controller with other rules might have."""
    running = network.active.running
    running.raft.append([encode_metadata_record(FeatureLevelRecord(name, level), 0)], network.now_ms)
    running._step.wake()
    running._due_ms = network.now_ms


def update(network: NodeNetwork, name: str, level: int):
    client = network.client(network.active.config.node_id)
    return client.ask(UpdateFeaturesRequest(60_000, [FeatureUpdateKey(name, level, upgrade_type=1)]), 1)


@pytest.mark.parametrize(
    ("name", "level", "reason"),
    [
        ("group.version", 1, r"release 3\.9\.1 does not support .*: group\.version 1"),
        ("share.version", 1, r"release 3\.9\.1 does not support .*: share\.version 1 \(unknown\)"),
        (METADATA_VERSION, 25, r"No MetadataVersion with feature level 25"),
    ],
)
def test_a_broker_that_runs_unregisters_and_ends_with_one_line(name, level, reason):
    network = a_cluster(brokers="3.9")
    append(network, name, level)
    hosts = [network.hosts[101], network.hosts[102]]
    network.run_until(lambda: all(host.node is None for host in hosts), within_ms=10_000)

    for host in hosts:
        assert host.stop.exit_code == 1
        assert "\n" not in host.stop.reason
        assert [fact.event for fact in host.facts if "unregistered" in fact.event] == ["broker-unregistered"]
        assert re.search(reason, host.stop.reason)
    assert len(network.active.running.image.cluster.brokers) == 0


def test_a_broker_that_reaches_no_controller_ends_all_the_same():
    network = a_cluster(brokers="3.9")
    append(network, "group.version", 1)
    host = network.hosts[101]
    network.run_until(lambda: host.running._unregistration is not None)
    network.isolate(101)
    network.run_until(lambda: host.node is None, within_ms=10_000)
    assert host.stop.exit_code == 1


def test_it_is_no_longer_served_to_clients_while_it_unregisters():
    network = a_cluster(brokers="3.9")
    client = network.client(101, BROKER_LISTENER)
    append(network, "group.version", 1)
    network.run_until(lambda: client.is_closed)
    assert network.hosts[101].running._unregistration is not None


def test_a_broker_does_not_start_on_a_snapshot_of_what_it_does_not_support():
    network = a_cluster()
    network.shut_down(102)
    append(network, "group.version", 1)
    append(network, METADATA_VERSION, MetadataVersion.parse("3.8-IV0").level)
    append(network, METADATA_VERSION, LEVEL.level)
    network.run_until(lambda: network.hosts[101].running.log.start_offset > 0)
    network.kill(101)
    disk = network.hosts[101].disk
    network.add(101, roles={BROKER}, quorum_voters=VOTERS, release=Release.parse("3.9"), disk=disk, is_formatted=False)
    with pytest.raises(StartupError, match=r"does not support what the cluster has finalized: group\.version 1"):
        network.start(101)


def test_a_broker_whose_log_was_behind_ends_before_it_is_unfenced():
    network = a_cluster()
    append(network, "group.version", 1)
    network.run_for(500)
    add_broker(network, 103, "3.9")
    host = network.hosts[103]
    network.run_until(lambda: host.node is None, within_ms=10_000)
    assert host.stop.exit_code == 1
    assert host.times_started == 0
    assert 103 not in network.active.running.image.cluster.brokers


def test_an_inactive_controller_ends_and_the_active_one_resigns_first():
    network = a_cluster()
    leader = network.active
    append(network, METADATA_VERSION, MetadataVersion.parse("4.4-IV0").level)
    hosts = [network.hosts[node_id] for node_id in VOTERS]
    network.run_until(lambda: all(host.node is None for host in hosts), within_ms=10_000)
    for host in hosts:
        assert host.stop.exit_code == 1
        assert "\n" not in host.stop.reason
    states = [fact.fields["state"] for fact in leader.facts if fact.event == "raft-state"]
    assert states[-2:] == ["leader", "resigned"]


def test_the_active_controller_does_not_append_what_it_does_not_support():
    network = a_cluster()
    before = network.active.running.image.features
    answer = update(network, METADATA_VERSION, MetadataVersion.parse("4.4-IV0").level)
    assert answer.error_code or any(result.error_code for result in answer.results)
    network.run_for(1000)
    assert network.active.running.image.features == before
    assert all(network.hosts[node_id].node is not None for node_id in network.hosts)


@pytest.mark.parametrize("is_registration_first", [False, True])
def test_a_registration_that_races_with_an_update_never_leaves_an_incompatible_broker(is_registration_first):
    network = a_cluster()
    add_broker(network, 103, "3.9")
    host = network.hosts[103]

    def is_registered() -> bool:
        return 103 in network.active.running._controllership.serving.controller.state.image.cluster.brokers

    if is_registration_first:
        network.run_until(is_registered)
    # 3.9 knows group.version up to 0 only.
    answer = update(network, "group.version", 1)
    refused = bool(answer.error_code or any(result.error_code for result in answer.results))
    assert refused is is_registration_first
    network.run_for(5_000)

    levels = network.active.running.image.features.levels()
    if is_registration_first:
        assert "group.version" not in levels
        assert is_running(network, 103)
    else:
        assert levels["group.version"] == 1
        assert not is_registered()
        assert host.node is None
        assert host.stop.exit_code == 1
        assert host.times_started == 0


def test_an_incompatible_controller_is_not_registered():
    network = a_cluster()
    append(network, METADATA_VERSION, MetadataVersion.parse("4.0-IV0").level)
    network.run_for(500)
    network.kill(3)
    host = network.add(
        3,
        roles={CONTROLLER},
        quorum_voters=VOTERS,
        release=Release.parse("3.9"),
        level=LEVEL,
    )
    network.start(3)
    network.run_until(lambda: host.node is None, within_ms=20_000)
    assert host.stop.exit_code == 1
    assert "only supports versions" in host.stop.reason
