"""A client's exchange, with every answer that a server may give."""

from __future__ import annotations

from random import Random

import pytest

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from falkirk.protocol.sasl.client_exchange import (
    NextRequest,
    SaslClientExchange,
    SaslRefusal,
    SaslSession,
    SaslStep,
)
from falkirk.protocol.sasl.login import Login
from falkirk.protocol.sasl.plain import PlainServer
from falkirk.protocol.sasl.scram_client import ScramPassword
from falkirk.protocol.sasl.scram_mechanism import SCRAM_MECHANISMS, make_credential
from falkirk.protocol.sasl.scram_server import ScramLogin, ScramServer
from falkirk.protocol.sasl.server import Authenticated, SaslServer

MECHANISM = SCRAM_MECHANISMS["SCRAM-SHA-256"]
PLAIN = Login("PLAIN", ("alice", "secret"))
SCRAM = Login("SCRAM-SHA-256", ScramPassword(MECHANISM, "alice", "secret"))
OFFERED = {17: range(2), 36: range(3)}
HANDSHAKE = SaslHandshakeResponse(mechanisms=["PLAIN"])


def begun(login: Login, offered: dict[int, range] = OFFERED) -> SaslClientExchange:
    """Return an exchange whose handshake was taken."""
    exchange = SaslClientExchange(login, offered, Random(7))
    assert exchange.begin() == NextRequest(SaslHandshakeRequest(login.mechanism), 1)
    return exchange


def scram_server() -> ScramServer:
    login = ScramLogin(make_credential(MECHANISM, "secret", b"salt", 4096), Authenticated("User", "alice"))
    return ScramServer(MECHANISM, lambda *_: login, nonce="server", secret=b"secret")


def finished(exchange: SaslClientExchange, server: SaslServer, *, lifetime_ms: int = 0) -> SaslStep:
    step = exchange.receive(HANDSHAKE)
    while isinstance(step, NextRequest):
        assert isinstance(step.message, SaslAuthenticateRequest)
        token = server.evaluate(bytes(step.message.auth_bytes))
        step = exchange.receive(SaslAuthenticateResponse(auth_bytes=token, session_lifetime_ms=lifetime_ms))
    return step


@pytest.mark.parametrize(
    ("login", "server"), [(PLAIN, PlainServer({"alice": "secret"})), (SCRAM, scram_server())], ids=["PLAIN", "SCRAM"]
)
def test_an_exchange_goes_on_until_both_sides_know_each_other(login: Login, server: SaslServer) -> None:
    assert finished(begun(login), server) == SaslSession(None)
    assert server.authenticated == Authenticated("User", "alice")


@pytest.mark.parametrize(("highest", "asked"), [(5, 2), (1, 1), (0, 0)])
def test_tokens_go_in_the_highest_version_that_both_sides_have(highest: int, asked: int) -> None:
    question = begun(PLAIN, {17: range(2), 36: range(highest + 1)}).receive(HANDSHAKE)

    assert question == NextRequest(SaslAuthenticateRequest(b"\0alice\0secret"), asked)


@pytest.mark.parametrize("offered", [{}, {17: range(2)}, {36: range(3)}, {17: range(1), 36: range(3)}])
def test_nothing_is_asked_of_a_server_without_the_versions(offered: dict[int, range]) -> None:
    exchange = SaslClientExchange(PLAIN, offered, Random(7))

    assert exchange.begin() == SaslRefusal("the other side does not offer what SASL needs")


@pytest.mark.parametrize("seed", range(5))
def test_a_session_that_ends_is_renewed_in_its_last_part(seed: int) -> None:
    exchange = SaslClientExchange(PLAIN, OFFERED, Random(seed))
    session = finished(exchange, PlainServer({"alice": "secret"}), lifetime_ms=100_000)

    assert isinstance(session, SaslSession)
    assert session.reauthenticate_after_ms is not None
    assert 85_000 <= session.reauthenticate_after_ms <= 95_000


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, ["GSSAPI", "SCRAM-SHA-512"]),
            "Client SASL mechanism 'PLAIN' not enabled in the server, enabled mechanisms are [GSSAPI, SCRAM-SHA-512]",
        ),
        (SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE), "the other side does not want SASL"),
        (SaslHandshakeResponse(ErrorCode.UNSUPPORTED_VERSION), "SaslHandshake: UNSUPPORTED_VERSION"),
    ],
)
def test_a_handshake_that_is_refused_ends_the_exchange(answer: SaslHandshakeResponse, reason: str) -> None:
    assert begun(PLAIN).receive(answer) == SaslRefusal(reason)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, "no such user"), "no such user"),
        (SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED), "SASL_AUTHENTICATION_FAILED"),
        (SaslAuthenticateResponse(auth_bytes=b"more"), "the server wants to go on after PLAIN"),
    ],
)
def test_a_token_that_is_refused_ends_the_exchange(answer: SaslAuthenticateResponse, reason: str) -> None:
    exchange = begun(PLAIN)
    exchange.receive(HANDSHAKE)

    assert exchange.receive(answer) == SaslRefusal(reason)


def test_a_server_that_does_not_know_the_password_is_refused() -> None:
    exchange = begun(SCRAM)
    first = exchange.receive(HANDSHAKE)
    assert isinstance(first, NextRequest)
    assert isinstance(first.message, SaslAuthenticateRequest)
    token = scram_server().evaluate(bytes(first.message.auth_bytes))
    exchange.receive(SaslAuthenticateResponse(auth_bytes=token))

    refusal = exchange.receive(SaslAuthenticateResponse(auth_bytes=b"v=AAAA"))

    assert refusal == SaslRefusal("Invalid server signature in server final message")
