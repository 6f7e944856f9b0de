import pytest
from fake_node import FakeNode, ranges

from falkirk.client.admin import AsyncAdmin, EndpointType
from falkirk.client.cluster_description import ClusterDescription, ClusterNode
from falkirk.client.config import ClientConfig
from falkirk.client.errors import ConnectionFailedError, NodeRefusedError, NoNodeReachedError
from falkirk.client.event_loop import run
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.messages import (
    DescribeClusterResponse,
    MetadataResponse,
    describe_cluster_response,
    metadata_response,
)
from falkirk.versions.negotiation import UnsupportedApiError

CONFIG = ClientConfig()
NEW = ranges(api18="0-5", api60="0-2")
NOBODY = Endpoint("127.0.0.1", 1)
TWO = ClusterDescription(
    cluster_id="c",
    controller_id=2,
    nodes=(
        ClusterNode(node_id=1, endpoint=Endpoint("a", 91), rack=None),
        ClusterNode(node_id=2, endpoint=Endpoint("b", 92), rack="r"),
    ),
)


def describe(request):
    if request.api_key != 60:
        return None
    broker = describe_cluster_response.DescribeClusterBroker
    nodes = [broker(2, "b", 92, "r"), broker(1, "a", 91, None)]
    return DescribeClusterResponse(cluster_id="c", controller_id=2, brokers=nodes)


def describe_old(request):
    if request.api_key != 3:
        return None
    broker = metadata_response.MetadataResponseBroker
    return MetadataResponse(cluster_id="c", controller_id=2, brokers=[broker(2, "b", 92, "r"), broker(1, "a", 91)])


def described(node, *, before=(), endpoint_type=EndpointType.BROKER):
    async def scenario():
        async with node, AsyncAdmin([*before, node.endpoint], CONFIG, endpoint_type=endpoint_type) as admin:
            return await admin.describe_cluster()

    return run(scenario())


def test_a_cluster_is_described_by_the_first_node_that_can_be_reached():
    assert described(FakeNode(NEW, describe), before=[NOBODY]) == TWO


def test_a_broker_too_old_for_that_is_asked_for_metadata():
    node = FakeNode(ranges(api18="0-3", api3="0-9"), describe_old)
    assert described(node) == TWO
    assert node.requests[-1] == (3, 9)


def test_controllers_are_asked_for_controllers():
    kinds = []

    def answer(request):
        if request.api_key == 60:
            kinds.append((request.api_version, request.message().endpoint_type))
        return describe(request)

    assert described(FakeNode(NEW, answer), endpoint_type=EndpointType.CONTROLLER) == TWO
    assert kinds == [(2, 2)]


def test_a_controller_too_old_to_list_controllers_is_named_with_what_it_lacks():
    with pytest.raises(UnsupportedApiError, match=r"DescribeCluster .* wanted versions 1-2, offered version 0"):
        described(FakeNode(ranges(api18="0-3", api60="0"), describe), endpoint_type=EndpointType.CONTROLLER)


def test_a_refusal_is_told_with_its_message():
    def answer(request):
        return DescribeClusterResponse(error_code=114, error_message="a broker") if request.api_key == 60 else None

    with pytest.raises(NodeRefusedError, match="DescribeCluster: MISMATCHED_ENDPOINT_TYPE: a broker"):
        described(FakeNode(NEW, answer), endpoint_type=EndpointType.CONTROLLER)


def test_when_no_node_is_reached_each_is_named():
    async def scenario():
        async with AsyncAdmin([NOBODY, Endpoint("127.0.0.1", 2)], CONFIG) as admin:
            await admin.describe_cluster()

    with pytest.raises(NoNodeReachedError) as failed:
        run(scenario())
    assert [line.partition(": ")[0] for line in str(failed.value).splitlines()] == ["127.0.0.1:1", "127.0.0.1:2"]


def test_every_node_is_asked_what_it_speaks_and_one_that_is_down_does_not_hide_the_others():
    async def scenario():
        async with FakeNode(NEW) as first, FakeNode(ranges(api18="0-3")) as second:
            nodes = [
                ClusterNode(node_id=1, endpoint=first.endpoint),
                ClusterNode(node_id=2, endpoint=NOBODY),
                ClusterNode(node_id=3, endpoint=second.endpoint),
            ]
            async with AsyncAdmin([first.endpoint], CONFIG) as admin:
                return await admin.api_versions(nodes)

    found = run(scenario())
    assert list(found) == [1, 2, 3]
    assert (found[1].api_ranges, found[3].api_ranges) == (NEW, ranges(api18="0-3"))
    assert isinstance(found[2], ConnectionFailedError)
