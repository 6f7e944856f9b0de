"""The indexes of a controller that follows."""

from __future__ import annotations

import pytest
from broker_requests import registration_request
from metadata_images import image_of, orders, partition
from node_network import NodeNetwork

from falkirk import slices
from falkirk.metadata.controller.state.controller_indexes import ControllerIndexes
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.node.controller.standby_indexes import NAME, StandbyIndexes
from falkirk.node.sliced_work import SlicedWorks
from falkirk.protocol.messages import BrokerHeartbeatRequest, CreateTopicsRequest, PartitionChangeRecord
from falkirk.protocol.messages.create_topics_request import CreatableTopic


def published(standby: StandbyIndexes, delta: MetadataDelta):
    image = delta.apply(delta.image.provenance)
    standby.on_metadata(delta, image)
    return image


def test_a_small_delta_is_applied_at_once():
    works = SlicedWorks(lambda: None)
    standby = StandbyIndexes(works)
    image = published(standby, MetadataDelta.between(EMPTY, image_of(orders(), partition(0))))
    assert standby.current == ControllerIndexes.of(image)
    assert not works.is_busy


@pytest.mark.parametrize("arrives_after", range(5))
def test_a_large_one_takes_steps_and_what_arrives_meanwhile_is_applied_behind_it(monkeypatch, arrives_after):
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 4)
    works = SlicedWorks(lambda: None)
    standby = StandbyIndexes(works)
    image = published(
        standby, MetadataDelta.between(EMPTY, image_of(orders(), *(partition(number) for number in range(10))))
    )
    assert standby.current is None
    assert works.names == (NAME,)
    for _ in range(arrives_after):
        works.progress()
        assert standby.current is None
    delta = MetadataDelta(image)
    delta.replay(PartitionChangeRecord(3, orders().topic_id, leader=-1, isr=()))
    image = published(standby, delta)
    taken = arrives_after
    while works.is_busy:
        assert standby.current is None
        works.progress()
        taken += 1
    assert taken == 6
    assert standby.current == ControllerIndexes.of(image)
    # And the next one starts anew.
    image = published(standby, MetadataDelta.between(image, EMPTY))
    while works.is_busy:
        works.progress()
    assert standby.current == ControllerIndexes()


def test_a_leader_finishes_its_indexes_before_it_serves(monkeypatch):
    network = NodeNetwork()
    network.add_controllers(1, metadata_log_max_record_bytes_between_snapshots=2000)
    network.run_until(lambda: network.active is not None)
    client = network.client(1)
    epoch = client.ask(registration_request(101, release="4.3"), 4).broker_epoch
    client.ask(BrokerHeartbeatRequest(101, epoch, 1_000_000, want_fence=False), 1)
    topics = [CreatableTopic(f"topic-{number}", 1, 1) for number in range(100)]
    client.ask(CreateTopicsRequest(topics, 30_000, validate_only=False), 5)
    network.run_until(lambda: network.facts("snapshot-written"))
    monkeypatch.setattr(slices, "VISITS_PER_SLICE", 4)
    network.restart(1)
    seen = set()

    def watch() -> bool:
        node = network.hosts[1].running
        seen.add((node.raft.is_leader, node.standby.current is not None, node.is_active_controller))
        return node.is_active_controller

    network.run_until(watch)
    assert (True, False, False) in seen, "a sole voter does not wait with its election"
    assert (True, False, True) not in seen
    active = network.hosts[1].running
    assert len(active.image.topics.by_name) == 100
    assert active.standby.current == ControllerIndexes.of(active.image)
