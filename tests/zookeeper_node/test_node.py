"""A broker on ZooKeeper: how it comes to serve, what it hears of the cluster meanwhile, and how it ends."""

from __future__ import annotations

import json

import pytest
from zookeeper_network import START_MS, ZooKeeperNetwork
from zookeeper_world import delete_by_hand, write_by_hand

from falkirk.metadata.zookeeper.broker_znode import decode_broker
from falkirk.metadata.zookeeper.features_znode import encode_features
from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange
from falkirk.node.effects import Stop
from falkirk.node.events import BytesReceived, ConnectionLost, ShutdownRequested
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    DescribeClusterRequest,
    MetadataRequest,
    UpdateFeaturesRequest,
)
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.simulation.zookeeper.world.ensemble import BY_HAND
from falkirk.slices import exhaust
from falkirk.versions.supported_range import SupportedRange
from falkirk.zookeeper_node.session.exchange import CloseSession, SessionChanged, SessionState
from falkirk.zookeeper_node.session.operations import Create

VERSIONS = ApiVersionsRequest(client_software_name="tester", client_software_version="1")
GC_2 = {"falkirk_supported_features": "gc:1-2"}


def finalize(network: ZooKeeperNetwork, **levels: tuple[int, int]) -> None:
    """Write what is finalized, as another controller does."""
    features = {name: FinalizedRange(*each) for name, each in levels.items()}
    write_by_hand(network.ensemble, "/features", encode_features(FeatureState(True, features), kip_778=False))


def told_levels(network: ZooKeeperNetwork, node_id: int) -> tuple[int, dict[str, tuple[int, int]]]:
    answer = network.client(node_id).ask(VERSIONS, 3)
    levels = {one.name: (one.min_version_level, one.max_version_level) for one in answer.finalized_features}
    return answer.finalized_features_epoch, levels


def told_brokers(network: ZooKeeperNetwork, node_id: int) -> tuple[int, list[int]]:
    answer = network.client(node_id).ask(MetadataRequest(), 9)
    return answer.controller_id, [broker.node_id for broker in answer.brokers]


# --- Coming to serve


def test_the_first_broker_makes_the_cluster() -> None:
    network = ZooKeeperNetwork()
    host = network.start(1, **GC_2)
    assert host.times_started == 1
    assert host.node.is_active_controller
    found = network.finalized()
    assert found is not None
    assert found[0].features["gc"] == FinalizedRange(1, 2)
    znode = network.ensemble.znode("/brokers/ids/1")
    assert znode is not None
    assert znode.ephemeral_owner == host.link.session_id
    registered = decode_broker(znode.data, "/brokers/ids/1")
    assert registered.features == {"gc": SupportedRange(1, 2), "ibp-feature": SupportedRange(1, 27)}
    assert [str(endpoint) for endpoint in registered.endpoints] == ["PLAINTEXT://node1:9092"]
    assert json.loads(znode.data)["timestamp"] == str(START_MS)


def test_all_brokers_tell_the_same_cluster() -> None:
    network = ZooKeeperNetwork()
    for node_id in (2, 1, 3):
        network.start(node_id, **GC_2)
    told = {network.client(node_id).ask(DescribeClusterRequest(), 1).cluster_id for node_id in (1, 2, 3)}
    assert len(told) == 1
    assert told != {""}
    for node_id in (1, 2, 3):
        assert told_brokers(network, node_id) == (2, [1, 2, 3])
        assert told_levels(network, node_id) == (0, {"gc": (1, 2), "ibp-feature": (1, 27)})


def test_what_comes_before_a_broker_serves_waits() -> None:
    network = ZooKeeperNetwork()
    network.add(1, is_cut_off=True)
    client = network.client(1)
    asked = [client.send(VERSIONS, 3), client.send(MetadataRequest(), 9)]
    network.settle()
    assert client.answers == {}
    network.connect(1)
    assert sorted(client.answers) == asked
    assert [broker.node_id for broker in client.answers[asked[1]].brokers] == [1]


def test_nothing_is_registered_before_what_is_finalized_fits() -> None:
    network = ZooKeeperNetwork()
    registered: list[str] = []
    network.ensemble.observers.append(
        lambda transaction: registered.extend(change.path for change in transaction.changes)
    )
    finalize(network, gc=(1, 3), other=(1, 1))
    host = network.start(1, **GC_2)
    assert host.stop == Stop(
        1,
        "broker 1 cannot run with what is finalized in /features, epoch 0: gc is finalized at level 3, and only 1-2 is "
        "supported; other is finalized at level 1, and is not supported",
    )
    assert host.times_started == 0
    assert "/brokers/ids/1" not in registered
    assert host.node.next_wakeup_ms is None
    assert host.node.step([ShutdownRequested()], network.now_ms) == []


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"{", "it is not JSON"),
        (b'{"version":7,"status":1,"features":{}}', "the schema version 7 is unknown"),
        (
            b'{"version":1,"status":1,"features":{"a":{"min_version_level":2,"max_version_level":1}}}',
            "feature a: min_version_level 2 is above max_version_level 1",
        ),
        (
            b'{"version":1,"status":1,"features":{"a":{"min_version_level":0,"max_version_level":1}}}',
            "feature a: min_version_level is 0",
        ),
    ],
)
def test_a_broken_znode_of_features_ends_a_broker_that_starts_and_stays_as_it_is(data: bytes, fault: str) -> None:
    network = ZooKeeperNetwork()
    write_by_hand(network.ensemble, "/features", data)
    host = network.start(1)
    assert host.stop is not None
    assert host.stop.exit_code == 1
    assert host.stop.reason is not None
    assert host.stop.reason.startswith(f"znode /features: {fault}")
    assert "\n" not in host.stop.reason
    znode = network.ensemble.znode("/features")
    assert znode is not None
    assert (znode.data, znode.version) == (data, 0)


def test_a_broken_cluster_id_ends_it() -> None:
    network = ZooKeeperNetwork()
    write_by_hand(network.ensemble, "/cluster", b"")
    write_by_hand(network.ensemble, "/cluster/id", b"[]")
    assert network.start(1).stop == Stop(1, "znode /cluster/id: it is a list, not a JSON object")


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (None, "no connection could be made"),
        (SessionState.SUSPENDED, "the connection was lost"),
        (
            SessionState.READ_ONLY,
            "the server that was reached is read-only, cut off from the others of its ensemble",
        ),
    ],
)
def test_a_broker_ends_if_it_finds_no_zookeeper_to_write_to(state: SessionState | None, said: str) -> None:
    network = ZooKeeperNetwork()
    host = network.add(1, is_cut_off=True, zookeeper_connection_timeout_ms="7000")
    if state is not None:
        host.inbox.append(SessionChanged(state, 5))
        host.link.session_id = network.ensemble.open_session(1, 0, lambda _: None)
    network.run_for(6_999)
    assert host.stop is None
    network.run_for(1)
    assert host.stop == Stop(1, f"zookeeper.connect=zoo:2181: {said}, for 7000 ms")


def test_a_broker_that_serves_waits_for_zookeeper_as_long_as_it_takes() -> None:
    network = ZooKeeperNetwork()
    host = network.start(1, **GC_2)
    host.link.suspend()
    network.run_for(3_600_000)
    assert host.stop is None
    assert told_levels(network, 1)[1]["gc"] == (1, 2)


# --- One id


def test_a_broker_that_is_back_before_its_session_has_expired_waits_for_that() -> None:
    network = ZooKeeperNetwork()
    network.start(1)
    network.crash(1)
    host = network.start(1)
    network.run_for(10_000)
    assert host.times_started == 0
    (fact,) = host.told("waits-for-earlier-registration")
    assert fact.fields == {"broker_id": 1, "session": "0x1"}
    network.ensemble.end_session(1)
    network.settle()
    assert host.times_started == 1
    assert host.node.is_active_controller


def test_the_second_of_two_brokers_with_one_id_ends() -> None:
    network = ZooKeeperNetwork()
    first = network.start(1)
    network.hosts[9] = network.hosts.pop(1)
    second = network.start(1, zookeeper_session_timeout_ms="6000")
    network.run_for(5_999)
    assert second.stop is None
    network.run_for(1)
    assert second.stop == Stop(
        1,
        "znode /brokers/ids/1: broker 1 is registered by another session (0x1), which has not gone within 6000 ms: "
        "there may be two brokers with one broker.id",
    )
    assert first.stop is None


# --- Changes


def test_a_broker_ends_when_what_is_finalized_comes_to_be_more_than_it_supports() -> None:
    network = ZooKeeperNetwork()
    host = network.start(1, **GC_2)
    network.start(2, falkirk_supported_features="gc:1-4")
    finalize(network, gc=(3, 4))
    network.settle()
    assert host.stop == Stop(
        1,
        "broker 1 cannot run with what is finalized in /features, epoch 1: gc is finalized at level 4, and only 1-2 is "
        "supported",
    )
    assert network.ensemble.znode("/brokers/ids/1") is None
    assert told_brokers(network, 2) == (2, [2])


def test_a_znode_of_features_that_is_broken_later_changes_nothing() -> None:
    network = ZooKeeperNetwork()
    host = network.start(1, **GC_2)
    before = told_levels(network, 1)
    write_by_hand(network.ensemble, "/features", b"garbage")
    network.settle()
    assert host.stop is None
    assert told_levels(network, 1) == before
    (fact,) = host.told("features-unreadable")
    assert fact.level == "error"
    assert str(fact.fields["reason"]).startswith("znode /features: it is not JSON")
    update = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("gc", 1, allow_downgrade=True)])
    assert network.client(1).ask(update, 0).error_code == ErrorCode.FEATURE_UPDATE_FAILED
    znode = network.ensemble.znode("/features")
    assert znode is not None
    assert znode.data == b"garbage"
    finalize(network, gc=(1, 1))
    network.settle()
    assert told_levels(network, 1) == (2, {"gc": (1, 1)})


def test_features_that_are_gone_are_told_no_more() -> None:
    network = ZooKeeperNetwork()
    network.start(1)
    assert told_levels(network, 1)[0] == 0
    delete_by_hand(network.ensemble, "/features")
    network.settle()
    assert told_levels(network, 1) == (-1, {})


def test_features_that_were_deleted_come_back_at_a_higher_epoch() -> None:
    network = ZooKeeperNetwork()
    network.start(1, **GC_2)
    network.start(2, **GC_2)
    for level in (1, 2, 1, 2):
        finalize(network, gc=(1, level))
        network.settle()
    epoch, _ = told_levels(network, 2)
    assert epoch == 4
    delete_by_hand(network.ensemble, "/features")
    network.settle()
    # The next controller creates it again, with what it supports.
    network.hosts[1].link.expire()
    network.settle()
    again, levels = told_levels(network, 2)
    assert (again, levels["gc"]) == (epoch + 1, (1, 2))
    assert told_levels(network, 1)[0] == again


def test_disabled_features_are_not_told() -> None:
    network = ZooKeeperNetwork()
    network.start(1, inter_broker_protocol_version="2.6")
    network.start(2, **GC_2)
    assert network.finalized() == (FeatureState(is_enabled=False), 0)
    assert told_levels(network, 2) == (-1, {})


def test_a_broker_whose_znode_is_broken_counts_as_none() -> None:
    network = ZooKeeperNetwork()
    host = network.start(1)
    network.ensemble.ask(BY_HAND, Create("/brokers/ids/2", b'{"version":9}'))
    network.ensemble.ask(BY_HAND, Create("/brokers/ids/x", b""))
    network.settle()
    assert told_brokers(network, 1) == (1, [1])
    assert {fact.fields["reason"] for fact in host.told("broker-unreadable")} == {
        "znode /brokers/ids/2: the schema version 9 is unknown (known are 1 to 5)",
        "znode /brokers/ids: x is no broker's id",
    }


# --- Sessions


def test_a_broker_whose_session_has_expired_registers_again() -> None:
    network = ZooKeeperNetwork()
    first, second = network.start(1, **GC_2), network.start(2, **GC_2)
    first.link.expire()
    network.settle()
    assert first.times_started == 1
    assert len(first.told("broker-registered")) == 2
    znode = network.ensemble.znode("/brokers/ids/1")
    assert znode is not None
    assert znode.ephemeral_owner == first.link.session_id
    assert not first.node.is_active_controller
    assert second.node.is_active_controller
    for node_id in (1, 2):
        assert told_brokers(network, node_id) == (2, [1, 2])


def test_what_is_finalized_is_looked_at_before_a_broker_registers_again() -> None:
    network = ZooKeeperNetwork()
    host = network.start(1, **GC_2)
    host.is_cut_off = True
    host.link.expire()
    network.settle()
    finalize(network, gc=(1, 3))
    assert host.stop is None
    network.connect(1)
    assert host.stop is not None
    assert "gc is finalized at level 3" in str(host.stop.reason)
    assert len(host.told("broker-registered")) == 1


def test_a_broker_registers_again_when_it_knows_what_is_finalized_and_no_sooner() -> None:
    network = ZooKeeperNetwork()
    host = network.start(1, **GC_2)
    host.held_path = "/features"
    host.link.expire()
    network.settle()
    assert not host.node.membership.is_registered
    assert network.ensemble.znode("/brokers/ids/1") is None
    network.release(1)
    assert host.node.membership.is_registered
    assert network.ensemble.znode("/brokers/ids/1") is not None


def test_what_became_unreadable_while_there_was_no_session_ends_no_broker_that_served() -> None:
    network = ZooKeeperNetwork()
    host = network.start(1, **GC_2)
    host.is_cut_off = True
    host.link.expire()
    network.settle()
    write_by_hand(network.ensemble, "/features", b"garbage")
    network.connect(1)
    assert host.stop is None
    assert host.node.membership.is_registered
    assert told_levels(network, 1) == (0, {"gc": (1, 2), "ibp-feature": (1, 27)})


def test_a_broker_that_knows_nothing_waits_with_its_registration_until_features_can_be_read() -> None:
    network = ZooKeeperNetwork()
    host = network.start(1, **GC_2)
    delete_by_hand(network.ensemble, "/features")
    network.settle()
    host.is_cut_off = True
    host.link.expire()
    network.settle()
    write_by_hand(network.ensemble, "/features", b"garbage")
    network.connect(1)
    assert (host.stop, host.node.membership.is_registered) == (None, False)
    finalize(network, gc=(1, 1))
    network.settle()
    assert host.node.membership.is_registered


def test_what_was_known_is_told_while_there_is_no_session() -> None:
    network = ZooKeeperNetwork()
    host = network.start(1, **GC_2)
    network.start(2, **GC_2)
    before = told_levels(network, 1)
    host.is_cut_off = True
    host.link.expire()
    network.settle()
    assert told_levels(network, 1) == before
    assert told_brokers(network, 1) == (-1, [1, 2])
    assert not host.node.membership.is_registered


def test_what_changed_while_the_connection_was_lost_is_read_when_it_is_back() -> None:
    network = ZooKeeperNetwork()
    host = network.start(1, **GC_2)
    host.link.suspend()
    network.settle()
    network.ensemble.forget_watches(host.link.session_id)
    finalize(network, gc=(1, 1))
    network.settle()
    assert told_levels(network, 1)[0] == 0
    host.link.resume()
    network.settle()
    assert told_levels(network, 1) == (1, {"gc": (1, 1)})


def test_lost_watches_are_healed_in_time() -> None:
    network = ZooKeeperNetwork()
    first = network.start(1, falkirk_zookeeper_refresh_ms="5000", **GC_2)
    second = network.start(2, falkirk_zookeeper_refresh_ms="5000", **GC_2)
    network.ensemble.forget_watches(second.link.session_id)
    finalize(network, gc=(1, 1))
    network.shut_down(1)
    assert first.stop == Stop(0)
    assert told_brokers(network, 2) == (1, [1, 2])
    assert told_levels(network, 2)[0] == 0
    network.run_for(5_000)
    assert told_brokers(network, 2) == (2, [2])
    assert told_levels(network, 2) == (1, {"gc": (1, 1)})


# --- inter.broker.protocol.version


def test_below_the_migration_a_broker_neither_tells_nor_holds_to_features() -> None:
    network = ZooKeeperNetwork()
    finalize(network, gc=(1, 9))
    host = network.start(1, inter_broker_protocol_version="2.6", **GC_2)
    assert host.times_started == 1
    znode = network.ensemble.znode("/brokers/ids/1")
    assert znode is not None
    assert decode_broker(znode.data, "").features is None
    assert told_levels(network, 1) == (-1, {})
    update = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("gc", 1)])
    answer = network.client(1).ask(update, 1)
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.INVALID_REQUEST,
        "Feature versioning system is disabled.",
    )


def test_the_protocol_that_counts_is_told_with_what_decides_on_it() -> None:
    network = ZooKeeperNetwork()
    write_by_hand(network.ensemble, "/features", encode_features(FeatureState(is_enabled=False), kip_778=False))
    host = network.start(1, inter_broker_protocol_version="2.7")
    update = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("ibp-feature", 5)])
    assert network.client(1).ask(update, 1).error_code == 0
    assert [tuple(fact.fields.values()) for fact in host.told("inter-broker-protocol")] == [
        ("2.7-IV2", "inter.broker.protocol.version"),
        ("2.8-IV1", "ibp-feature"),
    ]


# --- The end


def test_a_broker_that_is_asked_to_stop_ends_its_session_and_then_itself() -> None:
    network = ZooKeeperNetwork()
    host, other = network.start(1, **GC_2), network.start(2, **GC_2)
    client = network.client(1)
    effects = host.node.step([ShutdownRequested()], network.now_ms)
    assert effects.index(CloseSession()) < effects.index(Stop(0)) == len(effects) - 1
    for effect in effects:
        network.execute(host, effect)
    network.settle()
    assert client.is_closed
    assert network.ensemble.znode("/brokers/ids/1") is None
    assert other.node.is_active_controller
    assert told_brokers(network, 2) == (2, [2])
    assert host.node.next_wakeup_ms is None


# --- Connections


def test_a_connection_that_is_gone_is_forgotten() -> None:
    network = ZooKeeperNetwork()
    host = network.start(1)
    client = network.client(1)
    host.inbox.append(BytesReceived(client.connection_id, b"\0\0"))
    network.settle()
    assert host.node.missing_bytes(client.connection_id) > 0
    host.inbox.append(ConnectionLost(client.connection_id, "gone"))
    network.settle()
    assert host.node.missing_bytes(client.connection_id) == 0


def test_a_connection_that_nothing_comes_on_is_closed_in_time() -> None:
    network = ZooKeeperNetwork()
    network.start(1, connections_max_idle_ms="20000")
    client = network.client(1)
    network.run_for(19_999)
    assert not client.is_closed
    network.run_for(1)
    assert client.is_closed


def test_answers_that_are_given_unread_follow_what_changes() -> None:
    network = ZooKeeperNetwork()
    network.start(1, **GC_2)
    versions, metadata = network.client(1), network.client(1)
    for client, request in ((versions, VERSIONS), (metadata, MetadataRequest())):
        for _ in range(2):
            client.connection = type(client.connection)(role=client.connection.role, client_id="tester")
            client.ask(request, 3)
    network.start(2, **GC_2)
    finalize(network, gc=(1, 1))
    network.settle()
    for client in (versions, metadata):
        client.connection = type(client.connection)(role=client.connection.role, client_id="tester")
    assert versions.ask(VERSIONS, 3).finalized_features_epoch == 1
    assert [broker.node_id for broker in metadata.ask(MetadataRequest(), 3).brokers] == [1, 2]


def test_a_node_is_measured() -> None:
    network = ZooKeeperNetwork()
    host, other = network.start(1, **GC_2), network.start(2, **GC_2)
    network.client(1).ask(VERSIONS, 3)
    measured = exhaust(host.node.measure_slices())
    assert (measured.leader_id, measured.leader_epoch, measured.is_active_controller) == (1, 1, True)
    assert measured.finalized_features == {"gc": 2, "ibp-feature": 27}
    assert (measured.brokers, measured.broker_state) == ((2, 0), 3)
    assert measured.connection_counters.requests == 1
    measured = exhaust(other.node.measure_slices())
    assert (measured.leader_id, measured.is_active_controller, measured.brokers) == (1, False, None)
    assert exhaust(network.add(3, is_cut_off=True).node.measure_slices()).broker_state == 1
