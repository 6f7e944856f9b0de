"""What one request costs is bounded by what was sent, whatever is in it: every array of every API, full of elements."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from many_elements import array_paths, full_request
from node_network import BROKER_LISTENER, CONTROLLER_LISTENER
from serving_cluster import BROKER_ID, a_cluster, advertised

from falkirk.node.handlers.parts.route import ELEMENTS_MAX, PARTITION_ELEMENTS_MAX
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol.codec import encode
from falkirk.protocol.messages import (
    REQUESTS,
    DescribeGroupsRequest,
    MetadataRequest,
)
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from node_network import Client, Host, NodeNetwork

    from falkirk.node.events import Event

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
REQUEST_BYTES = 8 * 1024
# For each byte sent. The most takes what describes many groups, of which a slice is under way at a time.
MEMORY_MAX = 200


@pytest.fixture(scope="module", params=[False, True], ids=["anyone", "authorizer"])
def cluster(request: pytest.FixtureRequest) -> NodeNetwork:
    settings = {"authorizer_class_name": AUTHORIZER, "super_users": "User:ANONYMOUS"} if request.param else {}
    return a_cluster("4.4", **settings)


def node_ids(cluster: NodeNetwork) -> list[tuple[int, str]]:
    return [(BROKER_ID, BROKER_LISTENER), (cluster.active.config.node_id, CONTROLLER_LISTENER)]


@pytest.mark.slow
def test_memory_for_a_request_is_bounded_by_its_bytes(cluster: NodeNetwork) -> None:
    peaks = {}
    for node_id, listener in node_ids(cluster):
        for key, versions in advertised(cluster, node_id, listener).items():
            for path in array_paths(key, max(versions)):
                for is_distinct in (False, True):
                    case = REQUESTS[key], ".".join(field.attribute for field in path), is_distinct, listener
                    peaks[case] = peak_for_each_byte(
                        cluster, node_id, listener, (key, max(versions), path, is_distinct)
                    )
    assert len(peaks) > 250
    assert {case: peak for case, peak in peaks.items() if peak > MEMORY_MAX} == {}


def peak_for_each_byte(cluster: NodeNetwork, node_id: int, listener: str, what: tuple[Any, ...]) -> float:
    """Return how much memory a node's steps take at most for each byte of a request, beyond what they had before."""
    key, version, path, is_distinct = what
    # The first one compiles what reads and writes such a message.
    ask(
        cluster,
        cluster.client(node_id, listener),
        full_request(key, version, path, size=100, is_distinct=False),
        version,
    )
    message = full_request(key, version, path, size=REQUEST_BYTES, is_distinct=is_distinct)
    client = cluster.client(node_id, listener)
    tracemalloc.start()
    try:
        with_peaks = Peaks(cluster.hosts[node_id])
        ask(cluster, client, message, version)
    finally:
        tracemalloc.stop()
    cluster.disconnect(client)
    return with_peaks.end() / len(encode(message, version))


class Peaks:
    """The largest amount of memory during the steps of a node, beyond that before the first."""

    def __init__(self, host: Host) -> None:
        self._node = host.running
        self._start = tracemalloc.get_traced_memory()[0]
        self._peak = 0
        step = self._node.step

        def measured(events: Sequence[Event], now_ms: int) -> list[Any]:
            tracemalloc.reset_peak()
            effects = step(events, now_ms)
            self._peak = max(self._peak, tracemalloc.get_traced_memory()[1] - self._start)
            return effects

        self._node.step = measured

    def end(self) -> int:
        """Let the node step as before; return the peak in bytes."""
        del self._node.step
        return self._peak


def ask(cluster: NodeNetwork, client: Client, message: Any, version: int) -> None:
    sent = client.send(message, version)
    cluster.run_until(lambda: sent in client.answers or client.is_closed)


@pytest.fixture(scope="module")
def plain() -> NodeNetwork:
    return a_cluster("4.4")


def test_a_request_with_too_many_elements_costs_its_connection(plain: NodeNetwork) -> None:
    client = plain.client(BROKER_ID, BROKER_LISTENER)
    as_many = DescribeGroupsRequest(groups=("g",) * ELEMENTS_MAX)
    assert len(client.ask(as_many, 5).groups) == 1
    too_many = DescribeGroupsRequest(groups=("g",) * (ELEMENTS_MAX + 1))
    client.send(too_many, 5)
    plain.run_until(lambda: client.is_closed)
    fact = plain.facts("request-too-costly")[-1]
    assert fact.fields["reason"].startswith("more elements than a request of this API may have")


def test_requests_that_name_partitions_may_name_many(plain: NodeNetwork) -> None:
    client = plain.client(BROKER_ID, BROKER_LISTENER)
    topics = [MetadataRequestTopic(name=f"absent-{number}") for number in range(ELEMENTS_MAX + 1)]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    assert len(client.ask(request, 9).topics) == len(topics)
    assert ROUTES[MetadataRequest.SCHEMA.info.key].elements_max == PARTITION_ELEMENTS_MAX


def test_groups_that_are_asked_for_in_one_request_are_described_over_many_steps(plain: NodeNetwork) -> None:
    client = plain.client(BROKER_ID, BROKER_LISTENER)
    names = tuple(f"g{number}" for number in range(2_400))
    sent = client.send(DescribeGroupsRequest(groups=names), 5)
    node = plain.hosts[BROKER_ID].running
    begun = []
    schedule = node.broker.groups.schedule
    steps: list[int] = []
    step = node.step

    def counted(events: Sequence[Event], now_ms: int) -> list[Any]:
        begun.append(0)
        return step(events, now_ms)

    def scheduled(*arguments: Any) -> None:
        steps.append(len(begun))
        schedule(*arguments)

    node.step, node.broker.groups.schedule = counted, scheduled
    try:
        plain.run_until(lambda: sent in client.answers)
    finally:
        del node.step, node.broker.groups.schedule
    assert [group.group_id for group in client.answers.pop(sent).groups] == list(names)
    # The first slice, and the one of the work that it starts.
    assert max(steps.count(each) for each in set(steps)) <= 1_000
