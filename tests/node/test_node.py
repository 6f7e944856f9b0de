"""Three controllers in one process, from their formatting to their end."""

from __future__ import annotations

import pytest
from broker_requests import registration_request
from node_network import LOG_DIR, NodeNetwork

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    BrokerHeartbeatRequest,
    CreateTopicsRequest,
    DescribeQuorumRequest,
)
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.describe_quorum_request import PartitionData, TopicData

RELEASES = ("3.7", "3.9", "4.0", "4.3", "4.4")


def a_cluster(release: str = "4.3", count: int = 3, **settings) -> NodeNetwork:
    """Return a cluster with an active controller that all know."""
    network = NodeNetwork(release=release)
    network.add_controllers(count, **settings)
    network.run_until(lambda: network.active is not None)
    network.run_until(lambda: all(host.running.image.features.metadata_version for host in network.running))
    return network


def active_id(network: NodeNetwork) -> int:
    assert network.active is not None
    return network.active.config.node_id


def register_broker(network: NodeNetwork, broker_id: int = 101) -> int:
    """Register a broker and unfence it; return its epoch."""
    client = network.client(active_id(network))
    release = network.release.word
    version = network.release.apis[62].versions.highest
    epoch = client.ask(registration_request(broker_id, release=release), version).broker_epoch
    network.run_for(600)
    heartbeat = BrokerHeartbeatRequest(broker_id, epoch, 1_000_000, want_fence=False)
    answer = client.ask(heartbeat, 1)
    assert (answer.error_code, answer.is_caught_up, answer.is_fenced) == (0, True, False)
    return epoch


def create_topic(network: NodeNetwork, name: str, node_id: int | None = None):
    client = network.client(node_id or active_id(network))
    topic = CreatableTopic(name=name, num_partitions=2, replication_factor=1)
    return client.ask(CreateTopicsRequest([topic], 30_000, validate_only=False), 5).topics[0]


def contents(network: NodeNetwork) -> list[object]:
    return [host.running.image for host in network.running]


@pytest.mark.parametrize("release", RELEASES)
def test_three_formatted_controllers_elect_a_leader_and_begin_at_the_level_they_were_formatted_at(release):
    network = a_cluster(release)

    levels = {host.running.image.features.metadata_version for host in network.running}
    assert levels == {network.release.latest_metadata_version}
    assert sum(host.running.is_active_controller for host in network.running) == 1


@pytest.mark.parametrize("release", RELEASES)
def test_controllers_register_themselves_with_their_features_and_listeners(release):
    network = a_cluster(release)

    network.run_until(lambda: all(len(host.running.image.cluster.controllers) == 3 for host in network.running))

    registration = network.hosts[2].running.image.cluster.controllers[2]
    assert [(point.name, point.host, point.port) for point in registration.end_points] == [
        ("CONTROLLER", "node2", 9093)
    ]
    supported = {feature.name: feature.max_supported_version for feature in registration.features}
    assert supported["metadata.version"] == network.release.latest_metadata_version.level


def test_a_restarted_controller_registers_anew_under_another_incarnation():
    network = a_cluster()
    network.run_until(lambda: all(len(host.running.image.cluster.controllers) == 3 for host in network.running))
    before = network.hosts[1].running.image.cluster.controllers[1].incarnation_id

    network.restart(1)

    def incarnations() -> set[bytes]:
        images = [host.running.image for host in network.running]
        return {image.cluster.controllers[1].incarnation_id for image in images if image.cluster.controllers}

    network.run_until(lambda: network.hosts[1].running.image.cluster.controllers and before not in incarnations())
    assert len(incarnations()) == 1


@pytest.mark.parametrize("release", RELEASES)
def test_a_broker_registers_and_topics_are_created_and_every_controller_knows_them(release):
    network = a_cluster(release)
    register_broker(network)

    created = create_topic(network, "orders")

    assert (created.error_code, created.error_message) == (0, None)
    network.run_until(lambda: all("orders" in host.running.image.topics.by_name for host in network.running))


def test_an_answer_does_not_leave_before_a_majority_has_the_records_on_disk():
    network = a_cluster()
    register_broker(network)
    leader = active_id(network)
    network.isolate(leader)
    client = network.client(leader)

    topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
    sent = client.send(CreateTopicsRequest([topic], 30_000, validate_only=False), 5)
    network.run_for(500)

    assert sent not in client.answers
    network.run_until(lambda: sent in client.answers)
    answer = client.answers[sent].topics[0]
    assert answer.error_code == ErrorCode.NOT_CONTROLLER
    network.heal()
    network.run_until(lambda: network.active is not None and active_id(network) != leader)
    network.run_for(3000)
    assert all("orders" not in host.running.image.topics.by_name for host in network.running)


def test_what_was_answered_survives_the_death_of_the_active_controller():
    network = a_cluster()
    register_broker(network)
    assert create_topic(network, "orders").error_code == 0

    network.kill(active_id(network))
    network.run_until(lambda: network.active is not None)

    assert "orders" in network.active.running.image.topics.by_name
    assert create_topic(network, "orders").error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_cluster_that_lost_all_power_comes_back_with_all_that_was_answered():
    network = a_cluster()
    register_broker(network)
    assert create_topic(network, "orders").error_code == 0
    for node_id in network.hosts:
        network.kill(node_id)

    for node_id in network.hosts:
        network.start(node_id)
    network.run_until(lambda: network.active is not None)

    image = network.active.running.image
    assert "orders" in image.topics.by_name
    assert 101 in image.cluster.brokers
    network.run_until(lambda: all(host.running.image.topics.by_name for host in network.running))


def test_a_single_controller_is_a_quorum_of_its_own():
    network = a_cluster(count=1)
    register_broker(network)

    assert create_topic(network, "orders").error_code == 0


@pytest.mark.parametrize("release", RELEASES)
def test_others_than_the_active_controller_answer_not_controller(release):
    network = a_cluster(release)
    other = next(node_id for node_id in network.hosts if node_id != active_id(network))

    assert create_topic(network, "orders", other).error_code == ErrorCode.NOT_CONTROLLER


def test_the_quorum_describes_itself():
    network = a_cluster()
    request = DescribeQuorumRequest([TopicData("__cluster_metadata", [PartitionData(0)])])

    answer = network.client(active_id(network)).ask(request, 2)

    partition = answer.topics[0].partitions[0]
    assert (partition.error_code, partition.leader_id) == (0, active_id(network))
    assert sorted(voter.replica_id for voter in partition.current_voters) == [1, 2, 3]


def test_an_idle_controller_shows_that_it_lives_by_no_op_records():
    network = a_cluster(metadata_max_idle_interval_ms=500)
    network.run_for(2000)
    before = network.active.running.raft.high_watermark

    network.run_for(5000)

    assert 9 <= network.active.running.raft.high_watermark - before <= 11


def test_no_op_records_are_not_written_where_the_configuration_forbids_them():
    network = a_cluster(metadata_max_idle_interval_ms=0)
    network.run_for(2000)
    before = network.active.running.raft.high_watermark

    network.run_for(5000)

    assert network.active.running.raft.high_watermark == before


def test_all_requests_of_one_step_are_persisted_with_one_sync_of_the_log():
    network = a_cluster(count=1)
    register_broker(network)
    host = network.hosts[1]
    clients = [network.client(1) for _ in range(20)]
    network.settle()
    appended = []
    append = host.disk.append
    host.disk.append = lambda path, data: (appended.append(path), append(path, data))
    topics = [CreatableTopic(name=f"t{index}", num_partitions=1, replication_factor=1) for index in range(20)]

    for client, topic in zip(clients, topics, strict=True):
        client.send(CreateTopicsRequest([topic], 30_000, validate_only=False), 5)
    network.settle()

    assert [answer.topics[0].error_code for client in clients for answer in client.answers.values()] == [0] * 20
    assert len([path for path in appended if path.endswith(".log")]) == 1


def test_an_orderly_shutdown_hands_over_at_once_and_ends_with_success():
    network = a_cluster()
    network.run_for(3000)
    leader = active_id(network)
    before_ms = network.now_ms

    network.shut_down(leader)
    network.run_until(lambda: network.active is not None)

    assert network.hosts[leader].stop.exit_code == 0
    # Without it others would notice only when their fetches fail for two seconds.
    assert network.now_ms - before_ms < 2000


def test_a_snapshot_is_written_after_so_many_bytes_and_a_restart_begins_with_it():
    network = a_cluster(count=1, metadata_log_max_record_bytes_between_snapshots=2000)
    register_broker(network)
    for index in range(20):
        create_topic(network, f"topic-{index}")

    network.run_for(2000)

    written = network.facts("snapshot-written")
    assert written
    before = network.hosts[1].running.image
    network.restart(1)
    started = network.hosts[1].running.image
    assert started.provenance.end_offset == written[-1].fields["end_offset"]
    network.run_until(lambda: network.active is not None)
    assert network.hosts[1].running.image.topics == before.topics


@pytest.mark.slow
def test_a_node_that_was_away_for_long_fetches_a_snapshot():
    network = a_cluster(
        metadata_log_max_record_bytes_between_snapshots=2000,
        metadata_max_retention_bytes=3000,
        metadata_log_segment_bytes=2000,
    )
    register_broker(network)
    away = next(node_id for node_id in network.hosts if node_id != active_id(network))
    network.kill(away)
    for index in range(30):
        create_topic(network, f"topic-{index}")
    network.run_for(120_000)
    assert network.facts("metadata-file-removed")

    network.start(away)
    network.run_until(lambda: len(network.hosts[away].running.image.topics.by_name) == 30)

    assert any(fact.event == "raft-snapshot-installed" for fact in network.hosts[away].facts)
    network.run_for(2000)
    assert network.hosts[away].running.image.topics == network.active.running.image.topics


def test_api_versions_are_told_by_every_controller_without_asking_another():
    network = NodeNetwork()
    network.add_controllers(3)

    answer = network.client(3).ask(ApiVersionsRequest("tester", "1.0"), 4)

    assert answer.error_code == 0
    assert 1 in {api.api_key for api in answer.api_keys}


def test_the_directory_is_as_a_real_node_leaves_it():
    network = a_cluster()

    disk = network.hosts[1].disk
    names = disk.list(f"{LOG_DIR}/__cluster_metadata-0")
    assert {"00000000000000000000.log", "leader-epoch-checkpoint", "partition.metadata", "quorum-state"} <= set(names)
