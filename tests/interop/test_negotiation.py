"""Negotiation with real nodes: one port, and on it one release after the other."""

import asyncio
import socket
from collections.abc import Iterator

import pytest
from api_versions_answers import advertised_ranges_of, ranges_of, view_like
from falkirk_program import falkirk
from kafka_cluster import Clusters, KafkaCluster
from kafka_java import run_main
from node_network import NodeNetwork

from falkirk.client.admin import AsyncAdmin, EndpointType
from falkirk.client.config import ClientConfig
from falkirk.client.connection import NodeConnection
from falkirk.client.errors import NodeRefusedError
from falkirk.metadata.requests.request_context import RequestContext
from falkirk.node.config.node_config import BROKER, CONTROLLER, NodeConfig
from falkirk.node.handlers import api_versions
from falkirk.node.handlers.parts.handler_result import EncodedResponse
from falkirk.protocol import codec
from falkirk.protocol.connection import Connection, ResponseReceived, Role
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.frame import FrameReader, frame
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    RequestHeader,
)
from falkirk.versions.api_support import Listener
from falkirk.versions.release import Release
from falkirk.versions.supported_range import SupportedRange

pytestmark = pytest.mark.interop

QUICK = ("3.7.2", "4.3.1")
RELEASES = [
    pytest.param(release, marks=[] if release in QUICK else [pytest.mark.full])
    for release in ("3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0")
]
LISTENERS = (Listener.BROKER, Listener.CONTROLLER)
ME = ApiVersionsRequest(client_software_name="falkirk", client_software_version="1.0")
# Its jars have the tool.
TOOL_RELEASE = "4.3.1"


class Caller:
    """Keeps a connection to each listener while the nodes behind it come and go."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self.connections: dict[Endpoint, NodeConnection] = {}

    def connection(self, endpoint: Endpoint) -> NodeConnection:
        return self.connections.setdefault(endpoint, NodeConnection(endpoint, ClientConfig()))

    async def close(self) -> None:
        for connection in self.connections.values():
            await connection.close()


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    made = Caller()
    with made.runner:
        yield made
        made.runner.run(made.close())


@pytest.fixture(scope="module")
def first(module_clusters: Clusters) -> KafkaCluster:
    """A cluster whose ports all releases use; it does not run."""
    return module_clusters.new("3.7.2")


@pytest.fixture(scope="module", params=RELEASES)
def node(request: pytest.FixtureRequest, first: KafkaCluster, module_clusters: Clusters) -> Iterator[KafkaCluster]:
    """A new combined node of a release, on the ports of the one before it."""
    home = first.home.parent / request.param
    dynamic = request.param != "3.7.2"
    cluster = module_clusters.adopt(first.moved_to({1: [home / "d0"]}, request.param, home=home, dynamic=dynamic))
    cluster.format()
    with cluster.running():
        yield cluster


def endpoint(cluster: KafkaCluster, listener: Listener) -> Endpoint:
    layout = cluster.layouts[0]
    return Endpoint("127.0.0.1", layout.broker_port if listener is Listener.BROKER else layout.controller_port)


def answered_by(where: Endpoint, data: bytes) -> bytes:
    """Send bytes on a new connection; return the frame that comes back."""
    with socket.create_connection(where, timeout=10) as connected:
        connected.sendall(data)
        reader = FrameReader(1 << 20)
        while received := connected.recv(65536):
            for _, answer in reader.receive_data(received):
                return answer
    raise AssertionError("the node closed the connection")


def api_versions_body(where: Endpoint, version: int) -> bytes:
    """Send ApiVersions in any version, even an unknown one; return the response body."""
    header = codec.encode(RequestHeader(18, version, 5, "c"), 2 if version >= 3 else 1)
    return answered_by(where, frame(header + codec.encode(ME, min(version, 5))))[4:]


def our_body(answer: bytes, version: int, config: NodeConfig, listener: Listener) -> bytes:
    """The response of our handler as a node of the release with the features that the real one reported."""
    ranges = ranges_of(config.release, listener, unstable=config.unstable_api_versions_enable)
    if version not in ranges[18]:
        return codec.encode(api_versions.unsupported_version(ranges), 0)
    told = codec.decode(ApiVersionsResponse, version, answer)
    supported = config.reported_features(is_controller=listener is Listener.CONTROLLER)
    view = view_like(told, config.release, ranges, supported_features=supported)
    ours = api_versions.handle(view, RequestContext(api_key=18, api_version=version), ME)
    assert isinstance(ours, EncodedResponse)
    return ours.body


def like_kafkas(release: str, **settings: bool) -> NodeConfig:
    """The settings of a node that reports no feature of ours."""
    roles = {BROKER, CONTROLLER}
    return NodeNetwork(release=release).add(1, roles=roles, quorum_voters={}, downgrade_enable=False, **settings).config


def test_our_answers_are_those_of_the_real_node_byte_for_byte(node: KafkaCluster) -> None:
    config = like_kafkas(node.release)
    for listener in LISTENERS:
        for version in (*range(7), 32767):
            answer = api_versions_body(endpoint(node, listener), version)
            assert answer == our_body(answer, version, config, listener), (listener, version)


@pytest.mark.full
@pytest.mark.parametrize("key", ["unstable.api.versions.enable", "unstable.feature.versions.enable"])
@pytest.mark.parametrize("release", ["3.9.1", "4.3.1"])
def test_what_is_unstable_is_offered_as_by_the_real_node(release: str, key: str, module_clusters: Clusters) -> None:
    config = like_kafkas(release, **{key.replace(".", "_"): True})
    cluster = module_clusters.new(release, settings={key: "true"})
    cluster.format()
    with cluster.running():
        for listener in LISTENERS:
            answer = api_versions_body(endpoint(cluster, listener), 4)
            assert answer == our_body(answer, 4, config, listener), listener


def test_a_connection_that_outlives_a_node_speaks_with_the_next_release_as_that_one_can(
    node: KafkaCluster, caller: Caller
) -> None:
    release = Release.parse(node.release)
    for listener in LISTENERS:
        connection = caller.connection(endpoint(node, listener))
        requested = DescribeClusterRequest(endpoint_type=1 if listener is Listener.BROKER else 2)
        answer = caller.runner.run(connection.request(requested, is_idempotent=True))
        assert isinstance(answer, DescribeClusterResponse)
        assert (answer.error_code, answer.cluster_id) == (0, node.cluster_id)
        reported = caller.runner.run(connection.versions())
        assert reported.api_ranges == advertised_ranges_of(release, listener)
        if release.api_ranges(listener)[18].highest >= 4:
            assert reported.supported_features == release.supported_features()
        assert (
            reported.finalized_features["metadata.version"].max_version_level == release.latest_metadata_version.level
        )


def test_the_cluster_is_described_by_brokers_and_by_controllers(node: KafkaCluster, caller: Caller) -> None:
    for listener, kind in zip(LISTENERS, (EndpointType.BROKER, EndpointType.CONTROLLER), strict=True):

        async def ask(where: Endpoint, kind: EndpointType) -> None:
            async with AsyncAdmin([where], ClientConfig(), endpoint_type=kind) as admin:
                cluster = await admin.describe_cluster()
                found = await admin.api_versions(cluster.nodes)
                features = await admin.describe_features()
            assert cluster.cluster_id == node.cluster_id
            assert [(each.node_id, each.endpoint) for each in cluster.nodes] == [(1, where)]
            assert list(found) == [1]
            assert features.finalized_features["metadata.version"].max_version_level > 0

        caller.runner.run(ask(endpoint(node, listener), kind))


def test_pipelined_requests_are_answered_in_their_order(node: KafkaCluster) -> None:
    where = endpoint(node, Listener.BROKER)
    connection = Connection(role=Role.CLIENT, client_id="c")
    sent = b"".join(connection.send_request(ME, version)[1] for version in (3, 0, 2, 1) * 5)
    with socket.create_connection(where, timeout=10) as connected:
        connected.sendall(sent)
        answers: list[ResponseReceived] = []
        while len(answers) < 20:
            answers += [
                event for event in connection.receive_data(connected.recv(999)) if isinstance(event, ResponseReceived)
            ]
    assert [answer.api_version for answer in answers] == [3, 0, 2, 1] * 5
    assert all(answer.message().error_code == 0 for answer in answers)


def test_the_command_tells_what_the_release_has(node: KafkaCluster) -> None:
    release = Release.parse(node.release)
    for listener, option in zip(LISTENERS, ("--bootstrap-server", "--bootstrap-controller"), strict=True):
        where = endpoint(node, listener)
        document = falkirk("api-versions", option, str(where), "--client-release", node.release, "--json").document
        (reported,) = document["nodes"]
        assert (reported["id"], reported["port"], reported["error"]) == (1, where.port, None)
        ranges = {api["key"]: SupportedRange(api["min_version"], api["max_version"]) for api in reported["apis"]}
        assert ranges == advertised_ranges_of(release, listener)
        assert all(api["usable_version"] == api["max_version"] for api in reported["apis"])
        assert document["features"]["finalized"]["metadata.version"] == release.latest_metadata_version.level


def test_the_wrong_kind_of_node_is_refused_by_name(node: KafkaCluster, caller: Caller) -> None:
    where = endpoint(node, Listener.BROKER)

    async def ask() -> None:
        async with AsyncAdmin([where], ClientConfig(), endpoint_type=EndpointType.CONTROLLER) as admin:
            with pytest.raises(NodeRefusedError, match=f"^{where}: DescribeCluster: MISMATCHED_ENDPOINT_TYPE"):
                await admin.describe_cluster()

    caller.runner.run(ask())


def test_the_text_is_that_of_kafkas_own_tool(node: KafkaCluster) -> None:
    servers = str(endpoint(node, Listener.BROKER))
    theirs = run_main(
        TOOL_RELEASE, "org.apache.kafka.tools.BrokerApiVersionsCommand", ["--bootstrap-server", servers]
    ).splitlines()
    ended = falkirk("api-versions", "--bootstrap-server", servers, "--client-release", TOOL_RELEASE)
    ours = ended.stdout.splitlines()
    # We name what the tool is too old to know.
    assert theirs == [with_names_of(TOOL_RELEASE, line) for line in ours[: len(theirs)]]


def with_names_of(release: str, line: str) -> str:
    _, _, rest = line.partition("(")
    key = rest.partition(")")[0]
    known = not key.isdigit() or int(key) in Release.parse(release).apis
    return line if known else f"\tUNKNOWN({rest}"
