"""The longest step of a broker does not grow with the elements of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from many_elements import array_paths, request_of
from node_network import BROKER_LISTENER, CONTROLLER_LISTENER
from serving_cluster import BROKER_ID, a_cluster, advertised, with_consumer_groups

from falkirk.node.handlers.routes import ROUTES
from falkirk.node.step import STEP_MS_MAX
from falkirk.protocol.codec.decoder_compiler import OBJECT_WEIGHT, is_light
from falkirk.protocol.messages import REQUESTS
from falkirk.simulation.machine.step_costs import StepCosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from node_network import NodeNetwork

    from falkirk.node.events import Event

NAMES = {
    "AddPartitionsToTxnRequest",
    "CreatePartitionsRequest",
    "DescribeLogDirsRequest",
    "IncrementalAlterConfigsRequest",
    "ListOffsetsRequest",
    "MetadataRequest",
    "OffsetCommitRequest",
    "OffsetDeleteRequest",
    "OffsetFetchRequest",
    "ProduceRequest",
    "TxnOffsetCommitRequest",
    "WriteTxnMarkersRequest",
}
FEW, MANY = 3_000, 12_000


@pytest.fixture(scope="module")
def cluster() -> NodeNetwork:
    return with_consumer_groups(a_cluster("4.4"))


def arrays(cluster: NodeNetwork, node_id: int, listener: str) -> list[tuple[int, int, tuple[Any, ...]]]:
    versions = {key: max(each) for key, each in advertised(cluster, node_id, listener).items()}
    return [(key, version, path) for key, version in versions.items() for path in array_paths(key, version)]


def longest_step_us(cluster: NodeNetwork, node_id: int, listener: str, request: Any, version: int) -> int:
    """Return what the largest of a node's steps costs until it has answered a request, or closed the connection."""
    node, costs, measured = cluster.hosts[node_id].running, StepCosts(), [0]
    client, step = cluster.client(node_id, listener), node.step

    def counted(events: Sequence[Event], now_ms: int) -> list[Any]:
        effects = costs.measure(lambda: step(events, now_ms))
        measured.append(costs.last.us)
        return effects

    node.step = counted
    try:
        sent = client.send(request, version)
        cluster.run_until(lambda: sent in client.answers or client.is_closed)
    finally:
        del node.step
    cluster.disconnect(client)
    return max(measured)


@pytest.mark.slow
def test_the_longest_step_does_not_grow_with_a_request(cluster: NodeNetwork) -> None:
    grown = {}
    for key, version, path in arrays(cluster, BROKER_ID, BROKER_LISTENER):
        if REQUESTS[key] not in NAMES:
            continue
        _, few, many = (
            longest_step_us(cluster, BROKER_ID, BROKER_LISTENER, request_of(key, version, path, number), version)
            for number in (10, FEW, MANY)
        )
        grown[REQUESTS[key], ".".join(field.attribute for field in path)] = few, many
    assert len(grown) >= 20
    # What is done at once, such as to count elements, takes little for each.
    assert {what: each for what, each in grown.items() if each[1] > 2 * each[0] + 2_000} == {}


@pytest.mark.slow
@pytest.mark.full
def test_no_request_makes_a_long_step(cluster: NodeNetwork) -> None:
    """Each array with as many elements as a request of its API may have; counted lines bound the time from above."""
    costs = {}
    for node_id, listener in ((BROKER_ID, BROKER_LISTENER), (cluster.active.config.node_id, CONTROLLER_LISTENER)):
        for key, version, path in arrays(cluster, node_id, listener):
            # The first one compiles what reads and writes such a message.
            longest_step_us(cluster, node_id, listener, request_of(key, version, path, 10), version)
            *outer, array = path
            left = ROUTES[key].elements_max - OBJECT_WEIGHT * sum(field.is_array for field in outer)
            request = request_of(key, version, path, left // (1 if is_light(array) else OBJECT_WEIGHT))
            case = REQUESTS[key], ".".join(field.attribute for field in path), listener
            costs[case] = longest_step_us(cluster, node_id, listener, request, version)
    assert len(costs) > 100
    assert {case: us for case, us in costs.items() if us > 1_000 * STEP_MS_MAX} == {}
