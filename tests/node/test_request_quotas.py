"""Clients are throttled for the time that their requests take (KIP-124), as by a real broker (`tests/interop`)."""

from __future__ import annotations

from data_plane_asker import BROKER_ID, NetworkAsker
from node_network import BROKER_LISTENER, NodeNetwork
from quota_story import QuotaStory, fetch_from, records

from falkirk.node.handlers import metadata
from falkirk.protocol.messages import (
    AlterClientQuotasRequest,
    DescribeClusterRequest,
    MetadataRequest,
    ProduceRequest,
)
from falkirk.protocol.messages.alter_client_quotas_request import EntityData, EntryData, OpData

MS = 1_000_000
EXEMPT = {"Fetch of a follower", "DescribeQuorum"}


class Work:
    """The time of a thread that works for as long between two readings."""

    def __init__(self, work_ns: int) -> None:
        self.work_ns = work_ns
        self.now_ns = 0

    def __call__(self) -> int:
        self.now_ns += self.work_ns
        return self.now_ns


def limit(asker: NetworkAsker, client_id: str, percentage: float) -> None:
    entry = EntryData([EntityData("client-id", client_id)], [OpData("request_percentage", percentage, remove=False)])
    assert asker.ask(AlterClientQuotasRequest([entry], validate_only=False), 1).entries[0].error_code == 0
    image = asker.network.hosts[BROKER_ID].running
    asker.network.run_until(lambda: any(key == "request_percentage" for _, key, _ in image.image.client_quotas))


def test_clients_whose_requests_take_too_long_are_throttled_for_a_window_as_by_a_real_broker():
    outcomes = list(QuotaStory(NetworkAsker("4.3.1", thread_ns=Work(MS))).request_outcomes())

    assert len(outcomes) == 18
    for outcome in outcomes:
        is_free = outcome.request in EXEMPT or outcome.request.endswith("without a quota")
        assert outcome.throttle_ms == (0 if is_free else 1000), outcome


def test_a_client_is_throttled_once_its_requests_have_taken_more_than_its_percentage():
    work = Work(0)
    asker = NetworkAsker("4.3.1", thread_ns=work)
    # Ten windows of a second: a tenth of a second in all.
    limit(asker, "tester", 1.0)
    # One reading until the response is decided on, and one until it is encoded.
    work.work_ns = 21 * MS

    first, second, third = (asker.ask(DescribeClusterRequest(), 0).throttle_time_ms for _ in range(3))

    assert (first, second) == (0, 0)
    assert 400 < third <= 500


def test_requests_behind_a_throttled_one_wait_and_those_of_others_do_not():
    asker = NetworkAsker("4.3.1", thread_ns=Work(MS))
    limit(asker, "tester", 0.000001)
    network: NodeNetwork = asker.network
    throttled = network.client(BROKER_ID, BROKER_LISTENER)
    other = network.client(BROKER_ID, BROKER_LISTENER)
    other.connection.client_id = "other"
    assert throttled.ask(DescribeClusterRequest(), 0).throttle_time_ms == 1000
    began_ms = network.now_ms

    waits = throttled.send(MetadataRequest([]), 9)
    assert other.ask(MetadataRequest([]), 9).throttle_time_ms == 0
    assert network.now_ms - began_ms < 1000
    network.run_until(lambda: waits in throttled.answers)

    assert network.now_ms - began_ms >= 1000
    assert network.hosts[BROKER_ID].running.counters.throttled >= 2


def test_a_throttled_fetch_gets_no_records_and_what_has_no_response_is_exempt():
    asker = NetworkAsker("4.3.1", thread_ns=Work(MS))
    QuotaStory(asker).create("r")
    limit(asker, "tester", 0.000001)
    network: NodeNetwork = asker.network
    network.run_for(2000)
    client = network.client(BROKER_ID, BROKER_LISTENER)
    began_ms = network.now_ms
    client.send(ProduceRequest(acks=0, timeout_ms=5000, topic_data=[records("r", b"value")]), 9)
    client.connection._requested.pop()

    answer = client.ask(fetch_from("r", 0), 12)

    assert network.now_ms - began_ms < 1000
    assert (answer.throttle_time_ms, answer.responses) == (1000, [])


def test_a_response_in_pieces_that_has_no_throttle_time_is_sent_as_it_is_and_throttles(monkeypatch):
    asker = NetworkAsker("3.9.1", thread_ns=Work(MS))
    QuotaStory(asker).create("r")
    limit(asker, "tester", 0.000001)
    asker.network.run_for(2000)
    monkeypatch.setattr(metadata, "JOINED_BYTES_MAX", 0)
    client = asker.network.client(BROKER_ID, BROKER_LISTENER)

    assert [topic.name for topic in client.ask(MetadataRequest([]), 0).topics] == ["r"]

    began_ms = asker.network.now_ms
    assert client.ask(MetadataRequest([]), 9).throttle_time_ms == 1000
    assert asker.network.now_ms - began_ms >= 1000
