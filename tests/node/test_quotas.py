"""Quotas of clients are enforced as a real 4.3.1 broker enforces them (`tests/interop/test_quotas.py`)."""

from data_plane_asker import BROKER_ID, NetworkAsker
from node_network import BROKER_LISTENER, NodeNetwork
from quota_story import QuotaStory

from falkirk.protocol.messages import (
    AlterClientQuotasRequest,
    ApiVersionsRequest,
    CreateTopicsRequest,
    DescribeClusterRequest,
)
from falkirk.protocol.messages.alter_client_quotas_request import EntityData, EntryData, OpData
from falkirk.protocol.messages.create_topics_request import CreatableTopic


def test_clients_are_throttled_and_refused_as_by_a_real_broker():
    assert list(QuotaStory(NetworkAsker("4.3.1")).outcomes()) == [
        ("create a with 24 at v7", "NONE", 0),
        ("create b with 1 at v7", "THROTTLING_QUOTA_EXCEEDED", 1000),
        ("create b with 4 at v7", "NONE", 0),
        ("create c with 10 at v7", "THROTTLING_QUOTA_EXCEEDED", 2000),
        ("create d with 3 at v7", "NONE", 0),
        ("create c with 20 at v5", "NONE", 11_500),
        ("add a partition at v3", "NONE", 0),
        ("add a partition at v2", "NONE", 1000),
        ("delete 26 at v5", "NONE", 0),
        ("delete 3 at v5", "THROTTLING_QUOTA_EXCEEDED", 13_000),
        ("produce 5000 bytes", "NONE", 0),
        ("produce 8000 bytes", "NONE", 3140),
        ("produce 10 bytes", "NONE", 3078),
        ("fetch from 1: 8 kB", "NONE", 0),
        ("fetch from 1: 0 kB", "NONE", 6140),
    ]


def set_quota(asker: NetworkAsker, kind: str, name: str | None, key: str, value: float) -> None:
    entry = EntryData([EntityData(kind, name)], [OpData(key, value, remove=False)])
    answer = asker.ask(AlterClientQuotasRequest([entry], validate_only=False), 1)
    assert answer.entries[0].error_code == 0
    image = asker.network.hosts[BROKER_ID].running
    asker.network.run_until(lambda: any(known == key for _, known, _ in image.image.client_quotas))


def test_the_next_request_of_a_throttled_client_waits_and_those_of_others_do_not():
    asker = NetworkAsker("4.3.1")
    network: NodeNetwork = asker.network
    set_quota(asker, "client-id", "tester", "controller_mutation_rate", 1.0)
    creation = CreateTopicsRequest([CreatableTopic("a", 14, 1)], 30_000, validate_only=False)
    throttled, other = network.client(BROKER_ID, BROKER_LISTENER), network.client(BROKER_ID, BROKER_LISTENER)
    assert throttled.ask(creation, 5).throttle_time_ms == 3000
    began_ms = network.now_ms

    waits = throttled.send(DescribeClusterRequest(), 0)
    assert other.ask(DescribeClusterRequest(), 0).error_code == 0
    assert waits not in throttled.answers
    network.run_until(lambda: waits in throttled.answers)

    assert network.now_ms - began_ms >= 3000


def test_an_address_that_connects_too_often_is_disconnected():
    asker = NetworkAsker("4.3.1")
    set_quota(asker, "ip", None, "connection_creation_rate", 1.0)
    network: NodeNetwork = asker.network

    clients = [network.client(BROKER_ID, BROKER_LISTENER) for _ in range(12)]
    network.run_for(100)

    assert [client.is_closed for client in clients] == [False] * 10 + [True] * 2
    [first, *_] = network.facts("connection-throttled")
    assert first.fields["throttle_ms"] == 1000
    network.run_for(11_000)
    later = network.client(BROKER_ID, BROKER_LISTENER)
    assert later.ask(ApiVersionsRequest(), 0).error_code == 0
