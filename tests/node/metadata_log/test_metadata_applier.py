"""What is large is applied over many steps; what is committed meanwhile waits, in order."""

from __future__ import annotations

import pytest
from lowered_cluster import HIGH, LOW, a_cluster, append_lowering, is_clean

from falkirk import slices
from falkirk.protocol.messages import CreateTopicsRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic

TOPICS = 40


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 2)


def create_topics(network, prefix, count):
    topics = [CreatableTopic(name=f"{prefix}{index}", num_partitions=1, replication_factor=1) for index in range(count)]
    answer = network.client(network.active.config.node_id).ask(CreateTopicsRequest(topics, 30_000, False), 5)
    assert {topic.error_code for topic in answer.topics} == {0}


def appliers(network):
    return {node_id: host.running._applier for node_id, host in network.hosts.items()}


def level_of(applier):
    return applier.image.features.metadata_version


def test_every_node_lowers_its_image_over_many_steps_and_stays_where_it_was_meanwhile():
    network = a_cluster()
    create_topics(network, "a", TOPICS)
    network.run_for(1000)
    busy_steps = dict.fromkeys(network.hosts, 0)
    lowered_at = append_lowering(network)

    def all_are_low():
        for node_id, applier in appliers(network).items():
            if applier.is_busy:
                busy_steps[node_id] += 1
                assert (applier.applied_offset <= lowered_at) == (level_of(applier) == HIGH)
        return all(level_of(applier) == LOW for applier in appliers(network).values())

    network.run_until(all_are_low)
    assert all(count > TOPICS // 2 for count in busy_steps.values())
    create_topics(network, "b", 3)
    network.run_until(lambda: all(is_clean(network, node_id, lowered_at) for node_id in network.hosts))
    network.run_for(1000)
    images = [applier.image for applier in appliers(network).values()]
    assert len(images[0].topics.by_name) == TOPICS + 3
    assert all(image.topics == images[0].topics for image in images)


def test_records_that_are_committed_meanwhile_are_applied_behind_it():
    network = a_cluster()
    create_topics(network, "a", TOPICS)
    lowered_at = append_lowering(network)
    applier = appliers(network)[101]
    network.run_until(lambda: applier.is_busy)
    for _ in range(3):
        network.active.running._controllership.lengthen_log(network.now_ms)
    end_offset = network.active.running.raft.end_offset
    network.run_until(lambda: applier.applied_offset >= end_offset)

    assert end_offset > lowered_at + 3
    assert level_of(applier) == LOW


def test_a_node_that_ends_halfway_applies_the_record_when_it_starts_again():
    network = a_cluster()
    create_topics(network, "a", TOPICS)
    lowered_at = append_lowering(network)
    network.run_until(lambda: appliers(network)[101].is_busy)
    network.restart(101)
    assert level_of(appliers(network)[101]) != LOW

    network.run_until(lambda: is_clean(network, 101, lowered_at))
    assert level_of(appliers(network)[101]) == LOW


def test_the_old_image_stays_published_while_a_fetched_snapshot_is_loaded():
    network = a_cluster(unmarked=(102,))
    create_topics(network, "a", TOPICS)
    network.run_for(1000)
    lowered_at = append_lowering(network)
    host = network.hosts[102]
    network.run_until(lambda: any(fact.event == "raft-snapshot-installed" for fact in host.facts))
    applier = appliers(network)[102]
    network.run_until(lambda: applier.is_busy)

    assert level_of(applier) == HIGH
    assert len(applier.image.topics.by_name) == TOPICS
    assert applier.applied_offset <= lowered_at
    network.run_until(lambda: level_of(applier) == LOW)
    assert applier.applied_offset > lowered_at
