"""Whom SCRAM lets in is kept in ZooKeeper, and followed there."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest
from sasl_clients import authenticate, login
from zookeeper_network import ZooKeeperNetwork
from zookeeper_world import delete_by_hand, write_by_hand

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.sasl.scram_mechanism import SCRAM_MECHANISMS, make_credential

SASL = "SASL_PLAINTEXT"
MECHANISM = "SCRAM-SHA-512"
SECURED = {
    "listeners": f"{SASL}://node1:9092",
    "security.inter.broker.protocol": SASL,
    "sasl.mechanism.inter.broker.protocol": MECHANISM,
    "sasl.enabled.mechanisms": MECHANISM,
    "listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    ),
}
ALICE = login(MECHANISM, "alice", "alice-secret")


def write_user(network: ZooKeeperNetwork, name: str, password: str) -> None:
    made = make_credential(SCRAM_MECHANISMS[MECHANISM], password, b"salt", 4096)
    salt, stored, server = (b64encode(part).decode() for part in (made.salt, made.stored_key, made.server_key))
    text = f"salt={salt},stored_key={stored},server_key={server},iterations={made.iterations}"
    znode = json.dumps({"version": 1, "config": {MECHANISM: text}}).encode()
    write_by_hand(network.ensemble, f"/config/users/{name}", znode)
    network.settle()


def error_of_alice(network: ZooKeeperNetwork) -> int:
    answer = authenticate(network.client(1, SASL), ALICE)
    network.run_for(200)
    error: int = answer.error_code
    return error


@pytest.fixture
def network() -> ZooKeeperNetwork:
    network = ZooKeeperNetwork()
    assert network.start(1, SECURED).times_started == 1
    return network


def test_users_come_change_and_go(network: ZooKeeperNetwork) -> None:
    assert error_of_alice(network) == ErrorCode.SASL_AUTHENTICATION_FAILED
    write_user(network, "alice", "alice-secret")
    assert error_of_alice(network) == 0
    write_user(network, "alice", "another")
    assert error_of_alice(network) == ErrorCode.SASL_AUTHENTICATION_FAILED
    write_user(network, "alice", "alice-secret")
    assert error_of_alice(network) == 0
    delete_by_hand(network.ensemble, "/config/users/alice")
    network.settle()
    assert error_of_alice(network) == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_user_whose_znode_is_broken_has_no_credential(network: ZooKeeperNetwork) -> None:
    write_user(network, "alice", "alice-secret")
    write_by_hand(network.ensemble, "/config/users/alice", b"[]")
    network.settle()
    assert error_of_alice(network) == ErrorCode.SASL_AUTHENTICATION_FAILED
    (fact,) = network.hosts[1].told("user-unreadable")
    assert fact.fields["reason"] == "znode /config/users/alice: it is a list, not a JSON object"
    assert network.hosts[1].stop is None


def test_users_are_known_before_a_broker_serves() -> None:
    network = ZooKeeperNetwork()
    for path in ("/config", "/config/users"):
        write_by_hand(network.ensemble, path, b"")
    write_user(network, "alice", "alice-secret")
    network.start(1, SECURED)
    assert error_of_alice(network) == 0
