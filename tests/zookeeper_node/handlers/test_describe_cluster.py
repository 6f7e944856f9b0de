"""DescribeCluster tells the brokers and who of them is the controller."""

from __future__ import annotations

import pytest
from zookeeper_network import ZooKeeperNetwork

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import DescribeClusterRequest

BOTH = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INSIDE:PLAINTEXT",
    "inter.broker.listener.name": "INSIDE",
}


@pytest.fixture(scope="module")
def shared() -> ZooKeeperNetwork:
    network = ZooKeeperNetwork()
    network.start(5, BOTH, listeners="INSIDE://in5:9094")
    network.start(3, BOTH, listeners="PLAINTEXT://node3:9092,INSIDE://in3:9094", broker_rack="r3")
    return network


@pytest.mark.parametrize("version", range(2))
def test_brokers_and_controller_are_told(shared: ZooKeeperNetwork, version: int) -> None:
    answer = shared.client(3, "INSIDE").ask(DescribeClusterRequest(), version)
    told = [(one.broker_id, one.host, one.port, one.rack) for one in answer.brokers]
    assert told == [(3, "in3", 9094, "r3"), (5, "in5", 9094, None)]
    assert answer.controller_id == 5
    assert answer.cluster_authorized_operations == -(2**31)


def test_a_controller_without_the_listener_is_not_told(shared: ZooKeeperNetwork) -> None:
    answer = shared.client(3).ask(DescribeClusterRequest(), 1)
    assert [one.broker_id for one in answer.brokers] == [3]
    assert answer.controller_id == -1


def test_a_broker_is_not_told_with_a_listener_that_it_does_not_advertise() -> None:
    network = ZooKeeperNetwork()
    network.start(
        1, BOTH, listeners="PLAINTEXT://node1:9092,INSIDE://in1:9094", advertised_listeners="INSIDE://far1:9094"
    )
    assert network.client(1).ask(DescribeClusterRequest(), 1).brokers == []
    (broker,) = network.client(1, "INSIDE").ask(DescribeClusterRequest(), 1).brokers
    assert broker.host == "far1"


def test_operations_are_told_if_they_are_asked_for(shared: ZooKeeperNetwork) -> None:
    answer = shared.client(3).ask(DescribeClusterRequest(include_cluster_authorized_operations=True), 0)
    assert answer.cluster_authorized_operations > 0


@pytest.mark.parametrize(
    ("endpoint_type", "error"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
def test_only_brokers_can_be_asked_for(shared: ZooKeeperNetwork, endpoint_type: int, error: ErrorCode) -> None:
    answer = shared.client(3).ask(DescribeClusterRequest(endpoint_type=endpoint_type), 1)
    assert answer.error_code == error
    assert answer.brokers == []
