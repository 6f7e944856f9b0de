"""Nodes with SASL listeners, and clients that authenticate."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from node_network import BROKER_LISTENER, CONTROLLER_LISTENER, NodeNetwork, controller_endpoint

from falkirk.node.config.node_config import BROKER, CONTROLLER
from falkirk.node.config.security_settings import ListenerSecurity, SecuritySettings
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
    UserScramCredentialRecord,
)
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.sasl.jaas_config import PLAIN_LOGIN_MODULE, SCRAM_LOGIN_MODULE
from falkirk.protocol.sasl.login import read_login
from falkirk.protocol.sasl.scram_mechanism import SCRAM_MECHANISMS, make_credential

if TYPE_CHECKING:
    from node_network import Client

    from falkirk.protocol.sasl.login import Login

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PLAIN_USERS = {"admin": "admin-secret", "alice": "alice-secret", "bob": "bob-secret"}
SOFTWARE = ApiVersionsRequest(client_software_name="tester", client_software_version="1.0")


def login(mechanism: str, name: str, password: str, *, is_token: bool = False) -> Login:
    module = PLAIN_LOGIN_MODULE if mechanism == "PLAIN" else SCRAM_LOGIN_MODULE
    token = " tokenauth=true" if is_token else ""
    return read_login(mechanism, f'{module} required username="{name}" password="{password}"{token};')


def secured(*roles: str, count: int = 1, max_reauth_ms: dict[str, int] | None = None, **settings: Any) -> NodeNetwork:
    """Start controllers that authenticate to each other with PLAIN, the first of them with more roles."""
    security = ListenerSecurity(mechanisms=MECHANISMS, plain_users=PLAIN_USERS, max_reauth_ms=max_reauth_ms or {})
    config = SecuritySettings(
        listeners={CONTROLLER_LISTENER: security, BROKER_LISTENER: security},
        logins={CONTROLLER_LISTENER: login("PLAIN", "admin", "admin-secret")},
    )
    network = NodeNetwork(release="4.3")
    voters = {node_id: controller_endpoint(node_id) for node_id in range(1, count + 1)}
    for node_id in voters:
        own = {CONTROLLER, *roles} if node_id == 1 else {CONTROLLER}
        host = network.add(node_id, roles=own, quorum_voters=voters, security=config, **settings)
        listeners = tuple(replace(one, security_protocol="SASL_PLAINTEXT") for one in host.config.listeners)
        host.config = replace(host.config, listeners=listeners)
        network.start(node_id)
    network.run_until(lambda: network.active is not None)
    if BROKER in roles:
        network.run_until(lambda: any(fact.fields.get("to") == "RUNNING" for fact in network.hosts[1].facts))
    return network


def add_scram_user(network: NodeNetwork, name: str, password: str, mechanism: str = "SCRAM-SHA-512") -> None:
    """Append a credential, and wait until the active controller has applied it."""
    scram = SCRAM_MECHANISMS[mechanism]
    made = make_credential(scram, password, b"salt", 4096)
    record = UserScramCredentialRecord(name, scram.number, made.salt, made.stored_key, made.server_key, made.iterations)
    assert network.active is not None
    node = network.active.running
    offset = node.raft.append([encode_metadata_record(record, 0)], network.now_ms)
    network.run_until(lambda: node.image.provenance.end_offset > offset)


def authenticate(client: Client, who: Login, *, version: int = 2) -> Any:
    """Complete an authentication exchange; return the last response."""
    handshake = client.ask(SaslHandshakeRequest(who.mechanism), 1)
    assert handshake.error_code == 0, handshake
    side = who.start(Random(7))
    token: bytes | None = side.first()
    answer = None
    while token is not None:
        answer = client.ask(SaslAuthenticateRequest(token), version)
        if answer.error_code:
            return answer
        token = side.evaluate(answer.auth_bytes)
    return answer


def logged_in(network: NodeNetwork, who: Login, listener: str = CONTROLLER_LISTENER) -> Client:
    """Connect as a user."""
    client = network.client(1, listener)
    answer = authenticate(client, who)
    assert answer.error_code == 0, answer
    return client
