"""Who may update features, and where; what is decided then has tests of its own."""

from __future__ import annotations

import json

import pytest
from sasl_clients import authenticate, login
from zookeeper_network import ZooKeeperNetwork
from zookeeper_world import write_by_hand

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ApiVersionsRequest, DescribeClusterRequest, UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.zookeeper_node.config.properties import AUTHORIZER

VERSIONS = ApiVersionsRequest(client_software_name="tester", client_software_version="1")
LOWER = UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey("gc", 1, allow_downgrade=True)])
SASL = "SASL_PLAINTEXT"
SECURED = {
    "listeners": f"{SASL}://node1:9092",
    "security.inter.broker.protocol": SASL,
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'user_admin="a" user_alice="b" user_bob="c" user_carol="d";'
    ),
    "authorizer.class.name": AUTHORIZER,
    "super.users": "User:admin",
    "falkirk.supported.features": "gc:1-2",
}
ACLS = "/kafka-acl/Cluster/kafka-cluster"
ALICE_ALTERS = {"principal": "User:alice", "permissionType": "Allow", "host": "*", "operation": "Alter"}
ALICE_DOES_NOT = {**ALICE_ALTERS, "permissionType": "Deny"}
CAROL_DESCRIBES = {**ALICE_ALTERS, "principal": "User:carol", "operation": "Describe"}


def acls(*entries: dict[str, str]) -> bytes:
    return json.dumps({"version": 1, "acls": entries}).encode()


def secured(stored: bytes | None = acls(ALICE_ALTERS, CAROL_DESCRIBES)) -> ZooKeeperNetwork:
    network = ZooKeeperNetwork()
    if stored is not None:
        for path in ("/kafka-acl", "/kafka-acl/Cluster"):
            write_by_hand(network.ensemble, path, b"")
        write_by_hand(network.ensemble, ACLS, stored)
    network.start(1, SECURED)
    return network


def lower_as(network: ZooKeeperNetwork, name: str, password: str) -> int:
    client = network.client(1, SASL)
    assert authenticate(client, login("PLAIN", name, password)).error_code == 0
    error: int = client.ask(LOWER, 0).error_code
    return error


def test_a_broker_that_is_not_the_controller_says_so() -> None:
    network = ZooKeeperNetwork()
    network.start(1, falkirk_supported_features="gc:1-2")
    network.start(2, falkirk_supported_features="gc:1-2")
    assert network.client(2).ask(LOWER, 0).error_code == ErrorCode.NOT_CONTROLLER
    answer = network.client(1).ask(LOWER, 0)
    assert (answer.error_code, [(one.feature, one.error_code) for one in answer.results]) == (0, [("gc", 0)])
    found = network.finalized()
    assert found is not None
    assert (found[0].features["gc"].max_level, found[1]) == (1, 1)


@pytest.mark.parametrize(
    ("name", "password", "error"),
    [
        ("admin", "a", ErrorCode.NONE),
        ("alice", "b", ErrorCode.NONE),
        ("bob", "c", ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        ("carol", "d", ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
    ],
)
def test_who_may_not_alter_the_cluster_is_refused(name: str, password: str, error: ErrorCode) -> None:
    network = secured()
    assert lower_as(network, name, password) == error
    found = network.finalized()
    assert found is not None
    assert found[0].features["gc"].max_level == (2 if error else 1)


def test_without_acls_only_super_users_may() -> None:
    network = secured(stored=None)
    assert lower_as(network, "alice", "b") == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert lower_as(network, "admin", "a") == ErrorCode.NONE


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/kafka-acl-extended/prefixed/Cluster/kafka-cluster", ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        ("/kafka-acl-extended/prefixed/Cluster/kaf", ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        ("/kafka-acl-extended/prefixed/Cluster/kafka-clusters", ErrorCode.NONE),
        ("/kafka-acl/Cluster/*", ErrorCode.CLUSTER_AUTHORIZATION_FAILED),
        ("/kafka-acl/Cluster/kaf", ErrorCode.NONE),
    ],
)
def test_an_acl_that_denies_counts_if_its_pattern_applies_to_the_cluster(path: str, error: ErrorCode) -> None:
    network = secured()
    for parent in ("/kafka-acl-extended", "/kafka-acl-extended/prefixed", "/kafka-acl-extended/prefixed/Cluster"):
        write_by_hand(network.ensemble, parent, b"")
    write_by_hand(network.ensemble, path, acls(ALICE_DOES_NOT))
    network.settle()
    assert lower_as(network, "alice", "b") == error


def test_changes_of_acls_are_followed() -> None:
    network = secured()
    write_by_hand(network.ensemble, ACLS, acls(ALICE_DOES_NOT))
    network.settle()
    assert lower_as(network, "alice", "b") == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_acls_that_are_broken_later_leave_those_that_were_known() -> None:
    network = secured(acls(ALICE_DOES_NOT))
    write_by_hand(network.ensemble, ACLS, b"[]")
    network.settle()
    assert lower_as(network, "alice", "b") == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    (fact,) = network.hosts[1].told("acls-unreadable")
    assert fact.fields["reason"] == f"znode {ACLS}: it is a list, not a JSON object"


def test_a_broker_does_not_begin_to_serve_with_acls_that_it_cannot_read() -> None:
    network = secured(acls({**ALICE_ALTERS, "operation": "Dance"}))
    host = network.hosts[1]
    assert host.stop is not None
    assert host.stop.exit_code == 1
    assert host.stop.reason == f'znode {ACLS}: ACL 1: operation is "Dance", which is unknown'


def test_a_broker_does_not_begin_to_serve_before_it_knows_its_acls() -> None:
    network = secured()
    network.hosts.clear()
    network.ensemble.end_session(1)
    host = network.add(1, SECURED, held_path=ACLS)
    network.settle()
    assert host.times_started == 0
    network.release(1)
    assert host.times_started == 1


def test_operations_are_told_to_who_may_describe_the_cluster() -> None:
    network = secured()
    told = {}
    for name, password in (("admin", "a"), ("bob", "c"), ("carol", "d")):
        client = network.client(1, SASL)
        authenticate(client, login("PLAIN", name, password))
        asked = DescribeClusterRequest(include_cluster_authorized_operations=True)
        told[name] = client.ask(asked, 1).cluster_authorized_operations
    assert told["bob"] == 0
    assert told["carol"] == 1 << 8
    assert told["admin"] & (1 << 7)


def test_versions_and_features_are_told_alike_before_and_after_authentication() -> None:
    network = secured()
    for version in (3, 4):
        client = network.client(1, SASL)
        before = client.ask(VERSIONS, version)
        assert authenticate(client, login("PLAIN", "bob", "c")).error_code == 0
        assert client.ask(VERSIONS, version) == before
        assert {one.name for one in before.finalized_features} == {"gc", "ibp-feature"}
        assert [one.api_key for one in before.api_keys] == [3, 17, 18, 36, 57, 60]


def test_who_is_not_authenticated_is_told_nothing_else() -> None:
    network = secured()
    client = network.client(1, SASL)
    client.send(DescribeClusterRequest(), 1)
    network.run_for(200)
    assert client.is_closed
    assert client.answers == {}
    assert authenticate(network.client(1, SASL), login("PLAIN", "bob", "wrong")).error_code == (
        ErrorCode.SASL_AUTHENTICATION_FAILED
    )


def test_a_handler_that_fails_is_told_and_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    network = ZooKeeperNetwork()
    host = network.start(1, falkirk_supported_features="gc:1-2")
    monkeypatch.setattr(host.node.membership.role, "update", lambda *_: 1 / 0)
    assert network.client(1).ask(LOWER, 0).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    (fact,) = host.told("handler-failed")
    assert "ZeroDivisionError" in str(fact.fields["traceback"])
    assert host.stop is None
