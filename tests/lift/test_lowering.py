"""The lowering is sent to falkirk's controller, which no node lists, until it decides."""

import asyncio

from fake_node import FakeNode
from feature_servers import NEW, feature_answer
from lift_fakes import HIGH, LOW, FakeBrokers, FakeQuorum, lifted_cluster

from falkirk.client.config import ClientConfig
from falkirk.lift.lift_file import LiftFile, Place
from falkirk.lift.lowering import Lowering
from falkirk.logdir.target import parse_target
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import DescribeClusterResponse, DescribeQuorumResponse, UpdateFeaturesResponse
from falkirk.protocol.messages.describe_quorum_response import PartitionData, ReplicaState, TopicData

FILE = LiftFile(
    bootstrap_servers=["kafka:9092"],
    target="3.9",
    place=Place(node_id=9001, listener="lift:9093", directory="/lift"),
)
CONTROLLERS = 2


def test_a_leader_that_does_not_decide_yet_is_asked_again():
    updates = []

    def answer(received):
        match received.api_key:
            case 18:
                return feature_answer(1, {"metadata.version": (LOW, HIGH)}, {"metadata.version": HIGH})
            case 55:
                partition = PartitionData(leader_id=9001, current_voters=[ReplicaState(9001)])
                return DescribeQuorumResponse(topics=[TopicData("__cluster_metadata", [partition])])
            case 60 if received.message().endpoint_type == CONTROLLERS:
                return DescribeClusterResponse(cluster_id="c", controller_id=-1)
            case 60:
                return DescribeClusterResponse(error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE)
        updates.append(received.message())
        return UpdateFeaturesResponse(error_code=ErrorCode.NOT_CONTROLLER if len(updates) == 1 else ErrorCode.NONE)

    async def story():
        async with FakeNode(NEW, answer) as node:

            async def leader():
                return node.endpoint

            cluster = lifted_cluster(FakeQuorum(), FakeBrokers())
            lowering = Lowering(FILE, parse_target("3.9"), cluster, leader=leader, config=ClientConfig())
            await lowering.steps()[0].act()

    asyncio.run(story())
    assert [each.validate_only for each in updates] == [True, True, False]
