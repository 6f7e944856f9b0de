"""A controller that is in the quorum of a cluster for a lift only: it leads, lowers the level, and leaves no trace."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lowered_cluster import append_lowering
from node_network import LOG_DIR, NodeNetwork, controller_endpoint, directory_id

from falkirk.metadata.records.record_reader import read_record
from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.feature_update_tags import encode_consents
from falkirk.protocol.messages import (
    AddRaftVoterRequest,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveRaftVoterRequest,
    UpdateFeaturesRequest,
)
from falkirk.protocol.messages.add_raft_voter_request import Listener
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.storage.snapshot_file import read_snapshot
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

HIGH, LOW = MetadataVersion.parse("4.2-IV1"), MetadataVersion.parse("4.1-IV1")
SAFE_DOWNGRADE = 2


def a_lifted_cluster() -> NodeNetwork:
    """Return voter 1, as real Kafka for the leader, broker 101, and node 9, which is there for a lift.

    All bootstrap servers but those of node 9 are at an address where nobody listens, as when its voter has left.
    """
    network = NodeNetwork(release="4.3")
    kafka = {"level": HIGH, "downgrade_enable": False}
    nobody = (controller_endpoint(8),)
    network.add(1, roles={CONTROLLER}, quorum_bootstrap_servers=nobody, dynamic_voters=(1,), **kafka)
    servers = (controller_endpoint(1),)
    network.add(101, roles={BROKER}, quorum_bootstrap_servers=servers, **kafka)
    network.add(9, roles={CONTROLLER}, quorum_bootstrap_servers=servers, level=HIGH, is_lift=True)
    for node_id in (1, 101, 9):
        network.start(node_id)
    network.run_until(lambda: network.hosts[101].running.broker.state is BrokerState.RUNNING)
    network.run_until(lambda: network.hosts[9].running.image.cluster.controllers)
    return network


def take_over(network: NodeNetwork) -> None:
    """Make node 9 the only voter."""
    listener = Listener("CONTROLLER", *controller_endpoint(9))
    add = AddRaftVoterRequest(
        cluster_id=None, timeout_ms=30_000, voter_id=9, voter_directory_id=directory_id(9), listeners=[listener]
    )
    assert network.client(1).ask(add, 0).error_code == 0
    assert network.active.config.node_id == 1, "it stays leader"
    remove = RemoveRaftVoterRequest(cluster_id=None, voter_id=1, voter_directory_id=directory_id(1))
    assert network.client(1).ask(remove, 0).error_code == 0
    network.run_until(lambda: network.active is not None and network.active.config.node_id == 9)


def test_a_former_voter_learns_of_the_leader_that_is_at_no_bootstrap_address():
    network = a_lifted_cluster()
    take_over(network)
    network.restart(1)
    network.run_until(lambda: network.hosts[1].running.raft.leader.leader_id == 9)
    network.run_until(lambda: network.hosts[101].running.raft.leader.leader_id == 9)


def test_a_lift_leaves_no_registration_and_no_features_of_ours():
    network = a_lifted_cluster()
    take_over(network)
    answer = lower(network)
    assert (answer.error_code, answer.error_message) == (0, None)
    for node_id in (9, 1, 101):
        host = network.hosts[node_id]
        network.run_until(lambda host=host: host.running.image.features.metadata_version == LOW)
        network.run_until(lambda host=host: not host.running.log.lowerings)
        registered = registrations(network, node_id)
        assert {record.controller_id for record in registered if isinstance(record, RegisterControllerRecord)} == {1}
        names = {feature.name for record in registered for feature in record.features}
        assert METADATA_VERSION in names
        assert not [name for name in names if name.startswith("falkirk.")]
    snapshots = [fact for fact in network.hosts[1].facts if fact.event == "raft-snapshot-installed"]
    assert snapshots, "it did not get the record"


def run_in_place(network: NodeNetwork, node_id: int) -> None:
    """Run a node of a lift on the configuration and the directory of a real one, under whose id that is registered."""
    network.kill(node_id)
    host = network.hosts[node_id]
    host.config = replace(host.config, downgrade_enable=True, is_lift=True)
    network.start(node_id)
    network.run_until(lambda: network.active is not None)
    network.run_for(3_000)


def lower(network: NodeNetwork):
    """Ask the active controller to lower the level; real nodes may take a snapshot."""
    update = UpdateFeaturesRequest(
        timeout_ms=30_000,
        feature_updates=[FeatureUpdateKey(METADATA_VERSION, LOW.level, upgrade_type=SAFE_DOWNGRADE)],
        unknown_tagged_fields=encode_consents(forced_snapshot=True),
    )
    return network.client(network.active.config.node_id).ask(update, 2)


def registrations(network: NodeNetwork, node_id: int) -> list[RegisterControllerRecord | RegisterBrokerRecord]:
    """Return the registrations in the newest snapshot of a node."""
    disk, partition = network.hosts[node_id].disk, f"{LOG_DIR}/__cluster_metadata-0"
    newest = max(name for name in disk.list(partition) if name.endswith(".checkpoint"))
    snapshot = read_snapshot(disk.read(f"{partition}/{newest}"), file=newest)
    records = [read_record(value) for batch in snapshot.data_batches for value in batch.values()]
    return [record for record in records if isinstance(record, RegisterControllerRecord | RegisterBrokerRecord)]


def a_static_cluster(controllers: int) -> NodeNetwork:
    """Return static voters and broker 101, all as real Kafka for a leader of ours."""
    network = NodeNetwork(release="4.3")
    voters = {node_id: controller_endpoint(node_id) for node_id in range(1, controllers + 1)}
    roles = {**dict.fromkeys(voters, CONTROLLER), 101: BROKER}
    for node_id, role in roles.items():
        network.add(node_id, roles={role}, quorum_voters=voters, level=HIGH, downgrade_enable=False)
        network.start(node_id)
    network.run_until(lambda: network.hosts[101].running.broker.state is BrokerState.RUNNING)
    network.run_until(lambda: len(network.hosts[101].running.image.cluster.controllers) == controllers)
    return network


def let_lead(network: NodeNetwork, *wanted: int) -> None:
    """Restart the others that lead until one of these does, and all follow it."""
    for _ in range(20):
        leader = network.active.config.node_id
        if leader in wanted:
            break
        network.restart(leader)
        network.run_until(lambda: network.active is not None)
    assert network.active.config.node_id in wanted
    leader = network.active.config.node_id
    network.run_until(lambda: all(host.running.raft.leader.leader_id == leader for host in network.hosts.values()))
    network.run_for(1_000)


def assert_lowered(network: NodeNetwork) -> None:
    for host in network.hosts.values():
        network.run_until(lambda host=host: host.running.image.features.metadata_version == LOW)
        network.run_until(lambda host=host: not host.running.log.lowerings)


@pytest.mark.parametrize("controllers", [2, 3, 4])
def test_one_in_the_place_of_a_real_controller_lowers_by_a_snapshot(controllers):
    network = a_static_cluster(controllers)
    run_in_place(network, 1)
    let_lead(network, 1)
    answer = lower(network)
    assert (answer.error_code, answer.error_message) == (0, None)
    assert_lowered(network)
    assert [fact.event for fact in network.hosts[1].facts if fact.event.startswith("provisional")] == [
        "provisional-snapshot-begins",
        "provisional-snapshot-offered",
        "provisional-snapshot-kept",
    ]
    assert not parts(network, 1)
    installed = [
        node_id
        for node_id, host in network.hosts.items()
        if any(fact.event == "raft-snapshot-installed" for fact in host.facts)
    ]
    assert installed == [*range(2, controllers + 1), 101]
    # All go on, whoever leads.
    network.kill(1)
    network.hosts[1].config = replace(network.hosts[1].config, downgrade_enable=False, is_lift=False)
    network.start(1)
    network.run_until(lambda: network.active is not None and network.active.config.node_id != 1)
    end = network.active.running.log.end_offset
    network.run_until(lambda: all(host.running.image.provenance.end_offset > end for host in network.hosts.values()))


def test_one_of_five_controllers_is_too_few():
    network = a_static_cluster(5)
    run_in_place(network, 1)
    let_lead(network, 1)
    assert lower(network).error_code == ErrorCode.INVALID_UPDATE_VERSION


def parts(network: NodeNetwork, node_id: int) -> list[str]:
    """Return the partial snapshots of a node."""
    names = network.hosts[node_id].disk.list(f"{LOG_DIR}/__cluster_metadata-0")
    return [name for name in names if name.endswith(".part")]


def offered(network: NodeNetwork) -> None:
    """Let node 1 append a lowering and offer its snapshot, which reaches nobody."""
    append_lowering(network)
    network.isolate(1)
    network.run_until(lambda: network.hosts[1].running.log.provisional_snapshot is not None)
    assert len(parts(network, 1)) == 1


def test_a_provisional_snapshot_goes_with_the_leadership_and_the_lowering_is_cut_off():
    network = a_static_cluster(3)
    run_in_place(network, 1)
    let_lead(network, 1)
    offered(network)
    network.run_until(lambda: not parts(network, 1))
    network.run_until(lambda: network.active is not None and network.active.config.node_id != 1)
    network.heal()
    network.run_until(lambda: not network.hosts[1].running.log.lowerings)
    assert {host.running.image.features.metadata_version for host in network.hosts.values()} == {HIGH}


def test_a_provisional_snapshot_goes_with_the_process_and_the_next_leadership_offers_another():
    network = a_static_cluster(3)
    run_in_place(network, 1)
    let_lead(network, 1)
    offered(network)
    network.kill(1)
    network.heal()
    network.kill(2)
    network.start(1)
    assert not parts(network, 1)
    assert network.hosts[1].running.log.lowerings
    # Only node 1 can be elected: the other lacks the end of its log.
    network.run_until(lambda: network.active is not None)
    network.start(2)
    assert_lowered(network)


def test_a_majority_in_the_places_of_real_controllers_lowers_under_their_registrations():
    network = a_static_cluster(3)
    before = network.hosts[101].running.image.cluster.controllers
    run_in_place(network, 1)
    run_in_place(network, 2)
    let_lead(network, 1, 2)
    answer = lower(network)
    assert (answer.error_code, answer.error_message) == (0, None)
    assert_lowered(network)
    assert not network.facts("provisional-snapshot-begins")
    after = network.hosts[101].running.image.cluster.controllers
    assert {node_id: after[node_id] for node_id in (1, 2)} == {node_id: before[node_id] for node_id in (1, 2)}
