import asyncio

import pytest
from fake_node import FakeNode, api_versions_response, ranges

from falkirk.client.config import ClientConfig
from falkirk.client.connection import NodeConnection
from falkirk.client.errors import ConnectionFailedError, NodeRefusedError, RequestTimedOutError
from falkirk.client.event_loop import run
from falkirk.protocol import codec
from falkirk.protocol.frame import frame
from falkirk.protocol.messages import (
    ApiVersionsResponse,
    DescribeClusterRequest,
    DescribeClusterResponse,
    MetadataRequest,
    UpdateRaftVoterRequest,
)
from falkirk.versions.negotiation import UnsupportedApiError
from falkirk.versions.supported_range import SupportedRange

CONFIG = ClientConfig()
NEW = ranges(api18="0-5", api60="0-2")


def cluster_named_as_asked(request):
    """Answer DescribeCluster with what was asked, so that answers can be told apart."""
    if request.api_key == 60:
        return DescribeClusterResponse(cluster_id=f"{request.api_version}/{request.correlation_id}")
    return None


async def ask(node, config=CONFIG, message=None, **options):
    connection = NodeConnection(node.endpoint, config)
    try:
        return await connection.request(message or DescribeClusterRequest(), **options)
    finally:
        await connection.close()


def asked_of(node, config=CONFIG, **options):
    """Ask a node once; return the answer and what came in there."""

    async def scenario():
        async with node:
            answer = await ask(node, config, **options)
        return answer, node.requests

    return run(scenario())


def failure_of(node, config=CONFIG, **options):
    """Ask a node once; return the error, and check that the node is named."""

    async def scenario():
        async with node:
            with pytest.raises(Exception, match=str(node.endpoint)) as failed:
                await ask(node, config, **options)
        return failed.value

    return run(scenario())


def test_a_connection_starts_with_api_versions_and_asks_in_the_highest_common_version():
    answer, requests = asked_of(FakeNode(ranges(api18="0-5", api60="0-1"), cluster_named_as_asked))
    assert requests == [(18, 5), (60, 1)]
    assert answer.cluster_id == "1/1"


def test_a_node_that_lacks_our_api_versions_is_asked_in_the_version_that_it_tells():
    _, requests = asked_of(FakeNode(ranges(api18="0-3", api60="0"), cluster_named_as_asked))
    assert requests == [(18, 5), (18, 3), (60, 0)]


def test_a_node_that_does_not_tell_its_versions_is_asked_in_version_0():
    node = FakeNode(ranges(api18="0-2", api60="0"), cluster_named_as_asked, tells_own_versions=False)
    assert asked_of(node)[1] == [(18, 5), (18, 0), (60, 0)]


def test_a_node_that_refuses_every_api_versions_is_given_up():
    refusal = codec.encode(ApiVersionsResponse(error_code=35), 0)
    node = FakeNode(NEW, lambda request: frame(request.correlation_id.to_bytes(4, "big"), refusal))
    error = failure_of(node)
    assert isinstance(error, NodeRefusedError)
    assert str(error).endswith("ApiVersions: UNSUPPORTED_VERSION")
    assert node.requests == [(18, 5), (18, 0)]


@pytest.mark.parametrize(("code", "name"), [(42, "INVALID_REQUEST"), (31999, "error 31999")])
def test_any_other_error_of_api_versions_is_told(code, name):
    error = failure_of(FakeNode(NEW, lambda _: api_versions_response({}, error_code=code)))
    assert isinstance(error, NodeRefusedError)
    assert name in str(error)


def test_versions_to_avoid_are_not_used():
    config = ClientConfig(avoided={60: frozenset({2}), 18: frozenset({5, 4})})
    assert asked_of(FakeNode(NEW, cluster_named_as_asked), config)[1] == [(18, 3), (60, 1)]


def test_an_api_that_cannot_be_used_names_node_api_and_both_ranges():
    error = failure_of(FakeNode(NEW), message=UpdateRaftVoterRequest())
    assert isinstance(error, UnsupportedApiError)
    assert (error.api_name, error.wanted, error.offered) == ("UpdateRaftVoter", SupportedRange(0, 0), None)
    error = failure_of(FakeNode(ranges(api18="0-5", api3="14-15")), message=MetadataRequest())
    assert (error.wanted, error.offered) == (SupportedRange(0, 13), SupportedRange(14, 15))
    error = failure_of(FakeNode(ranges(api18="0-5", api60="0")), wanted=SupportedRange(1, 2))
    assert (error.wanted, error.offered) == (SupportedRange(1, 2), SupportedRange(0, 0))


def test_after_a_break_a_connection_negotiates_anew_with_whatever_runs_there_now():
    async def scenario():
        async with FakeNode(NEW, cluster_named_as_asked) as before:
            endpoint = before.endpoint
            connection = NodeConnection(endpoint, CONFIG)
            assert (await connection.request(DescribeClusterRequest())).cluster_id == "2/1"
        older = FakeNode(ranges(api18="0-3", api60="0-1"), cluster_named_as_asked, port=endpoint.port)
        async with older:
            answer = await connection.request(DescribeClusterRequest(), is_idempotent=True)
            assert answer.cluster_id == "1/2"
            assert (await connection.versions()).api_ranges == ranges(api18="0-3", api60="0-1")
            await connection.close()
        assert older.requests == [(18, 5), (18, 3), (60, 1)]

    run(scenario())


def test_features_are_asked_anew_on_the_same_connection():
    async def scenario():
        epochs = iter([7, 9])
        node = FakeNode(NEW, lambda _: api_versions_response(NEW, finalized_features_epoch=next(epochs)))
        async with node:
            connection = NodeConnection(node.endpoint, CONFIG)
            assert (await connection.refreshed_versions()).finalized_features_epoch == 7
            assert (await connection.refreshed_versions()).finalized_features_epoch == 9
            assert (await connection.versions()).finalized_features_epoch == 9
            await connection.close()
        assert node.connections == 1

    run(scenario())


def test_a_break_that_nobody_has_noticed_yet_costs_an_idempotent_request_nothing():
    runner = asyncio.Runner()

    async def start():
        node = FakeNode(NEW, cluster_named_as_asked)
        await node.__aenter__()
        connection = NodeConnection(node.endpoint, CONFIG)
        await connection.versions()
        return node, connection

    async def break_unnoticed(node):
        # Nothing runs between the end of the old node and the next request.
        node.drop_connections()

    async def asked(connection, **options):
        answer = await connection.request(DescribeClusterRequest(), **options)
        return answer.cluster_id

    with runner:
        node, connection = runner.run(start())
        runner.run(break_unnoticed(node))
        assert runner.run(asked(connection, is_idempotent=True)) == "2/1"
        runner.run(break_unnoticed(node))
        assert runner.run(connection.refreshed_versions()).api_ranges == NEW
        runner.run(connection.close())
        runner.run(node.__aexit__(None, None, None))
    assert node.connections == 3


def test_many_who_ask_at_once_share_one_connection_and_get_their_own_answers():
    async def scenario():
        async with FakeNode(NEW, cluster_named_as_asked) as node:
            connection = NodeConnection(node.endpoint, ClientConfig(max_in_flight_requests_per_connection=3))
            answers = await asyncio.gather(*(connection.request(DescribeClusterRequest()) for _ in range(50)))
            await connection.close()
        assert [answer.cluster_id for answer in answers] == [f"2/{at}" for at in range(1, 51)]
        assert (node.connections, len(node.requests)) == (1, 51)

    run(scenario())


def test_no_more_requests_are_open_than_configured():
    async def scenario():
        async with FakeNode(NEW) as node:
            connection = NodeConnection(node.endpoint, ClientConfig(max_in_flight_requests_per_connection=2))
            await connection.versions()
            asking = [asyncio.create_task(connection.request(DescribeClusterRequest())) for _ in range(9)]
            await node.requests_came(3)
            await connection.close()
            failures = await asyncio.gather(*asking, return_exceptions=True)
        assert all(isinstance(failure, ConnectionFailedError) for failure in failures)
        assert len(node.requests) == 3

    run(scenario())


@pytest.mark.parametrize("silent", [18, 60])
def test_a_node_that_does_not_answer_is_given_up_in_time(silent):
    node = FakeNode(NEW, lambda request: b"" if request.api_key == silent else None)
    error = failure_of(node, ClientConfig(request_timeout_ms=30))
    assert isinstance(error, RequestTimedOutError)
    assert "within 30 ms" in str(error)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the node sent what cannot be read: a frame of 1213486160 bytes"),
        (frame(b"\0\0\0\x63"), "an answer to request 99"),
        (frame(b"\0\0\0\0", b"\0\0\x7f"), "the answer to ApiVersions cannot be read"),
        (frame(b"\0\0\0\0\0"), "the answer to ApiVersions cannot be read"),
    ],
)
def test_garbage_ends_the_connection_with_what_was_wrong(sent, reason):
    error = failure_of(FakeNode(NEW, lambda _: sent))
    assert isinstance(error, ConnectionFailedError)
    assert reason in str(error)


def test_a_node_that_hangs_up_is_named():
    async def scenario():
        async with FakeNode(NEW) as node:
            connection = NodeConnection(node.endpoint, CONFIG)
            await connection.versions()
            asking = asyncio.create_task(connection.request(DescribeClusterRequest()))
            await node.requests_came(2)
            node.drop_connections()
            with pytest.raises(ConnectionFailedError, match=f"{node.endpoint}: the node closed the connection"):
                await asking
            await connection.close()

    run(scenario())


def test_an_asker_that_gives_up_does_not_take_the_answer_of_another():
    async def scenario():
        async with FakeNode(NEW, cluster_named_as_asked) as node:
            connection = NodeConnection(node.endpoint, CONFIG)
            await connection.versions()
            first = asyncio.create_task(connection.request(DescribeClusterRequest()))
            second = asyncio.create_task(connection.request(DescribeClusterRequest()))
            await asyncio.sleep(0)
            first.cancel()
            answer = await second
            await connection.close()
            return answer.cluster_id, [version for key, version in node.requests if key == 60]

    cluster_id, versions = run(scenario())
    assert cluster_id == f"2/{len(versions)}"


def test_nobody_listening_is_told_with_the_address():
    async def scenario():
        async with FakeNode(NEW) as node:
            endpoint = node.endpoint
        with pytest.raises(ConnectionFailedError, match=f"{endpoint}: cannot connect"):
            await NodeConnection(endpoint, CONFIG).versions()

    run(scenario())
