"""What is told and kept of a lowering: on every node, and only once it is committed."""

from __future__ import annotations

import pytest
from node_network import NodeNetwork, controller_endpoint

from falkirk.metadata.undo.undo_bundle import parse_bundle
from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.feature_update_tags import decode_details
from falkirk.protocol.messages import UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.storage import snapshot_creation
from falkirk.versions.metadata_version import MetadataVersion

BROKERS = (101, 102)
CONTROLLERS = (1, 2, 3)
LOW = 15


@pytest.fixture
def network() -> NodeNetwork:
    """Three controllers and two brokers with two log directories each, which 3.7-IV0 cannot hold."""
    network = NodeNetwork(release="4.3")
    network.add_controllers(3)
    network.run_until(lambda: network.active)
    for node_id in BROKERS:
        voters = {each: controller_endpoint(each) for each in CONTROLLERS}
        network.add(node_id, roles={BROKER}, quorum_voters=voters, further_log_dirs=("/d1",))
        network.start(node_id)
        network.run_until(lambda node_id=node_id: network.hosts[node_id].running.broker.state is BrokerState.RUNNING)
    network.run_until(lambda: len(network.active.running.image.cluster.controllers) == 3)
    return network


def request() -> UpdateFeaturesRequest:
    update = FeatureUpdateKey("metadata.version", LOW, upgrade_type=UpgradeType.UNSAFE_DOWNGRADE)
    return UpdateFeaturesRequest(timeout_ms=60_000, feature_updates=[update])


def bundles(network: NodeNetwork, node_id: int) -> list[str]:
    """Return the files of a node's directory of undo bundles."""
    disk = network.hosts[node_id].disk
    found = [path for path in disk._directories if path.endswith("/falkirk-undo")]
    return [f"{path}/{name}" for path in found for name in disk.list(path)]


def told(network: NodeNetwork, node_id: int, event: str) -> list[dict[str, object]]:
    return [fact.fields for fact in network.hosts[node_id].facts if fact.event == event]


def is_lowered(network: NodeNetwork, node_id: int) -> bool:
    version = network.hosts[node_id].running.image.features.metadata_version
    return version is not None and version.level == LOW


def test_every_node_tells_the_losses_and_every_controller_has_the_bundle(network):
    leader = network.active.config.node_id
    answer = network.client(leader).ask(request(), 2)
    details = decode_details(answer.unknown_tagged_fields)
    assert answer.error_code == ErrorCode.NONE
    network.run_until(lambda: all(is_lowered(network, node_id) for node_id in network.hosts))

    expected = {loss["key"] for loss in details.losses}
    assert len(expected) >= len(BROKERS)
    for node_id in network.hosts:
        assert told(network, node_id, "features-updated") == [{"metadata.version": LOW}], node_id
        assert {fields["key"] for fields in told(network, node_id, "metadata-lost")} == expected, node_id
    assert all(bundles(network, node_id) == [] for node_id in BROKERS)
    read = [parse_bundle(network.hosts[node_id].disk.read(details.undo_bundle)) for node_id in CONTROLLERS]
    assert read[0] == read[1] == read[2]
    assert read[0].level_after == LOW
    assert f"-{read[0].offset}-" in details.undo_bundle
    assert len(read[0].objects) >= len(expected)


def test_a_lowering_that_is_not_committed_leaves_no_bundle_and_no_word(network):
    leader = network.active
    others = [node_id for node_id in CONTROLLERS if node_id != leader.config.node_id]
    client = network.client(leader.config.node_id)
    for other in others:
        network.cut.add(frozenset((leader.config.node_id, other)))
        network.unlink(leader.config.node_id, other)
    client.send(request(), 2)
    network.run_until(lambda: any(path.endswith(".prepared") for path in bundles(network, leader.config.node_id)))
    network.run_until(lambda: network.active is not None and network.active is not leader)
    network.cut.clear()
    offset = network.active.running.raft.end_offset
    network.run_until(lambda: all(host.running.raft.high_watermark >= offset for host in network.hosts.values()))

    for node_id in network.hosts:
        assert not is_lowered(network, node_id)
        assert told(network, node_id, "features-updated") == []
        assert told(network, node_id, "metadata-lost") == []
        assert not any(path.endswith(".zip") for path in bundles(network, node_id))


def test_the_death_of_the_leader_loses_no_bundle(network):
    leader = network.active.config.node_id
    path = decode_details(network.client(leader).ask(request(), 2).unknown_tagged_fields).undo_bundle
    kept = network.hosts[leader].disk.read(path)
    network.kill(leader)
    others = [node_id for node_id in CONTROLLERS if node_id != leader]
    network.run_until(lambda: all(is_lowered(network, node_id) for node_id in others))

    for node_id in others:
        assert parse_bundle(network.hosts[node_id].disk.read(path)) == parse_bundle(kept)


def test_a_controller_that_was_down_writes_the_bundle_when_it_replays_the_change(network, monkeypatch):
    leader = network.active.config.node_id
    standby = next(node_id for node_id in CONTROLLERS if node_id != leader)
    network.kill(standby)
    # Else the leader's snapshot takes the place of the change before the other one has fetched it.
    monkeypatch.setattr(snapshot_creation, "VALUES_PER_STEP", 0)
    network.client(leader).send(request(), 2)
    network.run_until(lambda: is_lowered(network, leader))
    network.start(standby)
    network.run_until(lambda: is_lowered(network, standby))
    assert [path.endswith(".zip") for path in bundles(network, standby)] == [True]


def test_kraft_version_that_the_same_update_raises_is_before_the_lowering_and_in_every_bundle():
    network = NodeNetwork(release="4.3")
    network.add_controllers(3)
    network.run_until(lambda: network.active and len(network.active.running.image.cluster.controllers) == 3)
    network.run_until(lambda: network.active.running.raft.kraft_version_refusal is None)
    leader, low = network.active.config.node_id, MetadataVersion.parse("3.9-IV0").level
    both = UpdateFeaturesRequest(
        timeout_ms=60_000,
        feature_updates=[
            FeatureUpdateKey("metadata.version", low, upgrade_type=UpgradeType.UNSAFE_DOWNGRADE),
            FeatureUpdateKey("kraft.version", 1, upgrade_type=UpgradeType.UPGRADE),
        ],
    )
    client = network.client(leader)

    # At a level without dynamic voters nothing of it is done.
    both.feature_updates[0].max_version_level = LOW
    refused = client.ask(both, 2)
    assert "kraft.version 1" in refused.error_message
    assert network.active.running.raft.kraft_version == 0

    both.feature_updates[0].max_version_level = low
    answer = client.ask(both, 2)
    assert answer.error_code == ErrorCode.NONE
    path = decode_details(answer.unknown_tagged_fields).undo_bundle
    network.run_until(lambda: all(bundles(network, node_id) == [path] for node_id in CONTROLLERS))

    read = {network.hosts[node_id].disk.read(path) for node_id in CONTROLLERS}
    (bundle,) = map(parse_bundle, read)
    raft = network.hosts[leader].running.raft
    assert (bundle.level_after, bundle.kraft_version_before, bundle.kraft_version_after) == (low, 1, 1)
    assert bundle.features_before["kraft.version"] == 1
    assert (1, bundle.voters) == raft.voters_before(bundle.offset)
    assert raft.voters_before(bundle.offset - 2) == (0, None)
