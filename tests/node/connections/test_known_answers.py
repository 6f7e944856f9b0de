"""Requests that are answered unread, because the same bytes were answered before."""

from __future__ import annotations

from node_network import BROKER_LISTENER, CONTROLLER_LISTENER, NodeNetwork, controller_endpoint

from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.node.connections.known_answers import KNOWN_ANSWERS_MAX
from falkirk.protocol.connection import Connection, Role
from falkirk.protocol.messages import ApiVersionsRequest, FeatureLevelRecord
from falkirk.protocol.metadata_record import encode_metadata_record

REQUEST = ApiVersionsRequest("tester", "1.0")
GROUP_VERSION = "group.version"


def a_node(*roles: str) -> NodeNetwork:
    network = NodeNetwork(release="4.3")
    network.add(1, roles={CONTROLLER, *roles}, quorum_voters={1: controller_endpoint(1)})
    network.start(1)
    network.run_until(lambda: network.active is not None)
    return network


def set_level(network: NodeNetwork, level: int) -> int:
    """Change a feature in the log; return the offset of the change."""
    node = network.hosts[1].running
    offset = node.raft.append([encode_metadata_record(FeatureLevelRecord(GROUP_VERSION, level), 0)], network.now_ms)
    network.run_until(lambda: node.image.provenance.end_offset > offset)
    return offset


def told(answer) -> dict[str, int]:
    return {feature.name: feature.max_version_level for feature in answer.finalized_features}


def test_a_controller_tells_the_offset_at_which_features_last_changed_and_no_other():
    network = a_node()
    client = network.client(1)
    before = client.ask(REQUEST, 4)
    network.run_for(5_000)
    assert network.hosts[1].running.image.provenance.end_offset > before.finalized_features_epoch + 5
    assert client.ask(REQUEST, 4) == before

    offset = set_level(network, 1)
    after = client.ask(REQUEST, 4)

    # As in Kafka: the end of all that was published with the change.
    assert before.finalized_features_epoch < offset <= after.finalized_features_epoch
    network.run_for(5_000)
    assert client.ask(REQUEST, 4) == after
    assert told(after) == told(before) | {GROUP_VERSION: 1}


def test_a_broker_tells_the_offset_of_its_metadata():
    network = a_node(BROKER)
    client = network.client(1, BROKER_LISTENER)
    node = network.hosts[1].running
    for _ in range(2):
        network.run_for(2_000)
        assert client.ask(REQUEST, 4).finalized_features_epoch == node.image.provenance.end_offset - 1


def test_a_restarted_controller_tells_the_features_of_its_snapshot_and_log():
    network = a_node()
    offset = set_level(network, 1)
    network.run_for(2_000)
    network.restart(1)
    network.run_until(lambda: network.active is not None)
    answer = network.client(1).ask(REQUEST, 4)
    assert answer.finalized_features_epoch >= offset
    assert told(answer)[GROUP_VERSION] == 1


def test_a_client_is_known_by_what_it_says_it_is_though_others_said_the_same_before():
    network = a_node()
    network.run_for(1_000)
    node = network.hosts[1].running
    requests = node.counters.requests
    first, second = network.client(1), network.client(1)
    assert first.ask(REQUEST, 4) == second.ask(REQUEST, 4)
    second.ask(ApiVersionsRequest("other", "2.0"), 4)
    first.ask(ApiVersionsRequest("other", "2.0"), 4)
    connected = [node._clients._clients[client.connection_id] for client in (first, second)]
    assert [(client.software_name, client.software_version) for client in connected] == [("other", "2.0")] * 2
    assert node.counters.requests == requests + 4


def test_answers_to_requests_of_any_kind_are_kept_up_to_a_limit():
    network = a_node()
    client = network.client(1)
    for index in range(KNOWN_ANSWERS_MAX + 10):
        client.connection = Connection(role=Role.CLIENT, client_id=str(index))
        client.ask(REQUEST, 4)
    client.connection = Connection(role=Role.CLIENT, client_id="x" * 1000)
    client.ask(REQUEST, 4)
    known = network.hosts[1].running._clients._known_answers.of_listener(CONTROLLER_LISTENER)
    assert 10 <= len(known) <= KNOWN_ANSWERS_MAX
    assert max(map(len, known)) < 1000
