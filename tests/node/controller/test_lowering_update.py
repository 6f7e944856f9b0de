"""A lowering takes many steps of the active controller: others wait, and a lost leadership leaves nothing behind."""

import pytest
from lowered_cluster import a_cluster

from falkirk import slices
from falkirk.metadata.controller.features import lowering_work
from falkirk.metadata.undo.undo_bundle import parse_bundle
from falkirk.node.controller import lowering_update
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.feature_update_tags import decode_details
from falkirk.protocol.messages import CreateTopicsRequest, UpdateFeaturesRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType

TOPICS = 60
LOW = ("metadata.version", 17, UpgradeType.SAFE_DOWNGRADE)
RAISED = ("group.version", 1, UpgradeType.UPGRADE)
UNDO = "/falkirk-undo"


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    for module in (slices, lowering_work, lowering_update):
        monkeypatch.setattr(module, "VISITS_PER_SLICE", 4)


def request(*updates):
    keys = [FeatureUpdateKey(name, level, upgrade_type=type_) for name, level, type_ in updates]
    return UpdateFeaturesRequest(timeout_ms=60_000, feature_updates=keys)


def ask(network, *updates):
    return network.client(network.active.config.node_id).ask(request(*updates), 2)


def levels(network):
    return network.active.running.image.features.levels()


def create_topics(network, prefix, count):
    topics = [CreatableTopic(name=f"{prefix}{index}", num_partitions=1, replication_factor=1) for index in range(count)]
    answer = network.client(network.active.config.node_id).ask(CreateTopicsRequest(topics, 30_000, False), 5)
    assert {topic.error_code for topic in answer.topics} == {0}


def works(network):
    return network.active.running._step.works.names


def undo_files(host):
    (directory,) = [path for path in host.disk._directories if path.endswith(UNDO)] or [None]
    return [] if directory is None else [f"{directory}/{name}" for name in host.disk.list(directory)]


def answer_to(network, client, sent):
    network.run_until(lambda: sent in client.answers)
    return client.answers.pop(sent)


def a_busy_cluster():
    """Return a cluster whose active controller writes the bundle of a lowering, and what its answer will be in."""
    network = a_cluster()
    create_topics(network, "a", TOPICS)
    client = network.client(network.active.config.node_id)
    sent = client.send(request(LOW), 2)
    network.run_until(lambda: undo_files(network.active))
    assert "feature update" in works(network)
    return network, client, sent


def test_other_updates_are_refused_and_other_requests_are_served_meanwhile():
    network, client, sent = a_busy_cluster()
    refused = ask(network, RAISED)
    assert refused.error_code == ErrorCode.FEATURE_UPDATE_FAILED
    assert refused.error_message.endswith("Another update of features is under way. Try it later.")
    assert levels(network)["metadata.version"] > 17

    answer = answer_to(network, client, sent)
    details = decode_details(answer.unknown_tagged_fields)
    assert answer.error_code == ErrorCode.NONE
    assert levels(network)["metadata.version"] == 17
    assert undo_files(network.active) == [details.undo_bundle]
    assert parse_bundle(network.active.disk.read(details.undo_bundle)).level_after == 17
    assert ask(network, RAISED).error_code == ErrorCode.NONE


def test_a_lost_leadership_ends_it_and_nothing_is_left():
    network, client, sent = a_busy_cluster()
    leader = network.active
    assert [path.endswith(".part") for path in undo_files(leader)] == [True]
    leader.running._controllership.resign("a test")

    answer = answer_to(network, client, sent)
    assert answer.error_code == ErrorCode.NOT_CONTROLLER
    assert undo_files(leader) == []
    network.run_until(lambda: network.active is not None)
    assert levels(network)["metadata.version"] > 17


def work_of_update(host):
    (work,) = [work for work in host.running._step.works._under_way if work.name == "feature update"]
    return work


def test_a_cancelled_update_leaves_nothing():
    network, _, _ = a_busy_cluster()
    work_of_update(network.active).cancel()

    assert undo_files(network.active) == []
    assert ask(network, RAISED).error_code == ErrorCode.NONE


def test_an_update_that_is_collected_as_garbage_leaves_the_file_to_the_next_start():
    network, _, _ = a_busy_cluster()
    work_of_update(network.active)._slices.close()

    assert [path.endswith(".part") for path in undo_files(network.active)] == [True]


def test_a_bundle_that_a_crash_left_incomplete_is_removed_at_the_next_start():
    network, _, _ = a_busy_cluster()
    leader = network.active
    network.kill(leader.config.node_id)
    assert [path.endswith(".part") for path in undo_files(leader)] == [True]
    network.start(leader.config.node_id)

    assert undo_files(leader) == []
    network.run_until(lambda: network.active is not None)
    assert len(network.active.running.image.topics.by_name) == TOPICS
