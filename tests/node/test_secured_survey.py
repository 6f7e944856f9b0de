"""A controller that is no broker reads coordinators' topics from listeners that ask for SASL."""

from dataclasses import replace

import pytest
from coordinator_topics import create, transaction, write
from node_network import BROKER_LISTENER, CONTROLLER_LISTENER, NodeNetwork, controller_endpoint
from sasl_clients import PLAIN_USERS, add_scram_user, authenticate, login

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.node.config.security_settings import ListenerSecurity, SecuritySettings
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType

TRANSACTIONS = "__transaction_state"
PLAIN = login("PLAIN", "admin", "admin-secret")
SCRAM = login("SCRAM-SHA-512", "prober", "prober-secret")
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
CONTROLLER_ID, BROKER_ID = 1, 101


def a_cluster(mechanism, **settings):
    """A controller that meets all with PLAIN unless `settings` say more, and a broker that asks for a mechanism."""
    network = NodeNetwork(release="4.3")
    of_controllers = ListenerSecurity(mechanisms=("PLAIN",), plain_users=PLAIN_USERS)
    of_brokers = ListenerSecurity(mechanisms=(mechanism,), plain_users=PLAIN_USERS)
    for node_id, role in ((CONTROLLER_ID, CONTROLLER), (BROKER_ID, BROKER)):
        logins = {CONTROLLER_LISTENER: PLAIN, BROKER_LISTENER: PLAIN if role == BROKER else SCRAM}
        listeners = {CONTROLLER_LISTENER: of_controllers, BROKER_LISTENER: of_brokers}
        host = network.add(
            node_id,
            roles={role},
            quorum_voters={CONTROLLER_ID: controller_endpoint(CONTROLLER_ID)},
            security=SecuritySettings(listeners=listeners, logins=logins),
            authorizer_class_name=AUTHORIZER,
            super_users="User:admin;User:prober",
            **(settings if role == CONTROLLER else {}),
        )
        secure = tuple(replace(one, security_protocol="SASL_PLAINTEXT") for one in host.config.listeners)
        host.config = replace(host.config, listeners=secure)
        network.start(node_id)
    network.run_until(lambda: network.hosts[BROKER_ID].running.broker.state is BrokerState.RUNNING)
    add_scram_user(network, "prober", "prober-secret")
    with_open_transaction(network, SCRAM if mechanism != "PLAIN" else PLAIN)
    return network


def with_open_transaction(network, who):
    """Write what lowering transaction.version would cut off, as an administrator."""
    connect = network.client

    def logged_in(node_id, listener):
        client = connect(node_id, listener)
        network.run_until(lambda: network.hosts[BROKER_ID].running.image.scram.credentials)
        assert authenticate(client, who).error_code == 0
        return client

    network.client = logged_in
    create(network, BROKER_ID, BROKER_LISTENER, TRANSACTIONS)
    write(network, BROKER_ID, BROKER_LISTENER, TRANSACTIONS, [transaction("paying", TransactionState.ONGOING)])
    network.client = connect


def lowered(network):
    client = network.client(CONTROLLER_ID)
    assert authenticate(client, PLAIN).error_code == 0
    answers = []
    for level, type_ in ((2, UpgradeType.UPGRADE), (0, UpgradeType.SAFE_DOWNGRADE)):
        keys = [FeatureUpdateKey("transaction.version", level, upgrade_type=type_)]
        answers.append(client.ask(UpdateFeaturesRequest(feature_updates=keys), 2))
    assert answers[0].error_code == ErrorCode.NONE
    return answers[1].error_code, answers[1].error_message


@pytest.mark.parametrize(
    ("mechanism", "settings"),
    [("PLAIN", {}), ("SCRAM-SHA-512", {"inter_broker_listener_name": BROKER_LISTENER})],
    ids=["as among controllers", "as among brokers"],
)
def test_a_controller_reads_what_is_in_use_with_credentials_of_its_own_or_of_brokers(mechanism, settings):
    code, message = lowered(a_cluster(mechanism, **settings))
    assert "transactional id paying has an open transaction (ongoing)" in message
    assert code == ErrorCode.INVALID_UPDATE_VERSION


def test_a_controller_that_brokers_do_not_know_says_so_and_lowers_nothing():
    code, message = lowered(a_cluster("SCRAM-SHA-512"))
    assert code == ErrorCode.FEATURE_UPDATE_FAILED
    assert "this cannot be read: __transaction_state-0: Failed authentication with node101:9092" in message
