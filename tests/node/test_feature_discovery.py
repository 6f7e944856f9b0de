"""What clients learn of features and versions (KIP-35, KIP-584), and who must learn anew."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from node_network import BROKER_LISTENER, CONTROLLER_LISTENER, Client, NodeNetwork, controller_endpoint

from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.node.connections.client_connections import HELD_BYTES_MAX
from falkirk.protocol.messages import ApiVersionsRequest, ApiVersionsResponse, FeatureLevelRecord, MetadataRequest
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.versions.release import Release

REQUEST = ApiVersionsRequest("tester", "1.0")
GROUP_VERSION = "group.version"
ADD_RAFT_VOTER = 80


def a_cluster(*brokers: int, controllers: int = 3, **settings: object) -> NodeNetwork:
    network = NodeNetwork(release="4.3")
    network.add_controllers(controllers, **settings)
    voters = {node_id: controller_endpoint(node_id) for node_id in range(1, controllers + 1)}
    for broker in brokers:
        network.add(broker, roles={BROKER}, quorum_voters=voters, **settings)
        network.start(broker)
    network.run_until(lambda: network.active is not None and all(is_running(network, broker) for broker in brokers))
    return network


def is_running(network: NodeNetwork, broker: int) -> bool:
    node = network.hosts[broker].node
    return node is not None and node.broker.state is BrokerState.RUNNING


def set_level(network: NodeNetwork, level: int) -> int:
    """Change a feature in the log, committed or not; return the offset of the change."""
    record = encode_metadata_record(FeatureLevelRecord(GROUP_VERSION, level), 0)
    return network.active.running.raft.append([record], network.now_ms)


def ask(network: NodeNetwork, node_id: int) -> ApiVersionsResponse:
    listener = BROKER_LISTENER if network.hosts[node_id].config.is_broker else CONTROLLER_LISTENER
    return network.client(node_id, listener).ask(REQUEST, 4)


def levels(answer: ApiVersionsResponse) -> dict[str, int]:
    return {feature.name: feature.max_version_level for feature in answer.finalized_features}


@pytest.mark.slow
def test_every_node_tells_a_finalized_level_and_its_epoch_soon_after_the_change():
    network = a_cluster(101, 102)
    clients = {101: network.client(101, BROKER_LISTENER), 102: network.client(102, BROKER_LISTENER)}
    clients |= {node_id: network.client(node_id) for node_id in (1, 2, 3)}
    before = {node_id: client.ask(REQUEST, 4) for node_id, client in clients.items()}

    offset = set_level(network, 1)
    network.run_for(1_000)

    after = {node_id: client.ask(REQUEST, 4) for node_id, client in clients.items()}
    for node_id, answer in after.items():
        assert levels(answer) == levels(before[node_id]) | {GROUP_VERSION: 1}
        assert before[node_id].finalized_features_epoch < offset <= answer.finalized_features_epoch
        # Levels are no ranges: nobody loses a connection for them.
        assert answer.api_keys == before[node_id].api_keys
    assert not any(client.is_closed for client in clients.values())


@pytest.mark.slow
def test_a_broker_that_is_cut_off_tells_the_old_levels_with_the_old_epoch():
    network = a_cluster(101, 102)
    network.isolate(102)
    set_level(network, 1)
    network.run_for(1_000)

    new, old = ask(network, 101), ask(network, 102)

    assert levels(new) == levels(old) | {GROUP_VERSION: 1}
    # So a client that goes by the epoch is not misled by it.
    assert old.finalized_features_epoch < new.finalized_features_epoch


@pytest.mark.slow
def test_a_broker_answers_nobody_before_it_knows_the_metadata_and_then_whoever_has_asked():
    network = a_cluster(101)
    set_level(network, 1)
    network.run_for(1_000)
    told = ask(network, 101)
    controllers = [node_id for node_id in network.hosts if node_id != 101]
    for node_id in controllers:
        network.kill(node_id)

    network.restart(101)
    client = network.client(101, BROKER_LISTENER)
    correlation_id = client.send(REQUEST, 4)
    network.run_for(3_000)
    assert not client.answers
    assert not client.is_closed
    for node_id in controllers:
        network.start(node_id)
    network.run_until(lambda: correlation_id in client.answers)

    again = client.answers[correlation_id]
    assert is_running(network, 101)
    assert again.finalized_features_epoch >= told.finalized_features_epoch
    assert levels(again) == levels(told)


def test_who_sends_too_much_to_a_broker_that_does_not_serve_yet_loses_the_connection():
    network = NodeNetwork(release="4.3")
    network.add(101, roles={BROKER}, quorum_voters={1: controller_endpoint(1)})
    network.start(101)
    client = network.client(101, BROKER_LISTENER)

    client.send_bytes(bytes(HELD_BYTES_MAX))
    network.settle()
    assert not client.is_closed
    client.send_bytes(bytes(1))
    network.settle()

    assert client.is_closed


@pytest.mark.slow
def test_a_restarted_controller_tells_no_features_before_it_knows_again_what_it_told_before():
    node_id = 3
    network = a_cluster(101, metadata_log_max_snapshot_interval_ms=10_000)
    log = network.hosts[node_id].running.log
    network.run_until(lambda: log.latest_snapshot is not None and log.latest_snapshot.offset > 0)
    set_level(network, 1)
    network.run_for(1_000)
    told = ask(network, node_id)
    # So what it starts from is older than what it told.
    assert log.latest_snapshot.offset <= told.finalized_features_epoch
    if network.active.config.node_id == node_id:
        network.isolate(node_id)
        network.run_until(lambda: network.active.config.node_id != node_id)
        network.heal()
    others = [other for other in network.hosts if other != node_id]
    for other in others:
        network.kill(other)

    network.restart(node_id)
    network.run_for(3_000)
    alone = ask(network, node_id)
    assert (alone.finalized_features_epoch, levels(alone)) == (-1, {})
    # What it can do it knows without the others.
    assert alone.supported_features == told.supported_features
    for other in others:
        network.start(other)
    network.run_until(lambda: network.active is not None)
    network.run_for(5_000)

    again = ask(network, node_id)
    assert again.finalized_features_epoch >= told.finalized_features_epoch
    assert levels(again) == levels(told)


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(("lower", "raise", "restart", "kill", "start", "cut off", "heal", "wait")),
        st.sampled_from((1, 2, 3, 101, 102)),
        st.sampled_from((0, 20, 700, 3_000)),
    ),
    max_size=15,
)


@pytest.mark.full
@settings(max_examples=50)
@given(EVENTS)
def test_no_node_ever_tells_an_older_epoch_or_another_level_at_the_same_one(events):
    """With snapshots every two seconds, so that who was away gets one, and starts from one."""
    network = a_cluster(101, 102, metadata_log_max_snapshot_interval_ms=2_000, metadata_max_retention_bytes=1)
    told: dict[int, tuple[int, dict[str, int]]] = {}
    for event, node_id, wait_ms in events:
        happen(network, event, node_id)
        network.run_for(wait_ms)
        for host in network.running:
            # Brokers answer nobody before they serve.
            if not host.config.is_broker or is_running(network, host.config.node_id):
                look(network, host.config.node_id, told)


def happen(network: NodeNetwork, event: str, node_id: int) -> None:
    runs = network.hosts[node_id].node is not None
    match event:
        case "lower" | "raise":
            if network.active is not None:
                set_level(network, 0 if event == "lower" else 1)
        case "restart" if runs:
            network.restart(node_id)
        case "kill" if runs:
            network.kill(node_id)
        case "start" if not runs:
            network.start(node_id)
        case "cut off":
            network.isolate(node_id)
        case "heal":
            network.heal()
        case _:
            pass


def look(network: NodeNetwork, node_id: int, told: dict[int, tuple[int, dict[str, int]]]) -> None:
    answer = ask(network, node_id)
    if answer.finalized_features_epoch == -1:
        assert levels(answer) == {}
        return
    epoch, before = told.get(node_id, (-1, {}))
    assert answer.finalized_features_epoch >= epoch
    if answer.finalized_features_epoch == epoch:
        assert levels(answer) == before
    told[node_id] = answer.finalized_features_epoch, levels(answer)


# --- Ranges that change


def a_broker_under(release: str) -> NodeNetwork:
    """A 4.3 broker under one controller of `release`."""
    network = NodeNetwork(release="3.9")
    voters = {1: controller_endpoint(1)}
    level = Release.parse("3.9").latest_metadata_version
    network.add(1, roles={CONTROLLER}, quorum_voters=voters, release=Release.parse(release), level=level)
    network.start(1)
    network.add(101, roles={BROKER}, quorum_voters=voters, release=Release.parse("4.3"), level=level)
    network.start(101)
    network.run_until(lambda: is_running(network, 101))
    return network


def roll_controller(network: NodeNetwork, release: str) -> None:
    """Start the controller again, as another release; between the two nobody is asked."""
    disk = network.hosts[1].disk
    network.kill(1)
    network.run_for(1_000)
    network.add(
        1,
        roles={CONTROLLER},
        quorum_voters={1: controller_endpoint(1)},
        release=Release.parse(release),
        disk=disk,
        is_formatted=False,
    )
    network.start(1)
    network.run_until(lambda: network.active is not None)
    network.run_for(5_000)


def negotiated(network: NodeNetwork) -> Client:
    client = network.client(101, BROKER_LISTENER)
    client.ask(REQUEST, 3)
    return client


def offered(client: Client) -> dict[int, tuple[int, int]]:
    return {api.api_key: (api.min_version, api.max_version) for api in client.ask(REQUEST, 3).api_keys}


@pytest.mark.parametrize(("before", "after"), [("3.9", "4.3"), ("4.3", "3.9")])
def test_a_connection_whose_negotiated_ranges_have_changed_is_closed(before, after):
    network = a_broker_under(before)
    # The second is answered from what the first was told.
    clients = [negotiated(network), negotiated(network)]

    roll_controller(network, after)

    assert [client.is_closed for client in clients] == [True, True]
    assert network.hosts[101].running.counters.closed_for_other_versions >= 2
    new = negotiated(network)
    assert offered(new)[ADD_RAFT_VOTER] == ((0, 1) if after == "4.3" else (0, 0))
    network.run_for(5_000)
    assert not new.is_closed


def test_a_connection_that_never_asked_for_ranges_stays_when_they_change():
    network = a_broker_under("3.9")
    silent, asking = network.client(101, BROKER_LISTENER), network.client(101, BROKER_LISTENER)
    asking.ask(MetadataRequest(topics=[]), 12)

    roll_controller(network, "4.3")

    assert [silent.is_closed, asking.is_closed] == [False, False]
    assert offered(silent)[ADD_RAFT_VOTER] == (0, 1)


@pytest.mark.parametrize("release", ["3.9", "4.3"])
def test_a_connection_stays_when_the_next_controller_is_of_the_same_release(release):
    network = a_broker_under(release)
    client = negotiated(network)

    roll_controller(network, release)

    assert not client.is_closed


def test_who_negotiated_while_no_controller_was_known_is_closed_if_the_next_one_knows_less():
    network = a_broker_under("3.9")
    before = negotiated(network)
    network.kill(1)
    network.run_for(1_000)
    between = negotiated(network)
    assert offered(between)[ADD_RAFT_VOTER] == (0, 1)

    network.start(1)
    network.run_until(lambda: network.active is not None)
    network.run_for(5_000)

    assert (before.is_closed, between.is_closed) == (False, True)


def test_connections_of_controllers_stay_whatever_brokers_offer():
    network = NodeNetwork(release="3.9")
    voters = {1: controller_endpoint(1), 2: controller_endpoint(2)}
    level = Release.parse("3.9").latest_metadata_version
    network.add(1, roles={CONTROLLER}, quorum_voters=voters, release=Release.parse("3.9"), level=level)
    network.add(2, roles={BROKER, CONTROLLER}, quorum_voters=voters, release=Release.parse("4.3"), level=level)
    network.start(1)
    network.start(2)
    network.run_until(lambda: is_running(network, 2))
    client = network.client(2, CONTROLLER_LISTENER)
    ranges = offered(client)
    closed = network.hosts[2].running.counters.closed_for_other_versions
    broker = network.client(2, BROKER_LISTENER)
    leader = network.active.config.node_id
    told = offered(broker)[ADD_RAFT_VOTER]

    # The other one leads from now on, and it is of the other release.
    network.active.running.raft.resign(network.now_ms)
    network.run_until(lambda: network.active is not None and network.active.config.node_id != leader)
    network.run_for(5_000)

    assert broker.is_closed
    assert offered(network.client(2, BROKER_LISTENER))[ADD_RAFT_VOTER] != told
    assert not client.is_closed
    assert offered(client) == ranges
    assert network.hosts[2].running.counters.closed_for_other_versions > closed
