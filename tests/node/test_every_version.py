"""Everything that a node says it serves it answers, in the version that was asked (KIP-35)."""

from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from message_strategies import even_message, message_strategy
from node_network import BROKER_LISTENER, CONTROLLER_LISTENER, NodeNetwork
from serving_cluster import BROKER_ID, PRODUCE, TOPIC, a_cluster, advertised

from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.messages import (
    REQUESTS,
    ApiVersionsRequest,
    ProduceRequest,
    message_class,
)
from falkirk.versions.release import all_releases

PROFILES = [release for release in all_releases() if release.tables.kraft is not None]
DATA_APIS = {0, 1, 2, 8, 9, 21, 23, 27, 28, 34, 35, 47, 61}


def request(key: int, version: int):
    """One of each list's elements, so that no handler gets away with an empty answer."""
    cls = message_class(REQUESTS[key])
    return even_message(message_layout(cls, version, None), 1, 1)


def named(message, topic_id: bytes):
    """Name the topic that there is wherever a topic is named."""
    for attribute in message.__struct_fields__:
        value = getattr(message, attribute)
        if attribute in {"name", "topic"}:
            setattr(message, attribute, TOPIC)
        elif attribute == "topic_id":
            message.topic_id = topic_id
        for element in value if isinstance(value, list) else ():
            named(element, topic_id)
    return message


def requests(network: NodeNetwork, key: int, version: int):
    """Requests of one version that want an answer."""
    made = [message_class(REQUESTS[key])(), request(key, version)]
    if key in DATA_APIS:
        topic = network.hosts[BROKER_ID].running.image.topics.topic(TOPIC)
        made.append(named(request(key, version), topic.topic_id))
    for message in made:
        if isinstance(message, ProduceRequest):
            message.acks = -1
    return made


def standby(network: NodeNetwork) -> int:
    return next(node_id for node_id in (1, 2, 3) if node_id != network.active.config.node_id)


def errors(network: NodeNetwork) -> list:
    return [fact for host in network.hosts.values() for fact in host.facts if fact.level == "error"]


@pytest.mark.slow
@pytest.mark.parametrize("release", PROFILES, ids=str)
def test_every_version_that_is_advertised_is_answered_in_that_version(release):
    network = a_cluster(release.name)
    asked = 0
    for node_id, listener in (
        (network.active.config.node_id, CONTROLLER_LISTENER),
        (standby(network), CONTROLLER_LISTENER),
        (BROKER_ID, BROKER_LISTENER),
    ):
        for key, versions in advertised(network, node_id, listener).items():
            for version in versions:
                for message in requests(network, key, version):
                    # Decoded in the version of the request, or the client raises.
                    answer = network.client(node_id, listener).ask(message, version)
                    assert answer.SCHEMA.info.key == key
                    asked += 1
    assert asked > 300
    assert errors(network) == []


def test_versions_of_produce_that_are_told_but_not_served_close_the_connection():
    network = a_cluster("4.0")
    answer = network.client(BROKER_ID, BROKER_LISTENER).ask(ApiVersionsRequest(), 0)
    told = next(api for api in answer.api_keys if api.api_key == PRODUCE)
    assert (told.min_version, told.max_version) == (0, 12)
    for version in (0, 1, 2):
        client = network.client(BROKER_ID, BROKER_LISTENER)
        client.send(ProduceRequest(None, 1), version)
        network.run_until(lambda client=client: client.is_closed)
    assert network.client(BROKER_ID, BROKER_LISTENER).ask(ProduceRequest(None, 1), 3).responses == []


@cache
def shared_cluster() -> NodeNetwork:
    return a_cluster("4.4")


@pytest.mark.slow
@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_no_request_whatever_it_says_makes_a_handler_fail(data):
    network = shared_cluster()
    network.run_until(lambda: network.active is not None)
    node_id, listener = data.draw(
        st.sampled_from([(network.active.config.node_id, CONTROLLER_LISTENER), (BROKER_ID, BROKER_LISTENER)])
    )
    served = advertised(network, node_id, listener)
    key = data.draw(st.sampled_from(sorted(served)))
    version = data.draw(st.sampled_from(served[key]))
    message = data.draw(message_strategy(message_class(REQUESTS[key]), version, None))
    if isinstance(message, ProduceRequest):
        message.acks = message.acks or 1
    answer = network.client(node_id, listener).ask(message, version)
    assert answer.SCHEMA.info.key == key
    assert errors(network) == []
