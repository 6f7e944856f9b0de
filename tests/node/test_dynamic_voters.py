"""Quorums whose voters stand in the log (kraft.version 1, KIP-853): joining, leaving, snapshots with voters."""

from __future__ import annotations

import pytest
from node_network import LOG_DIR, NodeNetwork, controller_endpoint, directory_id

from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AddRaftVoterRequest,
    ApiVersionsRequest,
    RemoveRaftVoterRequest,
    UpdateFeaturesRequest,
)
from falkirk.protocol.messages.add_raft_voter_request import Listener
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.storage.snapshot_file import read_snapshot
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

RELEASES = ("3.9", "4.0", "4.3", "4.4")


def a_cluster(release: str, first: tuple[int, ...], later: tuple[int, ...] = (), **settings) -> NodeNetwork:
    network = NodeNetwork(release=release)
    servers = tuple(controller_endpoint(node_id) for node_id in (*first, *later))
    for node_id in (*first, *later):
        voters = first if node_id in first else None
        network.add(node_id, roles={CONTROLLER}, quorum_bootstrap_servers=servers, dynamic_voters=voters, **settings)
        network.start(node_id)
    network.run_until(lambda: network.active is not None)
    return network


def ask_leader(network: NodeNetwork, request, version: int = 0):
    return network.client(network.active.config.node_id).ask(request, version)


def add_voter(network: NodeNetwork, node_id: int):
    listener = Listener("CONTROLLER", *controller_endpoint(node_id))
    request = AddRaftVoterRequest(
        cluster_id=None,
        timeout_ms=30_000,
        voter_id=node_id,
        voter_directory_id=directory_id(node_id),
        listeners=[listener],
    )
    return ask_leader(network, request)


def voters(network: NodeNetwork) -> list[set[int]]:
    return [set(host.running.raft.voters) for host in network.running]


@pytest.mark.parametrize("release", RELEASES)
def test_the_voters_of_the_format_elect_a_leader_and_register(release):
    network = a_cluster(release, (1, 2, 3))

    network.run_until(lambda: all(len(host.running.image.cluster.controllers) == 3 for host in network.running))

    assert voters(network) == [{1, 2, 3}] * 3
    assert {host.running.raft.kraft_version for host in network.running} == {1}


@pytest.mark.parametrize("release", RELEASES)
def test_an_observer_joins_and_the_quorum_then_bears_the_loss_of_the_first(release):
    network = a_cluster(release, (1,), later=(2, 3))
    for node_id in (2, 3):
        network.run_until(lambda node_id=node_id: network.hosts[node_id].running.image.cluster.controllers)
        answer = add_voter(network, node_id)
        assert (answer.error_code, answer.error_message) == (0, None)
    network.run_until(lambda: voters(network) == [{1, 2, 3}] * 3)

    network.kill(1)
    network.run_until(lambda: network.active is not None)

    assert set(network.active.running.image.cluster.controllers) == {1, 2, 3}


def test_a_controller_joins_by_itself_where_it_is_configured_to():
    network = a_cluster("4.3", (1,), later=(2,), quorum_auto_join=True)

    network.run_until(lambda: voters(network) == [{1, 2}] * 2, within_ms=120_000)


def test_a_voter_leaves_even_if_it_leads():
    network = a_cluster("4.3", (1, 2, 3))
    leader = network.active.config.node_id
    request = RemoveRaftVoterRequest(cluster_id=None, voter_id=leader, voter_directory_id=directory_id(leader))

    answer = ask_leader(network, request)

    assert answer.error_code == 0
    network.run_until(lambda: network.active is not None and network.active.config.node_id != leader)
    assert set(network.active.running.raft.voters) == {1, 2, 3} - {leader}


@pytest.mark.parametrize("release", RELEASES)
def test_a_snapshot_has_the_voters_and_a_restart_knows_them_from_it(release):
    network = a_cluster(
        release,
        (1, 2, 3),
        metadata_log_max_record_bytes_between_snapshots=500,
        metadata_max_retention_bytes=600,
        metadata_log_segment_bytes=500,
    )
    network.run_until(
        lambda: all(
            host.facts and any(f.event == "snapshot-written" for f in host.facts) for host in network.hosts.values()
        )
    )
    network.run_for(20_000)
    node_id = network.active.config.node_id
    disk = network.hosts[node_id].disk
    partition = f"{LOG_DIR}/__cluster_metadata-0"
    newest = max(name for name in disk.list(partition) if name.endswith(".checkpoint"))

    snapshot = read_snapshot(disk.read(f"{partition}/{newest}"), file=newest)

    assert snapshot.kraft_version == 1
    assert [voter.voter_id for voter in snapshot.voters.voters] == [1, 2, 3]
    network.restart(node_id)
    network.run_until(lambda: network.active is not None)
    assert set(network.hosts[node_id].running.raft.voters) == {1, 2, 3}


@pytest.mark.parametrize("release", ["4.1", "4.4"])
def test_static_voters_become_dynamic_when_kraft_version_is_raised(release):
    network = NodeNetwork(release=release)
    level = MetadataVersion.parse("3.9-IV0")
    network.add_controllers(3, level=level)
    voters_of_file = {each: controller_endpoint(each) for each in (1, 2, 3)}
    observer = network.add(11, roles={BROKER}, quorum_voters=voters_of_file, level=level)
    network.start(11)
    network.run_until(lambda: network.active is not None and len(network.active.running.image.cluster.controllers) == 3)
    network.run_until(lambda: network.active.running.raft.kraft_version_refusal is None)
    assert update_kraft_version(network, 1, is_dry=True).error_code == 0
    assert network.active.running.raft.kraft_version == 0

    assert update_kraft_version(network, 1).error_code == 0

    assert finalized_kraft_version(network) == 1
    network.run_until(lambda: {host.running.raft.kraft_version for host in network.running} == {1})
    keys = {each: node.key.directory_id for each, node in observer.running.raft.voters.items()}
    assert keys == {each: directory_id(each) for each in (1, 2, 3)}
    lowered = update_kraft_version(network, 0)
    assert "Can't downgrade the version of this feature." in lowered.error_message
    gone = network.active.config.node_id
    network.kill(gone)
    network.run_until(lambda: network.active is not None)
    removal = RemoveRaftVoterRequest(cluster_id=None, voter_id=gone, voter_directory_id=directory_id(gone))
    assert ask_leader(network, removal).error_code == 0
    network.restart(gone)
    network.run_until(lambda: voters(network) == [{1, 2, 3} - {gone}] * 4)


def test_kraft_version_stays_while_a_voter_has_not_reported_to_the_leader():
    network = NodeNetwork(release="4.3")
    voters_of_file = {each: controller_endpoint(each) for each in (1, 2, 3)}
    for node_id in (1, 2, 3):
        release = Release.parse("4.0" if node_id == 3 else "4.3")
        level = MetadataVersion.parse("3.9-IV0")
        network.add(node_id, roles={CONTROLLER}, quorum_voters=voters_of_file, level=level, release=release)
        network.start(node_id)
    network.run_until(
        lambda: (
            network.active is not None
            and network.active.config.node_id != 3
            and len(network.active.running.image.cluster.controllers) == 3
        )
    )
    network.run_for(10_000)

    refused = update_kraft_version(network, 1)

    assert refused.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "because not all of the voters support it" in refused.error_message
    assert finalized_kraft_version(network) is None


def update_kraft_version(network: NodeNetwork, level: int, *, is_dry: bool = False):
    kind = UpgradeType.UPGRADE if level else UpgradeType.SAFE_DOWNGRADE
    update = FeatureUpdateKey("kraft.version", level, upgrade_type=kind)
    return ask_leader(network, UpdateFeaturesRequest(30_000, [update], validate_only=is_dry), 1)


def finalized_kraft_version(network: NodeNetwork) -> int | None:
    answer = ask_leader(network, ApiVersionsRequest("tester", "1"), 4)
    levels = {each.name: each.max_version_level for each in answer.finalized_features}
    return levels.get("kraft.version")
