"""What every node does when metadata.version was lowered: a snapshot at once, and nothing from before on its disk."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest
from lowered_cluster import HIGH, LOW, a_cluster, append_lowering, is_clean
from node_network import LOG_DIR, NodeNetwork

from falkirk.metadata.records.record_reader import read_record
from falkirk.node.metadata_log import snapshot_generator
from falkirk.node.startup.open_node import metadata_batches
from falkirk.protocol.messages import CreateTopicsRequest, FeatureLevelRecord
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.storage import snapshot_creation
from falkirk.storage.metadata_log import MetadataLog
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

PARTITION = f"{LOG_DIR}/__cluster_metadata-0"


def level_of(network: NodeNetwork, node_id: int) -> MetadataVersion:
    return network.hosts[node_id].running.image.features.metadata_version


def snapshots(network: NodeNetwork, node_id: int) -> list[str]:
    return [name for name in network.hosts[node_id].disk.list(PARTITION) if name.endswith(".checkpoint")]


def levels_on_disk(network: NodeNetwork, node_id: int) -> set[int]:
    """Return all levels that stand in the newest snapshot and in the log, the log before the snapshot included."""
    disk = network.hosts[node_id].disk
    values = [value for batch in metadata_batches(disk, PARTITION) for value in batch.values]
    log = MetadataLog(deepcopy(disk), LOG_DIR)
    values += [
        value
        for batch in log.batches(log.start_offset, log.end_offset)
        if not batch.is_control
        for value in batch.values()
    ]
    records = [read_record(value) for value in values]
    return {
        record.feature_level
        for record in records
        if isinstance(record, FeatureLevelRecord) and record.name == METADATA_VERSION
    }


def create_topics(network: NodeNetwork, prefix: str, count: int) -> None:
    topics = [CreatableTopic(name=f"{prefix}{index}", num_partitions=1, replication_factor=1) for index in range(count)]
    client = network.client(network.active.config.node_id)
    answer = client.ask(CreateTopicsRequest(topics, 30_000, validate_only=False), 5)
    assert {topic.error_code for topic in answer.topics} == {0}


def test_every_node_writes_a_snapshot_at_once_and_has_nothing_from_before_on_its_disk():
    network = a_cluster()
    create_topics(network, "a", 3)
    before = network.now_ms
    lowered_at = append_lowering(network)
    network.run_until(lambda: all(is_clean(network, node_id, lowered_at) for node_id in network.hosts))

    assert network.now_ms - before < 1000
    for node_id, host in network.hosts.items():
        assert level_of(network, node_id) == LOW
        assert len(snapshots(network, node_id)) == 1
        assert levels_on_disk(network, node_id) == {LOW.level}
        begun = [fact for fact in host.facts if fact.event == "snapshot-begins"]
        assert [fact.fields["reason"] for fact in begun] == [snapshot_generator.LOWERED]
    # What comes later is an ordinary log again.
    create_topics(network, "b", 3)
    network.run_for(3000)
    for node_id in network.hosts:
        assert len(network.hosts[node_id].running.image.topics.by_name) == 6
        assert len(snapshots(network, node_id)) == 1


def test_raising_the_level_again_and_lowering_it_again_are_each_what_they_are():
    network = a_cluster()
    append_lowering(network)
    network.run_for(1000)
    append_lowering(network, HIGH)
    network.run_for(1000)
    assert len(network.facts("snapshot-begins")) == len(network.hosts)
    lowered_at = append_lowering(network)
    network.run_until(lambda: all(is_clean(network, node_id, lowered_at) for node_id in network.hosts))
    assert {level for node_id in network.hosts for level in levels_on_disk(network, node_id)} == {LOW.level}


def test_controllers_that_were_all_killed_between_change_and_snapshot_go_on_though_none_has_an_image(monkeypatch):
    """Who may see a lowering stands in the log alone then, and that is not committed before others have seen it."""
    monkeypatch.setattr(snapshot_creation, "VALUES_PER_STEP", 2)
    network = a_cluster()
    create_topics(network, "a", 20)
    controllers = [node_id for node_id, host in network.hosts.items() if host.config.is_controller]
    lowered_at = append_lowering(network)
    network.run_until(lambda: all(network.hosts[node_id].running.log.lowerings for node_id in controllers))
    for node_id in controllers:
        network.kill(node_id)
    for node_id in controllers:
        network.start(node_id)
        assert network.hosts[node_id].running.log.lowerings
        assert not network.hosts[node_id].running.image.cluster.controllers

    network.run_until(lambda: all(is_clean(network, node_id, lowered_at) for node_id in network.hosts))
    assert {level_of(network, node_id) for node_id in network.hosts} == {LOW}


@pytest.mark.parametrize("node_id", [1, 3, 101])
def test_a_node_that_was_killed_between_change_and_snapshot_goes_on_where_it_was(monkeypatch, node_id):
    monkeypatch.setattr(snapshot_creation, "VALUES_PER_STEP", 2)
    network = a_cluster()
    create_topics(network, "a", 20)
    lowered_at = append_lowering(network)
    host = network.hosts[node_id]
    network.run_until(lambda: any(fact.event == "snapshot-begins" for fact in host.facts))
    assert not any(fact.event == "snapshot-written" for fact in host.facts)
    network.restart(node_id)
    assert host.running.log.lowerings

    network.run_until(lambda: is_clean(network, node_id, lowered_at))
    assert level_of(network, node_id) == LOW
    assert len(snapshots(network, node_id)) == 1
    assert levels_on_disk(network, node_id) == {LOW.level}


def test_a_node_that_was_killed_between_snapshot_and_cleaning_cleans_when_it_starts(monkeypatch):
    network = a_cluster()
    host = network.hosts[2]
    delete_before, log = MetadataLog.delete_before, host.running.log

    def fail(cleaned, snapshot):
        if cleaned is log:
            raise OSError("the power is gone")
        return delete_before(cleaned, snapshot)

    monkeypatch.setattr(MetadataLog, "delete_before", fail)
    lowered_at = append_lowering(network)
    network.run_until(lambda: host.stop is not None)
    assert len(snapshots(network, 2)) == 1
    monkeypatch.setattr(MetadataLog, "delete_before", delete_before)
    assert HIGH.level in levels_on_disk(network, 2)
    host.facts.clear()
    network.start(2)
    network.run_until(lambda: is_clean(network, 2, lowered_at), within_ms=10)

    assert level_of(network, 2) == LOW
    assert levels_on_disk(network, 2) == {LOW.level}
    assert [fact for fact in host.facts if fact.event == "snapshot-begins"] == []


def test_a_snapshot_in_the_making_is_given_up_for_the_one_behind_the_change(monkeypatch):
    monkeypatch.setattr(snapshot_creation, "VALUES_PER_STEP", 2)
    network = a_cluster(metadata_log_max_record_bytes_between_snapshots=3000)
    create_topics(network, "a", 30)
    leader = network.active
    network.run_until(lambda: any(fact.event == "snapshot-begins" for fact in leader.facts))
    assert not any(fact.event == "snapshot-written" for fact in leader.facts)
    lowered_at = append_lowering(network)
    network.run_until(lambda: is_clean(network, leader.config.node_id, lowered_at))

    (written,) = [fact for fact in leader.facts if fact.event == "snapshot-written"]
    assert written.fields["end_offset"] > lowered_at
    assert len(snapshots(network, leader.config.node_id)) == 1


def test_a_node_without_the_marker_is_led_past_the_change_by_a_snapshot():
    network = a_cluster(unmarked=(102,))
    create_topics(network, "a", 3)
    lowered_at = append_lowering(network)
    create_topics(network, "b", 3)
    host = network.hosts[102]
    network.run_until(lambda: host.running.image.provenance.end_offset > lowered_at)

    installed = [fact for fact in host.facts if fact.event == "raft-snapshot-installed"]
    assert len(installed) == 1
    assert [fact for fact in host.facts if fact.event == "snapshot-begins"] == []
    assert host.running.log.start_offset > lowered_at
    network.run_until(lambda: len(host.running.image.topics.by_name) == 6)
    assert level_of(network, 102) == LOW
    assert all(
        not any(fact.event == "raft-snapshot-installed" for fact in network.hosts[node_id].facts)
        for node_id in (1, 2, 3, 101)
    )


def test_the_next_leader_leads_it_past_when_the_first_died_before_its_snapshot(monkeypatch):
    monkeypatch.setattr(snapshot_creation, "VALUES_PER_STEP", 1)
    network = a_cluster(unmarked=(102,))
    create_topics(network, "a", 20)
    leader = network.active
    lowered_at = append_lowering(network)
    network.run_until(lambda: any(fact.event == "snapshot-begins" for fact in leader.facts))
    network.kill(leader.config.node_id)
    network.run_until(lambda: network.active is not None)
    host = network.hosts[102]
    network.run_until(lambda: host.running.image.provenance.end_offset > lowered_at)

    assert host.running.log.start_offset > lowered_at
    assert len([fact for fact in host.facts if fact.event == "raft-snapshot-installed"]) == 1
    assert level_of(network, 102) == LOW


def no_snapshots(monkeypatch):
    """Let nobody make a snapshot; what it gives lets all but node 102."""
    tick = snapshot_generator.SnapshotGenerator.tick

    def tick_of_others(generator):
        if generator._step.config.node_id != 102:
            tick(generator)

    def let_others():
        monkeypatch.setattr(snapshot_generator.SnapshotGenerator, "tick", tick_of_others)

    monkeypatch.setattr(snapshot_generator.SnapshotGenerator, "tick", lambda _: None)
    return let_others


def test_who_has_the_change_and_should_not_is_led_past_it_behind_a_no_op(monkeypatch):
    # Nothing is appended by itself: the leader must lengthen the log.
    network = a_cluster(metadata_max_idle_interval_ms=0)
    let_others_make_snapshots = no_snapshots(monkeypatch)
    lowered_at = append_lowering(network)
    host, leader = network.hosts[102], network.active.running
    network.run_until(lambda: host.running.image.provenance.end_offset > lowered_at)
    # From now on it is another process, which cannot lower.
    context = host.running.raft._context
    context.config = replace(context.config, follows_lowerings=False)
    network.run_until(lambda: leader.raft.held_back_end is not None)
    assert leader.raft.held_back_end == host.running.log.end_offset == leader.raft.end_offset

    let_others_make_snapshots()
    network.run_until(lambda: host.running.log.start_offset > lowered_at)

    assert len([fact for fact in host.facts if fact.event == "raft-snapshot-installed"]) == 1
    assert level_of(network, 102) == LOW
    assert leader.raft.end_offset == lowered_at + 2


@pytest.mark.slow
def test_who_comes_back_without_the_marker_is_led_past_what_it_got_before(monkeypatch):
    network = a_cluster()
    let_others_make_snapshots = no_snapshots(monkeypatch)
    lowered_at = append_lowering(network)
    host = network.hosts[102]
    network.run_until(lambda: host.running.image.provenance.end_offset > lowered_at)
    network.kill(102)
    host.config = replace(host.config, downgrade_enable=False)
    network.start(102)
    # It is known again, and gets no further.
    network.run_until(lambda: network.active.running.raft.held_back_end is not None)
    network.run_for(3000)
    assert (
        host.running.log.end_offset
        == network.active.running.raft.held_back_end
        < network.active.running.raft.end_offset
    )

    let_others_make_snapshots()
    network.run_until(lambda: host.running.log.start_offset > lowered_at)
    assert len([fact for fact in host.facts if fact.event == "raft-snapshot-installed"]) == 1
    network.run_until(lambda: host.times_started == 1)


def test_who_takes_the_place_of_a_node_that_follows_gets_no_lowering_though_it_has_not_registered(monkeypatch):
    network = a_cluster()
    replaced = next(node_id for node_id in (1, 2) if node_id != network.active.running.node_id)
    host = network.hosts[replaced]
    network.kill(replaced)
    host.config = replace(host.config, downgrade_enable=False)
    network.start(replaced)
    monkeypatch.setattr(host.running._registration, "_retry_at_ms", 1 << 60)
    network.run_for(2000)
    lowered_at = append_lowering(network)
    network.run_until(lambda: host.running.log.start_offset > lowered_at)
    assert [fact.event for fact in host.facts].count("raft-snapshot-installed") == 1
