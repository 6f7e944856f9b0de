"""What one request costs is bounded by what was sent, whatever is in it: every array of every API, full of elements."""

from __future__ import annotations

import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from many_elements import array_paths, full_request
from node_network import BROKER_LISTENER, CONTROLLER_LISTENER
from serving_cluster import BROKER_ID, a_cluster, advertised, with_consumer_groups

from falkirk.node.handlers.parts.route import ELEMENTS_MAX, PARTITION_ELEMENTS_MAX
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol.codec import encode
from falkirk.protocol.codec.decoder_compiler import OBJECT_WEIGHT
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    REQUESTS,
    DescribeGroupsRequest,
    MetadataRequest,
    OffsetDeleteRequest,
)
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.protocol.messages.offset_delete_request import OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from falkirk.simulation.machine.step_costs import StepCosts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from node_network import Client, Host, NodeNetwork

    from falkirk.node.events import Event

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
# For each byte sent: bytes at the peak, and calls of functions, built-in ones included, in all steps.
MEMORY_MAX = 64
CALLS_MAX = 24
# Besides: what one slice of an answer takes, whatever the size of the request.
SLICE_BYTES_MAX = 256 * 1024


@pytest.fixture(scope="module", params=[False, True], ids=["anyone", "authorizer"])
def cluster(request: pytest.FixtureRequest) -> NodeNetwork:
    settings = {"authorizer_class_name": AUTHORIZER, "super_users": "User:ANONYMOUS"} if request.param else {}
    return with_consumer_groups(a_cluster("4.4", **settings))


def node_ids(cluster: NodeNetwork) -> list[tuple[int, str]]:
    return [(BROKER_ID, BROKER_LISTENER), (cluster.active.config.node_id, CONTROLLER_LISTENER)]


@pytest.mark.slow
@pytest.mark.parametrize("size", [8 * 1024, pytest.param(64 * 1024, marks=pytest.mark.full)])
def test_memory_and_work_for_a_request_are_bounded_by_its_bytes(cluster: NodeNetwork, size: int) -> None:
    costs = {}
    for node_id, listener in node_ids(cluster):
        for key, versions in advertised(cluster, node_id, listener).items():
            for path in array_paths(key, max(versions)):
                for is_distinct in (False, True):
                    case = REQUESTS[key], ".".join(field.attribute for field in path), is_distinct, listener
                    what = key, max(versions), path, size, is_distinct
                    costs[case] = cost_of_each_byte(cluster, node_id, listener, what)
    assert len(costs) > 250
    assert {case: memory for case, (memory, _) in costs.items() if memory > MEMORY_MAX} == {}
    assert {case: calls for case, (_, calls) in costs.items() if calls > CALLS_MAX} == {}


def cost_of_each_byte(cluster: NodeNetwork, node_id: int, listener: str, what: tuple[Any, ...]) -> tuple[float, float]:
    """Return what a node's steps take for each byte of a request: memory at the peak beyond a slice, and calls."""
    key, version, path, size, is_distinct = what
    # The first one compiles what reads and writes such a message.
    ask(
        cluster,
        cluster.client(node_id, listener),
        full_request(key, version, path, size=100, is_distinct=False),
        version,
    )
    message = full_request(key, version, path, size=size, is_distinct=is_distinct)
    client = cluster.client(node_id, listener)
    tracemalloc.start()
    try:
        steps = MeasuredSteps(cluster.hosts[node_id])
        ask(cluster, client, message, version)
    finally:
        tracemalloc.stop()
    steps.end()
    cluster.disconnect(client)
    sent = len(encode(message, version))
    return (steps.peak - SLICE_BYTES_MAX) / sent, steps.calls / sent


class MeasuredSteps:
    """The steps of a node. `peak`: the most memory, in bytes, beyond that before the first; `calls`: of functions.

    What other nodes of the process take between the steps does not count.
    """

    def __init__(self, host: Host) -> None:
        self.peak = 0
        self.calls = 0
        self._node = host.running
        # What the steps until now have left.
        held = 0
        step = self._node.step

        def measured(events: Sequence[Event], now_ms: int) -> list[Any]:
            nonlocal held
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            sys.setprofile(self._count)
            try:
                return step(events, now_ms)
            finally:
                sys.setprofile(None)
                after, peak = tracemalloc.get_traced_memory()
                self.peak = max(self.peak, held + peak - before)
                held += after - before

        self._node.step = measured

    def end(self) -> None:
        """Let the node step as before."""
        del self._node.step

    def _count(self, frame: FrameType, event: str, argument: object) -> None:
        del frame, argument
        self.calls += event in {"call", "c_call"}


def ask(cluster: NodeNetwork, client: Client, message: Any, version: int) -> None:
    sent = client.send(message, version)
    cluster.run_until(lambda: sent in client.answers or client.is_closed)


@pytest.fixture(scope="module")
def plain() -> NodeNetwork:
    return a_cluster("4.4")


def test_a_request_with_too_many_elements_costs_its_connection(plain: NodeNetwork) -> None:
    client = plain.client(BROKER_ID, BROKER_LISTENER)
    most = ELEMENTS_MAX // OBJECT_WEIGHT
    as_many = DescribeGroupsRequest(groups=("g",) * most)
    assert len(client.ask(as_many, 5).groups) == 1
    too_many = DescribeGroupsRequest(groups=("g",) * (most + 1))
    client.send(too_many, 5)
    plain.run_until(lambda: client.is_closed)
    fact = plain.facts("request-too-costly")[-1]
    assert fact.fields["reason"].startswith("more elements than a request of this API may have")


def test_requests_that_name_partitions_may_name_many(plain: NodeNetwork) -> None:
    client = plain.client(BROKER_ID, BROKER_LISTENER)
    topics = [MetadataRequestTopic(name=f"absent-{number}") for number in range(ELEMENTS_MAX // OBJECT_WEIGHT + 1)]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    assert len(client.ask(request, 9).topics) == len(topics)
    assert ROUTES[MetadataRequest.SCHEMA.info.key].elements_max == PARTITION_ELEMENTS_MAX


@pytest.mark.source
def test_work_for_many_topics_grows_with_their_number(plain: NodeNetwork) -> None:
    few, many = (cost_of_deleting_offsets(plain, count) for count in (1_000, 4_000))
    assert many < 6 * few


def cost_of_deleting_offsets(cluster: NodeNetwork, count: int) -> int:
    """Return what the largest step costs in which offsets of unknown topics, a partition each, are deleted."""
    client = cluster.client(BROKER_ID, BROKER_LISTENER)
    partitions = [OffsetDeleteRequestPartition(0)]
    topics = [OffsetDeleteRequestTopic(f"absent-{number}", partitions) for number in range(count)]
    node, costs, measured = cluster.hosts[BROKER_ID].running, StepCosts(), []
    step = node.step

    def counted(events: Sequence[Event], now_ms: int) -> list[Any]:
        effects = costs.measure(lambda: step(events, now_ms))
        measured.append(costs.last.us)
        return effects

    node.step = counted
    try:
        assert client.ask(OffsetDeleteRequest("g", topics), 0).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    finally:
        del node.step
    return max(measured)


@pytest.mark.source
def test_groups_that_are_asked_for_in_one_request_are_described_over_many_steps(plain: NodeNetwork) -> None:
    client = plain.client(BROKER_ID, BROKER_LISTENER)
    names = tuple(f"g{number}" for number in range(2_400))
    sent = client.send(DescribeGroupsRequest(groups=names), 5)
    node = plain.hosts[BROKER_ID].running
    (shard,) = [host.shard for host in node.broker.groups.hosts.values()]
    begun = []
    describe = shard.describe_groups
    counts: dict[int, int] = {}
    step = node.step

    def counted(events: Sequence[Event], now_ms: int) -> list[Any]:
        begun.append(0)
        return step(events, now_ms)

    def described(client: Any, group_ids: Sequence[str], token: int) -> Any:
        counts[len(begun)] = counts.get(len(begun), 0) + len(group_ids)
        return describe(client, group_ids, token)

    node.step, shard.describe_groups = counted, described
    try:
        plain.run_until(lambda: sent in client.answers)
    finally:
        del node.step, shard.describe_groups
    assert [group.group_id for group in client.answers.pop(sent).groups] == list(names)
    # The first slice, and the one of the work that it starts.
    assert sum(counts.values()) == len(names)
    assert max(counts.values()) <= 400
