"""A controller that is in the quorum of a cluster for a lift only: it leads, lowers the level, and leaves no trace."""

from __future__ import annotations

from node_network import LOG_DIR, NodeNetwork, controller_endpoint, directory_id

from falkirk.metadata.records.record_reader import read_record
from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.protocol.feature_update_tags import forced_snapshot_consent
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
    update = UpdateFeaturesRequest(
        timeout_ms=30_000,
        feature_updates=[FeatureUpdateKey(METADATA_VERSION, LOW.level, upgrade_type=SAFE_DOWNGRADE)],
        unknown_tagged_fields=forced_snapshot_consent(),
    )
    answer = network.client(9).ask(update, 2)
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


def registrations(network: NodeNetwork, node_id: int) -> list[RegisterControllerRecord | RegisterBrokerRecord]:
    """Return the registrations in the newest snapshot of a node."""
    disk, partition = network.hosts[node_id].disk, f"{LOG_DIR}/__cluster_metadata-0"
    newest = max(name for name in disk.list(partition) if name.endswith(".checkpoint"))
    snapshot = read_snapshot(disk.read(f"{partition}/{newest}"), file=newest)
    records = [read_record(value) for batch in snapshot.data_batches for value in batch.values()]
    return [record for record in records if isinstance(record, RegisterControllerRecord | RegisterBrokerRecord)]
