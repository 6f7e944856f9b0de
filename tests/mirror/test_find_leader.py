"""The quorum's leader is found with DESCRIBE alone; that controllers list themselves takes ALTER (KIP-919)."""

from __future__ import annotations

import asyncio

import pytest
from fake_node import FakeNode, ranges

from falkirk.client.admin import AsyncAdmin, EndpointType
from falkirk.client.config import ClientConfig
from falkirk.client.errors import NodeRefusedError
from falkirk.mirror.cluster_mirror import find_leader
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import DescribeClusterResponse, DescribeQuorumResponse
from falkirk.protocol.messages.describe_quorum_response import Listener, Node, PartitionData, ReplicaState, TopicData

RANGES = ranges(api18="0-4", api55="0-2", api60="0-2")
REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def found(*, quorum_error=ErrorCode.NONE, with_brokers=True):
    controllers = FakeNode(RANGES)

    def answer(received):
        if received.api_key == 55:
            address = controllers.endpoint
            partition = PartitionData(leader_id=7, leader_epoch=3, high_watermark=9, current_voters=[ReplicaState(7)])
            node = Node(7, [Listener("CONTROLLER", address.host, address.port)])
            topic = TopicData("__cluster_metadata", [partition])
            return DescribeQuorumResponse(error_code=quorum_error, topics=[topic], nodes=[node])
        return DescribeClusterResponse(error_code=REFUSED) if received.api_key == 60 else None

    def of_broker(received):
        return DescribeClusterResponse(cluster_id="c") if received.api_key == 60 else None

    async def story():
        controllers.answer = answer
        async with controllers, FakeNode(RANGES, of_broker) as broker:
            brokers = AsyncAdmin([broker.endpoint], ClientConfig())
            admin = AsyncAdmin([controllers.endpoint], ClientConfig(), endpoint_type=EndpointType.CONTROLLER)
            async with brokers, admin:
                leader = await find_leader(admin, brokers if with_brokers else None)
                return leader, controllers.endpoint

    return asyncio.run(story())


def test_without_alter_the_leader_is_the_controller_that_describes_the_quorum():
    leader, endpoint = found()
    assert (leader.connection.endpoint, leader.cluster_id, leader.is_allowed_to_alter) == (endpoint, "c", False)
    assert [(node.node_id, node.endpoint) for node in leader.controllers.nodes] == [(7, endpoint)]


def test_without_describe_the_refusal_of_the_quorum_is_reported():
    with pytest.raises(NodeRefusedError, match="DescribeQuorum: CLUSTER_AUTHORIZATION_FAILED"):
        found(quorum_error=REFUSED)


def test_without_brokers_nobody_names_the_cluster():
    with pytest.raises(NodeRefusedError, match="DescribeCluster: CLUSTER_AUTHORIZATION_FAILED"):
        found(with_brokers=False)
