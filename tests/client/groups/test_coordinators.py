"""Coordinators are found for many groups at once, and asked again while they move or load."""

import pytest
from group_servers import NEW, OLD, GroupServers

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig
from falkirk.client.errors import ConnectionFailedError
from falkirk.client.event_loop import run
from falkirk.client.groups.coordinators import Coordinators
from falkirk.client.groups.offsets import delete_groups
from falkirk.client.refusal import Refusal
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import DeleteGroupsResponse
from falkirk.protocol.messages.delete_groups_response import DeletableGroupResult

CONFIG = ClientConfig(retry_backoff_ms=1)


def asked_of(servers, question):
    async def scenario():
        async with servers, AsyncAdmin([servers.nodes[0].endpoint], CONFIG) as admin:
            return await question(admin)

    return run(scenario())


def deleted(message, code=ErrorCode.NONE):
    return DeleteGroupsResponse(results=[DeletableGroupResult(each, code) for each in message.groups_names])


def refusing(code):
    return lambda message: deleted(message, code)


@pytest.mark.parametrize(("api_ranges", "requests"), [(NEW, 1), (OLD, 3)])
def test_many_groups_are_one_request_where_the_broker_can(api_ranges, requests):
    servers = GroupServers(api_ranges)
    servers.coordinators = {"b": 2, "c": ErrorCode.GROUP_AUTHORIZATION_FAILED}
    found = asked_of(servers, lambda admin: Coordinators(admin).find(["a", "b", "c"]))
    assert (found["a"].node_id, found["b"].node_id) == (1, 2)
    assert found["c"].error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert len(servers.of(10)) == requests


def test_a_coordinator_that_is_not_there_yet_is_looked_for_again():
    servers = GroupServers()
    servers.coordinators = {
        "a": [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 2],
        "b": 1,
    }
    found = asked_of(servers, lambda admin: Coordinators(admin).find(["a", "b"]))
    assert (found["a"].node_id, found["b"].node_id) == (2, 1)
    assert [message.coordinator_keys for _, message in servers.of(10)] == [("a", "b"), ("a",), ("a",)]


def test_groups_of_one_coordinator_are_asked_for_together():
    servers = GroupServers()
    servers.coordinators = {"b": 2}
    servers.answers[42] = deleted
    found = asked_of(servers, lambda admin: delete_groups(admin, ["a", "b", "c"]))
    assert found == {"a": None, "b": None, "c": None}
    assert sorted((node, message.groups_names) for node, message in servers.of(42)) == [(1, ("a", "c")), (2, ("b",))]


@pytest.mark.parametrize(
    "code",
    [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE],
)
def test_who_does_not_coordinate_any_more_is_left_for_who_does(code):
    servers = GroupServers()
    servers.coordinators = {"a": [1, 2]}
    servers.answers[42] = [refusing(code), deleted]
    assert asked_of(servers, lambda admin: delete_groups(admin, ["a"])) == {"a": None}
    assert [node for node, _ in servers.of(42)] == [1, 2]


def test_a_connection_that_breaks_is_no_end():
    servers = GroupServers()
    servers.coordinators = {"a": [1, 2]}
    servers.answers[42] = [b"\0\0\0\1x", deleted]
    assert asked_of(servers, lambda admin: delete_groups(admin, ["a"])) == {"a": None}


def test_what_does_not_come_about_in_time_is_told_as_it_was_last():
    servers = GroupServers()
    servers.answers[42] = refusing(ErrorCode.NOT_COORDINATOR)
    found = asked_of(servers, lambda admin: delete_groups(admin, ["a"], timeout_ms=500))
    assert found == {"a": Refusal(ErrorCode.NOT_COORDINATOR)}


def test_a_coordinator_that_never_answers_is_an_error_that_names_it():
    servers = GroupServers()
    servers.answers[42] = b"\0\0\0\1x"
    with pytest.raises(ConnectionFailedError, match=r"127\.0\.0\.1"):
        asked_of(servers, lambda admin: delete_groups(admin, ["a"], timeout_ms=20))


def test_a_group_that_the_answer_leaves_out_is_refused():
    servers = GroupServers()
    servers.answers[42] = DeleteGroupsResponse()
    found = asked_of(servers, lambda admin: delete_groups(admin, ["a"]))
    assert found["a"].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
