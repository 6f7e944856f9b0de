"""PLAIN: texts of refusals are Kafka's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.protocol.sasl.errors import AuthenticationFailedError
from falkirk.protocol.sasl.plain import PlainClient, PlainServer
from falkirk.protocol.sasl.server import Authenticated

USERS = {"alice": "secret", "empty": ""}


def test_who_has_the_password_is_authenticated() -> None:
    server, client = PlainServer(USERS), PlainClient("alice", "secret")
    client.evaluate(server.evaluate(client.first()))
    assert client.is_complete
    assert server.authenticated == Authenticated("User", "alice")


def test_one_may_say_that_one_acts_as_oneself() -> None:
    server = PlainServer(USERS)
    assert server.evaluate(b"alice\0alice\0secret") == b""
    assert server.authenticated is not None


@pytest.mark.parametrize(
    ("token", "told"),
    [
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0nobody\0secret", "Authentication failed: Invalid username or password"),
        (b"\0nobody\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0empty\0", "Authentication failed: password not specified"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"alice\0secret", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        (b"\0alice\0secret\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"\0a\0l\0i\0c\0e", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (
            b"bob\0alice\0secret",
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
    ],
)
def test_everybody_else_is_refused(token: bytes, told: str) -> None:
    server = PlainServer(USERS)
    with pytest.raises(AuthenticationFailedError) as error:
        server.evaluate(token)
    assert error.value.client_message == told
    assert server.authenticated is None


@given(st.binary(max_size=40))
def test_no_bytes_do_anything_but_fail(token: bytes) -> None:
    with pytest.raises(AuthenticationFailedError):
        PlainServer({}).evaluate(token)


def test_a_server_that_wants_more_is_none_of_kafkas() -> None:
    with pytest.raises(AuthenticationFailedError):
        PlainClient("alice", "secret").evaluate(b"more")
