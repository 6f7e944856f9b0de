import pytest

from falkirk.client.config import ClientConfig, parse_servers
from falkirk.client.errors import ClientConfigError
from falkirk.protocol.endpoint import Endpoint


def test_properties_are_read_under_kafkas_names_and_others_passed_over():
    config = ClientConfig.from_properties(
        {"client.id": "me", "request.timeout.ms": "5", "acks": "all", "avoid.api.versions": "Metadata:9-10"}
    )
    assert config == ClientConfig(client_id="me", request_timeout_ms=5, avoided={3: frozenset({9, 10})})
    assert ClientConfig.from_properties({}) == ClientConfig()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("request.timeout.ms", "soon"),
        ("request.timeout.ms", "0"),
        ("socket.connection.setup.timeout.ms", "-1"),
        ("avoid.api.versions", "Metadatum:1"),
    ],
)
def test_a_bad_value_is_named_with_its_key(name, value):
    with pytest.raises(ClientConfigError) as refused:
        ClientConfig.from_properties({name: value})
    assert name in str(refused.value)
    assert value in str(refused.value)


def test_servers_are_hosts_and_ports():
    assert parse_servers("a:1, b.c:65535,[::1]:9092,") == (
        Endpoint("a", 1),
        Endpoint("b.c", 65535),
        Endpoint("::1", 9092),
    )


@pytest.mark.parametrize("text", ["", ",", "a", "a:", ":1", "a:0", "a:65536", "a:x", "::1:9092", "[::1:9092"])
def test_anything_else_is_no_server(text):
    with pytest.raises(ClientConfigError):
        parse_servers(text)
