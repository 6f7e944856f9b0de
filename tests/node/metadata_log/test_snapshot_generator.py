"""Snapshots of the image: when, over how many steps, with what in them."""

from __future__ import annotations

from broker_requests import registration_request
from node_network import LOG_DIR, NodeNetwork

from falkirk.protocol.messages import BrokerHeartbeatRequest, CreateTopicsRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.metadata_record import decode_metadata_record
from falkirk.storage import snapshot_creation
from falkirk.storage.snapshot_file import read_snapshot


def a_controller(**settings) -> NodeNetwork:
    network = NodeNetwork()
    network.add_controllers(1, **settings)
    network.run_until(lambda: network.active is not None)
    client = network.client(1)
    epoch = client.ask(registration_request(101, release="4.3"), 4).broker_epoch
    network.run_for(600)
    client.ask(BrokerHeartbeatRequest(101, epoch, 1_000_000, want_fence=False), 1)
    return network


def create_topics(network: NodeNetwork, prefix: str, count: int) -> None:
    topics = [CreatableTopic(name=f"{prefix}{index}", num_partitions=1, replication_factor=1) for index in range(count)]
    answer = network.client(1).ask(CreateTopicsRequest(topics, 30_000, validate_only=False), 5)
    assert {topic.error_code for topic in answer.topics} == {0}


def snapshots(network: NodeNetwork) -> list[str]:
    names = network.hosts[1].disk.list(f"{LOG_DIR}/__cluster_metadata-0")
    return [name for name in names if name.endswith(".checkpoint")]


def test_a_snapshot_is_written_after_so_much_time():
    network = a_controller(metadata_log_max_snapshot_interval_ms=60_000)
    network.run_for(50_000)
    assert snapshots(network) == []

    network.run_for(15_000)

    assert len(snapshots(network)) == 1
    assert network.facts("snapshot-begins")[0].fields["reason"] == "we have waited at least 1 minute(s)"


def test_a_large_image_is_written_over_several_steps_and_requests_are_answered_in_between(monkeypatch):
    monkeypatch.setattr(snapshot_creation, "VALUES_PER_STEP", 10)
    network = a_controller(metadata_log_max_record_bytes_between_snapshots=20_000)
    create_topics(network, "a", 200)
    network.run_until(lambda: network.facts("snapshot-begins"))
    begun_at = network.active.running.image.provenance.end_offset

    works = network.active.running._step.works
    assert works.names == ("snapshot",)
    create_topics(network, "b", 1)
    assert network.facts("snapshot-written") == []
    network.run_until(lambda: network.facts("snapshot-written"))
    assert works.names == ()

    (name,) = snapshots(network)
    assert name.startswith(f"{network.facts('snapshot-written')[0].fields['end_offset']:020d}")
    assert network.facts("snapshot-written")[0].fields["end_offset"] <= begun_at
    data = network.hosts[1].disk.read(f"{LOG_DIR}/__cluster_metadata-0/{name}")
    records = [
        decode_metadata_record(value)[0]
        for batch in read_snapshot(data, file=name).data_batches
        for value in batch.values()
    ]
    topics = [record.name for record in records if type(record).__name__ == "TopicRecord"]
    # It is the image as it was when the snapshot was begun.
    assert sorted(topics) == sorted(f"a{index}" for index in range(200))


def test_a_restart_behind_a_snapshot_gives_the_same_image():
    network = a_controller(metadata_log_max_record_bytes_between_snapshots=2000)
    create_topics(network, "a", 30)
    network.run_for(2000)
    before = network.hosts[1].running.image
    assert network.facts("snapshot-written")

    network.restart(1)
    network.run_until(lambda: network.active is not None)

    after = network.hosts[1].running.image
    assert after.topics == before.topics
    assert after.features == before.features
    assert after.cluster.brokers == before.cluster.brokers


def partial_files(network: NodeNetwork) -> list[str]:
    names = network.hosts[1].disk.list(f"{LOG_DIR}/__cluster_metadata-0")
    return [name for name in names if name.endswith(".part")]


def test_a_large_image_is_written_in_pieces_and_what_was_written_at_a_crash_is_removed(monkeypatch):
    # So few that the snapshot is still being written when the topics are there.
    monkeypatch.setattr(snapshot_creation, "VALUES_PER_STEP", 10)
    network = a_controller(metadata_log_max_record_bytes_between_snapshots=20_000, snapshot_piece_bytes=1000)
    create_topics(network, "a", 200)

    network.run_until(lambda: partial_files(network))
    create_topics(network, "b", 1)
    assert partial_files(network)
    assert snapshots(network) == []

    network.restart(1)
    assert partial_files(network) == []
    network.run_until(lambda: network.facts("snapshot-written"))

    assert partial_files(network) == []
    assert len(snapshots(network)) == 1
    before = network.active.running.image.topics
    network.restart(1)
    network.run_until(lambda: network.active is not None)
    assert network.active.running.image.topics == before


def test_a_snapshot_in_the_making_is_given_up_for_a_fetched_one():
    network = a_controller(metadata_log_max_record_bytes_between_snapshots=2000, snapshot_piece_bytes=10)
    create_topics(network, "a", 20)
    network.run_until(lambda: partial_files(network))

    network.hosts[1].running._snapshots.reset()

    assert partial_files(network) == []
    network.run_for(1000)
    assert snapshots(network) == []
