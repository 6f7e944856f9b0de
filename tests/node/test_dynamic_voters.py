"""Quorums whose voters stand in the log (kraft.version 1, KIP-853): joining, leaving, snapshots with voters."""

from __future__ import annotations

import pytest
from node_network import LOG_DIR, NodeNetwork, controller_endpoint, directory_id

from falkirk.node.config.node_config import CONTROLLER
from falkirk.protocol.messages import AddRaftVoterRequest, RemoveRaftVoterRequest
from falkirk.protocol.messages.add_raft_voter_request import Listener
from falkirk.storage.snapshot_file import read_snapshot

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
