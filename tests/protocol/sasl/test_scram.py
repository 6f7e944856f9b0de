"""SCRAM, both sides: the example of RFC 7677, everything that a peer may get wrong, and what an attacker may learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.protocol.sasl.errors import AuthenticationFailedError
from falkirk.protocol.sasl.scram_client import ScramClient, ScramPassword
from falkirk.protocol.sasl.scram_mechanism import SCRAM_MECHANISMS, make_credential, unknown_credential
from falkirk.protocol.sasl.scram_messages import escape_name, parse_client_first, unescape_name
from falkirk.protocol.sasl.scram_server import ScramLogin, ScramServer
from falkirk.protocol.sasl.server import Authenticated

if TYPE_CHECKING:
    from falkirk.protocol.sasl.scram_mechanism import ScramMechanism

SHA_256 = SCRAM_MECHANISMS["SCRAM-SHA-256"]
SHA_512 = SCRAM_MECHANISMS["SCRAM-SHA-512"]
NAMES = st.text(st.characters(min_codepoint=1, max_codepoint=127), min_size=1)


def server(
    mechanism: ScramMechanism, password: str, *, name: str = "alice", is_token: bool = False, iterations: int = 4096
) -> ScramServer:
    credential = make_credential(mechanism, password, b"salt", iterations)
    login = ScramLogin(credential, Authenticated("User", "owner" if is_token else name, is_token=is_token))
    return ScramServer(
        mechanism,
        lambda asked, token: login if (asked, token) == (name, is_token) else None,
        nonce="server",
        secret=b"secret",
    )


def exchange(client: ScramClient, side: ScramServer) -> None:
    token: bytes | None = client.first()
    while token is not None:
        token = client.evaluate(side.evaluate(token))
    assert client.is_complete


def failure(client: ScramClient, side: ScramServer) -> str:
    with pytest.raises(AuthenticationFailedError) as error:
        exchange(client, side)
    assert side.authenticated is None
    return str(error.value)


def client(mechanism: ScramMechanism, name: str, password: str, *, is_token: bool = False) -> ScramClient:
    return ScramClient(ScramPassword(mechanism, name, password, is_token=is_token), nonce="client")


def test_a_client_says_what_rfc_7677_says() -> None:
    side = ScramClient(ScramPassword(SHA_256, "user", "pencil"), nonce="rOprNGfwEbeRWgbNEkqO")
    assert side.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    final = side.evaluate(b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    assert final == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert side.evaluate(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None
    assert side.is_complete


@pytest.mark.parametrize("mechanism", [SHA_256, SHA_512])
def test_who_has_the_password_is_authenticated(mechanism: ScramMechanism) -> None:
    side = server(mechanism, "pass=word,")
    exchange(client(mechanism, "alice", "pass=word,"), side)
    assert side.authenticated == Authenticated("User", "alice")


def test_a_name_may_have_commas_and_equals_signs() -> None:
    side = server(SHA_256, "secret", name="a,b=c")
    exchange(client(SHA_256, "a,b=c", "secret"), side)
    assert side.authenticated == Authenticated("User", "a,b=c")


@given(NAMES)
def test_names_are_read_as_they_were_written(name: str) -> None:
    assert unescape_name(escape_name(name)) == name
    assert parse_client_first(f"n,,n={escape_name(name)},r=nonce".encode()).name == name


def test_a_token_stands_for_its_owner() -> None:
    side = server(SHA_256, "hmac", name="token-id", is_token=True)
    exchange(client(SHA_256, "token-id", "hmac", is_token=True), side)
    assert side.authenticated == Authenticated("User", "owner", is_token=True)


def test_the_id_of_a_token_is_no_user() -> None:
    assert "Invalid user" in failure(
        client(SHA_256, "token-id", "hmac"), server(SHA_256, "hmac", name="token-id", is_token=True)
    )


def test_an_unknown_user_is_answered_as_one_with_a_wrong_password_is() -> None:
    known, unknown = server(SHA_256, "secret"), server(SHA_256, "secret")
    for side, name in ((known, "alice"), (unknown, "nobody")):
        first = side.evaluate(client(SHA_256, name, "wrong").first())
        assert first.startswith(b"r=clientserver,s=")
        assert first.endswith(b",i=4096")
    assert failure(client(SHA_256, "alice", "wrong"), server(SHA_256, "secret")).startswith("Authentication failed")
    with pytest.raises(AuthenticationFailedError) as refused:
        exchange(client(SHA_256, "nobody", "wrong"), server(SHA_256, "secret"))
    assert refused.value.client_message is None


def test_an_unknown_user_has_always_the_same_salt() -> None:
    made = unknown_credential(SHA_512, b"secret", "nobody")
    assert made == unknown_credential(SHA_512, b"secret", "nobody")
    assert made.salt != unknown_credential(SHA_512, b"secret", "somebody").salt
    assert made.salt != unknown_credential(SHA_512, b"other", "nobody").salt
    assert made.salt.isalnum()


@pytest.mark.parametrize(
    "token",
    [b"", b"n,,", b"y,,n=a,r=b", b"p=tls-unique,,n=a,r=b", b"n,,n=,r=b", b"n,,n=a", b"n,,m=x,n=a,r=b", b"n,,n=a=,r=b",
     b"n,,n=\xc3\xa4,r=b", b"n,,n=a,r=b,", b"n,,n=a,r=b,x", b"\xff\xfe", b"n,,n=a,r=b\n"],
)  # fmt: skip
def test_a_first_message_that_is_none_is_refused(token: bytes) -> None:
    with pytest.raises(AuthenticationFailedError, match="client first message format"):
        server(SHA_256, "secret").evaluate(token)


@pytest.mark.parametrize(
    "token", [b"", b"c=biws,r=clientserver", b"c=biws,r=clientserver,p=?", b"c=b,r=clientserver,p=AAAA"]
)
def test_a_final_message_that_is_none_is_refused(token: bytes) -> None:
    side = server(SHA_256, "secret")
    side.evaluate(client(SHA_256, "alice", "secret").first())
    with pytest.raises(AuthenticationFailedError, match="client final message format"):
        side.evaluate(token)


@pytest.mark.parametrize("proof", [b"", b"AAAA", b"A" * 44, b"A" * 88])
def test_a_proof_of_any_length_that_is_not_right_is_refused(proof: bytes) -> None:
    side = server(SHA_256, "secret")
    side.evaluate(client(SHA_256, "alice", "secret").first())
    with pytest.raises(AuthenticationFailedError, match="Invalid client credentials"):
        side.evaluate(b"c=biws,r=clientserver,p=" + proof)


def test_a_right_proof_with_bytes_behind_it_is_refused() -> None:
    side, other = server(SHA_256, "secret"), client(SHA_256, "alice", "secret")
    final = other.evaluate(side.evaluate(other.first()))
    assert final is not None
    with pytest.raises(AuthenticationFailedError):
        side.evaluate(final[:-1] + b"A")


def test_a_nonce_that_is_not_ours_is_refused() -> None:
    side = server(SHA_256, "secret")
    side.evaluate(client(SHA_256, "alice", "secret").first())
    with pytest.raises(AuthenticationFailedError, match="Invalid client nonce"):
        side.evaluate(b"c=biws,r=clientother,p=AAAA")


@pytest.mark.parametrize("binding", [b"", b"eSws", b"bixhPWFsaWNlLA==", b"cD10bHMtdW5pcXVlLCw="])
def test_a_channel_binding_that_is_not_the_header_of_the_first_message_is_refused(binding: bytes) -> None:
    side = server(SHA_256, "secret")
    side.evaluate(client(SHA_256, "alice", "secret").first())
    with pytest.raises(AuthenticationFailedError, match="Invalid channel binding"):
        side.evaluate(b"c=" + binding + b",r=clientserver,p=AAAA")


def test_the_header_that_comes_again_has_the_authorization_id() -> None:
    side = server(SHA_256, "secret")
    side.evaluate(b"n,a=alice," + client(SHA_256, "alice", "secret").first()[3:])
    with pytest.raises(AuthenticationFailedError, match="Invalid client credentials"):
        side.evaluate(b"c=bixhPWFsaWNlLA==,r=clientserver,p=AAAA")


def test_nobody_may_act_as_another() -> None:
    with pytest.raises(AuthenticationFailedError) as error:
        server(SHA_256, "secret").evaluate(b"n,a=bob,n=alice,r=client")
    assert error.value.client_message is not None
    assert "authorization id" in error.value.client_message


def test_a_credential_of_too_few_iterations_is_not_used() -> None:
    assert "less than the minimum 4096" in failure(
        client(SHA_256, "alice", "secret"), server(SHA_256, "secret", iterations=4095)
    )


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        (b"r=other,s=c2FsdA==,i=4096", "Invalid server nonce"),
        (b"r=clientserver,s=c2FsdA==,i=4095", "less than the minimum 4096"),
        (b"r=clientserver,s=c2FsdA==,i=999999999", "more than the maximum"),
        (b"r=clientserver,s=c2FsdA==,i=0", "less than the minimum"),
        (b"r=clientserver,s=?,i=4096", "format"),
        (b"", "format"),
    ],
)
def test_a_client_does_not_do_what_a_false_server_asks(token: bytes, reason: str) -> None:
    side = client(SHA_256, "alice", "secret")
    with pytest.raises(AuthenticationFailedError, match=reason):
        side.evaluate(token)


def test_a_client_does_not_believe_a_server_that_does_not_know_the_password() -> None:
    side, other = client(SHA_256, "alice", "secret"), server(SHA_256, "secret")
    side.evaluate(other.evaluate(side.first()))
    for token in (b"v=AAAA", b"v=", b"x", b"e=other-error"):
        with pytest.raises(AuthenticationFailedError):
            side.evaluate(token)
    assert not side.is_complete


@given(st.binary(max_size=64), st.binary(max_size=64))
def test_no_bytes_do_anything_but_fail(first: bytes, second: bytes) -> None:
    side = server(SHA_256, "secret")
    with pytest.raises(AuthenticationFailedError):
        side.evaluate(first)
    side.evaluate(b"n,,n=alice,r=client")
    with pytest.raises(AuthenticationFailedError):
        side.evaluate(second)
    assert side.authenticated is None


def test_the_slow_part_is_done_once_for_a_salt() -> None:
    password = ScramPassword(SHA_256, "alice", "secret")
    assert password.salted(b"salt", 4096) is password.salted(b"salt", 4096)
    assert password.salted(b"salt", 4096) != password.salted(b"other", 4096)
