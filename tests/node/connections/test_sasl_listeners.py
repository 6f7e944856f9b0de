"""What clients of SASL listeners may do, before and after they have said who they are."""

from __future__ import annotations

import struct
from base64 import b64encode
from random import Random

import pytest
from node_network import BROKER_LISTENER, CONTROLLER_LISTENER, NodeNetwork
from sasl_clients import SOFTWARE, add_scram_user, authenticate, logged_in, login, secured

from falkirk.node.config.node_config import BROKER
from falkirk.node.connections.authentication import SASL_HANDSHAKE
from falkirk.node.connections.sasl_listeners import AUTHENTICATION_TIMEOUT_MS, UNAUTHENTICATED_BYTES_MAX
from falkirk.protocol.connection import API_VERSIONS
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    CreateDelegationTokenRequest,
    DescribeClusterRequest,
    DescribeDelegationTokenRequest,
    DescribeGroupsRequest,
    ExpireDelegationTokenRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)

ALICE, BOB = login("PLAIN", "alice", "alice-secret"), login("PLAIN", "bob", "bob-secret")
LISTENERS = (CONTROLLER_LISTENER, BROKER_LISTENER)
GENERIC = "Authentication failed during authentication due to invalid credentials with SASL mechanism "


@pytest.fixture(scope="module")
def shared() -> NodeNetwork:
    network = secured(BROKER)
    add_scram_user(network, "carol", "carol-secret")
    return network


def principal_of(network: NodeNetwork, client) -> str:
    return str(network.hosts[1].running._clients._clients[client.connection_id].principal)


def reasons(network: NodeNetwork) -> list[str]:
    return [fact.fields["reason"] for fact in network.facts("authentication-failed")]


def header(api_key: int, version: int) -> bytes:
    body = struct.pack(">hhih", api_key, version, 1, -1) + bytes(40)
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize("version", range(3))
def test_a_client_says_who_it_is(shared: NodeNetwork, listener: str, version: int) -> None:
    client = shared.client(1, listener)
    assert authenticate(client, ALICE, version=version).error_code == 0
    assert principal_of(shared, client) == "User:alice"
    assert client.ask(DescribeClusterRequest(endpoint_type=2 if listener == CONTROLLER_LISTENER else 1), 1) is not None


def test_credentials_of_scram_come_from_the_metadata(shared: NodeNetwork) -> None:
    client = logged_in(shared, login("SCRAM-SHA-512", "carol", "carol-secret"))
    assert principal_of(shared, client) == "User:carol"


@pytest.mark.parametrize("listener", LISTENERS)
def test_versions_are_told_alike_before_and_after(shared: NodeNetwork, listener: str) -> None:
    client = shared.client(1, listener)
    for version in range(5):
        other = shared.client(1, listener)
        before = other.ask(SOFTWARE, version)
        assert authenticate(other, ALICE).error_code == 0
        assert other.ask(SOFTWARE, version) == before
        assert {SASL_HANDSHAKE, 36, 1} <= {api.api_key for api in before.api_keys}
    assert not client.is_closed


def test_versions_that_nobody_knows_may_be_asked_for_first(shared: NodeNetwork) -> None:
    client = shared.client(1)
    got: list[bytes] = []
    client.receive = got.append
    client.send_bytes(header(API_VERSIONS, 99))
    shared.settle()
    (answer,) = got
    assert answer[8:10] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
    assert not client.is_closed


@pytest.mark.parametrize("listener", LISTENERS)
def test_every_api_but_three_closes_a_connection_that_is_not_authenticated(
    shared: NodeNetwork, listener: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = shared.hosts[1].running._clients
    handled: list[int] = []
    handle = clients._handle
    monkeypatch.setattr(
        clients, "_handle", lambda request: (handled.append(request.client.connection_id), handle(request))
    )
    asked = []
    for api_key in (*range(100), -1, 1000):
        if api_key in {API_VERSIONS, SASL_HANDSHAKE}:
            continue
        for version in (0, 1, 4):
            client = shared.client(1, listener)
            asked.append(client)
            client.send_bytes(header(api_key, version))
    shared.run_for(200)
    assert all(client.is_closed for client in asked)
    assert all(client.answers == {} for client in asked)
    # The node's own peers may ask on meanwhile; none of these came to a handler.
    assert not {client.connection_id for client in asked} & set(handled)


@pytest.mark.parametrize("api_key", [18, 60])
def test_what_cannot_be_read_in_the_place_of_a_token_only_ends_the_connection(
    shared: NodeNetwork, api_key: int
) -> None:
    client = shared.client(1, BROKER_LISTENER)
    client.ask(SaslHandshakeRequest("PLAIN"), 1)
    client.send_bytes(header(api_key, 4))
    shared.run_for(200)
    assert client.is_closed


@pytest.mark.parametrize(
    ("request_", "version"), [(SOFTWARE, 3), (DescribeClusterRequest(), 0), (SaslHandshakeRequest("PLAIN"), 1)]
)
def test_another_request_in_the_place_of_a_token_is_answered_and_ends_the_connection(
    shared: NodeNetwork, request_, version: int
) -> None:
    client = shared.client(1, BROKER_LISTENER)
    client.ask(SaslHandshakeRequest("PLAIN"), 1)
    correlation_id = client.send(request_, version)
    shared.run_for(200)
    assert client.is_closed
    assert client.answers[correlation_id].error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_a_large_request_in_the_place_of_a_token_is_not_read(shared: NodeNetwork) -> None:
    client = shared.client(1, BROKER_LISTENER)
    client.ask(SaslHandshakeRequest("PLAIN"), 1)
    client.send(DescribeGroupsRequest(groups=("",) * 5_000), 5)
    shared.run_for(200)
    assert client.is_closed
    assert len(client.answers) == 0
    assert "more elements" in reasons(shared)[-1]


def test_versions_are_not_asked_for_twice(shared: NodeNetwork) -> None:
    client = shared.client(1)
    client.ask(SOFTWARE, 4)
    client.send(SOFTWARE, 4)
    shared.run_for(200)
    assert client.is_closed
    assert client.answers == {}


@pytest.mark.parametrize(
    ("who", "told"),
    [
        (login("PLAIN", "alice", "wrong"), "Authentication failed: Invalid username or password"),
        (login("PLAIN", "nobody", "wrong"), "Authentication failed: Invalid username or password"),
        (login("SCRAM-SHA-512", "carol", "wrong"), f"{GENERIC}SCRAM-SHA-512"),
        (login("SCRAM-SHA-512", "nobody", "wrong"), f"{GENERIC}SCRAM-SHA-512"),
        (login("SCRAM-SHA-256", "carol", "carol-secret"), f"{GENERIC}SCRAM-SHA-256"),
        (login("SCRAM-SHA-512", "token", "wrong", is_token=True), f"{GENERIC}SCRAM-SHA-512"),
    ],
)
def test_who_is_not_known_and_who_has_a_wrong_password_are_refused_alike(
    shared: NodeNetwork, who: object, told: str
) -> None:
    client = shared.client(1)
    before_ms = shared.now_ms
    answer = authenticate(client, who)
    assert (answer.error_code, answer.error_message) == (ErrorCode.SASL_AUTHENTICATION_FAILED, told)
    assert shared.now_ms - before_ms >= 100
    shared.settle()
    assert client.is_closed


def test_what_comes_after_a_refusal_is_not_read(shared: NodeNetwork) -> None:
    client = shared.client(1)
    client.ask(SaslHandshakeRequest("PLAIN"), 1)
    client.send(SaslAuthenticateRequest(b"\0alice\0wrong"), 2)
    client.send(SaslAuthenticateRequest(b"\0alice\0alice-secret"), 2)
    shared.run_for(200)
    assert [answer.error_code for answer in client.answers.values()] == [ErrorCode.SASL_AUTHENTICATION_FAILED]
    assert client.is_closed


def test_a_mechanism_that_is_not_enabled_is_answered_with_those_that_are(shared: NodeNetwork) -> None:
    client = shared.client(1)
    answer = client.ask(SaslHandshakeRequest("GSSAPI"), 1)
    assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert list(answer.mechanisms) == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    shared.settle()
    assert client.is_closed


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_behind_the_oldest_handshake_tokens_have_no_headers(shared: NodeNetwork, mechanism: str) -> None:
    client = shared.client(1)
    who = ALICE if mechanism == "PLAIN" else login(mechanism, "carol", "carol-secret")
    client.ask(SaslHandshakeRequest(mechanism), 0)
    got: list[bytes] = []
    receive, client.receive = client.receive, got.append
    side = who.start(Random(3))
    token: bytes | None = side.first()
    while token is not None:
        client.send_bytes(struct.pack(">i", len(token)) + token)
        shared.settle()
        data = got.pop()
        assert struct.unpack_from(">i", data) == (len(data) - 4,)
        token = side.evaluate(data[4:])
    client.receive = receive
    assert side.is_complete
    assert client.ask(DescribeClusterRequest(endpoint_type=2), 1) is not None


def test_a_raw_token_that_is_wrong_is_answered_with_nothing(shared: NodeNetwork) -> None:
    client = shared.client(1)
    client.ask(SaslHandshakeRequest("PLAIN"), 0)
    client.send_bytes(struct.pack(">i", 14) + b"\0alice\0wrong!!")
    shared.run_for(200)
    assert client.is_closed
    assert client.answers == {}


def test_an_exchange_may_come_in_one_piece(shared: NodeNetwork) -> None:
    client = shared.client(1)
    data = b"".join(
        client.connection.send_request(*request)[1]
        for request in (
            (SOFTWARE, 4),
            (SaslHandshakeRequest("PLAIN"), 1),
            (SaslAuthenticateRequest(b"\0alice\0alice-secret"), 2),
            (DescribeClusterRequest(endpoint_type=2), 1),
        )
    )
    client.send_bytes(data)
    shared.settle()
    assert [type(answer).__name__ for answer in client.answers.values()] == [
        "ApiVersionsResponse",
        "SaslHandshakeResponse",
        "SaslAuthenticateResponse",
        "DescribeClusterResponse",
    ]


@pytest.mark.parametrize("listener", LISTENERS)
def test_who_is_authenticated_for_good_may_not_begin_anew(shared: NodeNetwork, listener: str) -> None:
    client = logged_in(shared, ALICE, listener)
    assert client.ask(SaslHandshakeRequest("PLAIN"), 1).error_code == ErrorCode.ILLEGAL_SASL_STATE
    answer = client.ask(SaslAuthenticateRequest(b"\0bob\0bob-secret"), 2)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert answer.error_message == "SaslAuthenticate request received after successful authentication"
    assert principal_of(shared, client) == "User:alice"


# --- Limits


def test_a_large_frame_is_not_taken_before_authentication_but_after_it(shared: NodeNetwork) -> None:
    client = shared.client(1)
    client.send_bytes(struct.pack(">i", 524289))
    shared.run_for(200)
    assert client.is_closed
    assert "a frame of 524289 bytes, the limit is 524288" in reasons(shared)[-1]
    other = logged_in(shared, ALICE)
    other.send_bytes(struct.pack(">i", 524289))
    shared.run_for(200)
    assert not other.is_closed


def test_who_does_not_authenticate_is_sent_away_however_busy_it_is(shared: NodeNetwork) -> None:
    client, faithful = shared.client(1), logged_in(shared, ALICE)
    client.send_bytes(struct.pack(">i", 1000))
    for _ in range(10):
        shared.run_for(AUTHENTICATION_TIMEOUT_MS // 10)
        client.send_bytes(b"x")
    shared.run_for(10)
    assert client.is_closed
    assert not faithful.is_closed


def test_clients_that_are_not_authenticated_hold_little_together(shared: NodeNetwork) -> None:
    count = UNAUTHENTICATED_BYTES_MAX // 500_000 + 5
    clients = [shared.client(1) for _ in range(count)]
    for client in clients:
        client.send_bytes(struct.pack(">i", 520_000) + bytes(500_000))
        shared.settle()
    honest = logged_in(shared, ALICE)
    held = shared.hosts[1].running._clients._sasl._pending_bytes_sum
    assert 0 < held <= UNAUTHENTICATED_BYTES_MAX
    assert 5 <= sum(client.is_closed for client in clients) < count
    assert not honest.is_closed
    for client in clients:
        shared.disconnect(client)
    shared.settle()
    assert shared.hosts[1].running._clients._sasl._pending_bytes_sum == 0


# --- Sessions


@pytest.mark.slow
def test_nodes_authenticate_to_each_other_and_anew_before_their_sessions_end() -> None:
    network = secured(count=3, max_reauth_ms={"PLAIN": 2_000})
    leader = network.active
    network.run_for(30_000)
    assert network.active is leader
    assert network.facts("session-expired") == []
    assert network.facts("authentication-failed") == []
    assert network.facts("peer-disconnected") == []


def test_a_session_that_has_ended_is_closed_at_the_next_request() -> None:
    network = secured(max_reauth_ms={"PLAIN": 5_000})
    client = network.client(1)
    assert authenticate(client, ALICE).session_lifetime_ms == 5_000
    network.run_for(4_900)
    assert client.ask(DescribeClusterRequest(endpoint_type=2), 1) is not None
    network.run_for(200)
    client.send(DescribeClusterRequest(endpoint_type=2), 1)
    network.settle()
    assert client.is_closed
    assert [fact.fields["reason"] for fact in network.facts("session-expired")] == [
        "the session of User:alice has ended"
    ]


def test_a_client_authenticates_anew_even_after_the_end_but_as_who_it_was() -> None:
    network = secured(max_reauth_ms={"PLAIN": 5_000})
    client, other, third = (logged_in(network, ALICE) for _ in range(3))
    network.run_for(6_000)
    assert authenticate(client, ALICE).session_lifetime_ms == 5_000
    assert client.ask(DescribeClusterRequest(endpoint_type=2), 1) is not None
    refused = authenticate(other, BOB)
    assert refused.error_message == "Cannot change principals during re-authentication from User.alice: User.bob"
    assert third.ask(SaslHandshakeRequest("SCRAM-SHA-512"), 1).error_code == 0
    third.send(SaslAuthenticateRequest(b""), 2)
    network.run_for(200)
    assert other.is_closed
    assert third.is_closed


def test_not_more_often_than_once_a_second() -> None:
    network = secured(max_reauth_ms={"PLAIN": 5_000})
    client = logged_in(network, ALICE)
    assert authenticate(client, ALICE).error_code == 0
    assert client.ask(SaslHandshakeRequest("PLAIN"), 1).error_code == ErrorCode.ILLEGAL_SASL_STATE
    network.run_for(1_000)
    assert authenticate(client, ALICE).error_code == 0


# --- Delegation tokens


def test_a_token_stands_for_its_owner_until_it_ends() -> None:
    network = secured(BROKER, delegation_token_secret_key="key", properties={"delegation.token.secret.key": "key"})  # noqa: S106 - a test's
    owner = logged_in(network, ALICE, BROKER_LISTENER)
    made = owner.ask(CreateDelegationTokenRequest(max_lifetime_ms=60_000), 3)
    assert made.error_code == 0
    node = network.hosts[1].running
    network.run_until(lambda: made.token_id in node.image.delegation_tokens.tokens)
    bearer = token_login(made)

    client = network.client(1, BROKER_LISTENER)
    assert 0 < authenticate(client, bearer).session_lifetime_ms <= 60_000
    assert principal_of(network, client) == "User:alice"
    for request, version in ((CreateDelegationTokenRequest(), 3), (DescribeDelegationTokenRequest(), 3)):
        assert client.ask(request, version).error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    tokens = owner.ask(DescribeDelegationTokenRequest(owners=None), 3).tokens
    assert [(token.token_id, token.hmac) for token in tokens] == [(made.token_id, made.hmac)]

    assert owner.ask(ExpireDelegationTokenRequest(made.hmac, -1), 2).error_code == 0
    network.run_until(lambda: made.token_id not in node.image.delegation_tokens.tokens)
    refused = authenticate(network.client(1, BROKER_LISTENER), bearer)
    assert refused.error_message == f"{GENERIC}SCRAM-SHA-256"


@pytest.mark.parametrize(("max_reauth_ms", "lifetime_ms"), [(3_000, 3_000), (60_000, 5_000), (None, 5_000)])
def test_a_session_ends_with_its_token_or_before(max_reauth_ms: int | None, lifetime_ms: int) -> None:
    limits = {} if max_reauth_ms is None else {"SCRAM-SHA-256": max_reauth_ms}
    network = secured(BROKER, delegation_token_secret_key="key", max_reauth_ms=limits)  # noqa: S106 - a test's
    made = logged_in(network, ALICE, BROKER_LISTENER).ask(CreateDelegationTokenRequest(max_lifetime_ms=5_000), 3)
    node = network.hosts[1].running
    network.run_until(lambda: made.token_id in node.image.delegation_tokens.tokens)
    client = network.client(1, BROKER_LISTENER)
    granted_ms = authenticate(client, token_login(made)).session_lifetime_ms
    assert lifetime_ms - 1_000 < granted_ms <= lifetime_ms
    network.run_for(granted_ms - 100)
    assert client.ask(DescribeDelegationTokenRequest(), 3) is not None
    network.run_for(200)
    client.send(DescribeDelegationTokenRequest(), 3)
    network.settle()
    assert client.is_closed


def test_a_token_that_has_expired_is_no_credential() -> None:
    network = secured(BROKER, delegation_token_secret_key="key")  # noqa: S106 - a test's
    made = logged_in(network, ALICE, BROKER_LISTENER).ask(CreateDelegationTokenRequest(max_lifetime_ms=5_000), 3)
    network.run_for(6_000)
    assert made.token_id in network.hosts[1].running.image.delegation_tokens.tokens
    refused = authenticate(network.client(1, BROKER_LISTENER), token_login(made))
    assert refused.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


def token_login(made):
    return login("SCRAM-SHA-256", made.token_id, b64encode(made.hmac).decode(), is_token=True)
