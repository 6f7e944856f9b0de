"""The handshake of a client, against responses that are made by hand."""

from random import Random

import pytest

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from falkirk.protocol.messages.api_versions_response import ApiVersion
from falkirk.protocol.sasl.client_exchange import NextRequest, SaslRefusal
from falkirk.protocol.sasl.login import Login
from falkirk.versions.client_handshake import ClientHandshake, ConnectionReady, VersionsRefusal
from falkirk.versions.supported_range import SupportedRange

REQUEST = ApiVersionsRequest(client_software_name="test")
UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION


def handshake(**changed):
    return ClientHandshake(REQUEST, SupportedRange(0, 4), **{"login": None, "random": Random(1), **changed})


def answer(error_code=ErrorCode.NONE, **offered):
    keys = {"api_versions": 18, "fetch": 1, "handshake": 17, "authenticate": 36}
    return ApiVersionsResponse(
        error_code=error_code, api_keys=[ApiVersion(keys[name], *versions) for name, versions in offered.items()]
    )


def test_without_a_login_versions_are_all_that_is_asked():
    client = handshake()
    assert client.begin() == NextRequest(REQUEST, 4)
    assert client.offered is None
    assert client.receive(answer(fetch=(4, 17), handshake=(1, 0))) == ConnectionReady()
    assert client.offered == {1: SupportedRange(4, 17)}


@pytest.mark.parametrize(
    ("offered", "asked"),
    [({"api_versions": (0, 2)}, 2), ({}, 0), ({"api_versions": (0, 9)}, 3), ({"api_versions": (0, -1)}, 0)],
)
def test_a_version_that_the_server_lacks_is_asked_again_in_a_lower_one(offered, asked):
    client = handshake()
    client.begin()
    assert client.receive(answer(UNSUPPORTED, **offered)) == NextRequest(REQUEST, asked)


def test_a_server_that_lacks_all_versions_is_given_up():
    client = handshake(avoided=frozenset({2, 3, 4}))
    assert client.begin() == NextRequest(REQUEST, 1)
    assert client.receive(answer(UNSUPPORTED)) == NextRequest(REQUEST, 0)
    assert client.receive(answer(UNSUPPORTED)) == VersionsRefusal(UNSUPPORTED)
    assert handshake(avoided=frozenset(range(5))).begin() == VersionsRefusal(UNSUPPORTED)


def test_another_error_ends_the_handshake():
    client = handshake()
    client.begin()
    assert client.receive(answer(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)) == VersionsRefusal(
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    )


def test_a_login_authenticates_and_does_so_again_on_the_same_connection():
    client = handshake(login=Login("PLAIN", ("alice", "secret")))
    client.begin()
    step = client.receive(answer(handshake=(0, 1), authenticate=(0, 2)))
    for _ in range(2):
        assert step == NextRequest(SaslHandshakeRequest("PLAIN"), 1)
        step = client.receive(SaslHandshakeResponse())
        assert step == NextRequest(SaslAuthenticateRequest(b"\0alice\0secret"), 2)
        step = client.receive(SaslAuthenticateResponse(session_lifetime_ms=1000))
        assert isinstance(step, ConnectionReady)
        assert step.reauthenticate_after_ms is not None
        assert 850 <= step.reauthenticate_after_ms <= 950
        step = client.reauthenticate()


def test_a_server_without_sasl_refuses_a_login():
    client = handshake(login=Login("PLAIN", ("alice", "secret")))
    client.begin()
    assert client.receive(answer(fetch=(4, 17))) == SaslRefusal("the other side does not offer what SASL needs")
