"""What somebody gets who is authenticated and stands in no ACL: every API of both kinds of listeners, one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from every_api import SHORT, TABLE, request_of
from node_network import BROKER_LISTENER, CONTROLLER_LISTENER, NodeNetwork
from sasl_clients import logged_in, login, secured

from falkirk.node.config.node_config import BROKER
from falkirk.protocol.error_codes import error_name
from falkirk.protocol.messages import REQUESTS, CreateTopicsRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.versions.api_support import Listener
from falkirk.versions.release import Release
from falkirk.versions.unbuilt import served_ranges

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.protocol.schema import WireStruct

RELEASE = Release.parse("4.3")
ROLES = {CONTROLLER_LISTENER: Listener.CONTROLLER, BROKER_LISTENER: Listener.BROKER}
# Controllers are for those who run the cluster: what a broker lets everybody do, or asks of topics.
ON_CONTROLLERS: dict[str, set[str]] = {"Fetch": {"CLUSTER"}, "DescribeCluster": {"CLUSTER"}}


@pytest.fixture(scope="module")
def network() -> NodeNetwork:
    network = secured(
        BROKER,
        authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        super_users="User:admin",
        delegation_token_secret_key="key",  # noqa: S106 - a test's
        properties={"delegation.token.secret.key": "key"},
    )
    admin = logged_in(network, login("PLAIN", "admin", "admin-secret"))
    created = admin.ask(CreateTopicsRequest([CreatableTopic("secret", 1, 1)], timeout_ms=1000), 7)
    assert [topic.error_code for topic in created.topics] == [0]
    network.run_for(1000)
    return network


def served() -> list[tuple[str, str, int]]:
    """Return listener, API and its highest version."""
    return [
        (listener, REQUESTS[key].removesuffix("Request"), versions.highest)
        for listener, role in ROLES.items()
        for key, versions in served_ranges(RELEASE, role).items()
    ]


def test_every_api_has_its_line() -> None:
    offered = {REQUESTS[key].removesuffix("Request") for role in ROLES.values() for key in RELEASE.api_ranges(role)}
    assert {api for _, api, _ in served()} <= TABLE.keys() <= offered


def codes(struct: WireStruct) -> Iterator[int]:
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if name.endswith("error_code"):
            yield value
        elif isinstance(value, list):
            for each in value:
                if hasattr(each, "__struct_fields__"):
                    yield from codes(each)


@pytest.mark.parametrize(("listener", "api", "version"), served())
def test_who_stands_in_no_acl_gets_what_kafka_gives(
    network: NodeNetwork, listener: str, api: str, version: int
) -> None:
    asked, expected = TABLE[api]
    if listener == CONTROLLER_LISTENER:
        expected = ON_CONTROLLERS.get(api, expected)
    topic = network.hosts[1].running.image.topics.topic("secret")
    assert topic is not None
    for named in (*(asked.get("topics") or ()), *asked.get("topic_data", ())):
        if "topic_id" in named:
            named["topic_id"] = topic.topic_id
    client = logged_in(network, login("PLAIN", "alice", "alice-secret"), listener)
    answer = client.ask(request_of(api, version, asked), version)
    assert {error_name(code) for code in codes(answer) if code} == {SHORT.get(name, name) for name in expected}
