"""The longest step of a broker does not grow with the elements of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from many_elements import array_paths, request_of
from node_network import BROKER_LISTENER
from serving_cluster import BROKER_ID, a_cluster, advertised, with_consumer_groups

from falkirk.protocol.messages import REQUESTS
from falkirk.simulation.machine.step_costs import StepCosts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from node_network import NodeNetwork

    from falkirk.node.events import Event

NAMES = {
    "DescribeLogDirsRequest",
    "ListOffsetsRequest",
    "MetadataRequest",
    "OffsetFetchRequest",
    "ProduceRequest",
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
    assert len(grown) >= 10
    # What is done at once, such as to count elements, takes little for each.
    assert {what: each for what, each in grown.items() if each[1] > 2 * each[0] + 2_000} == {}
