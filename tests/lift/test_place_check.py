"""Whether falkirk's controller could take part: what is wrong is one sentence before anything is started."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import replace

import msgspec
import pytest
from fake_node import FakeNode, ranges
from lift_fakes import HIGH, FakeQuorum
from tls_files import Authority, having

from falkirk.client.quorum_description import ReplicaState
from falkirk.lift.errors import LiftError
from falkirk.lift.lift_file import Place
from falkirk.lift.place_check import check_id, check_place, check_release, client_config
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import FetchSnapshotResponse

RANGES = ranges(api18="0-4", api59="0-1")
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
OWN = "listener.name.controller."


def place(listener="127.0.0.1:1", properties=None):
    return Place(node_id=9001, listener=listener, directory="/nowhere", properties=properties or {})


def replica(node_id, *, fetched_ms):
    return ReplicaState(
        node_id=node_id,
        directory_id=bytes(16),
        log_end_offset=100,
        last_fetch_timestamp=fetched_ms,
        last_caught_up_timestamp=fetched_ms,
    )


def checked(place, *, error_code=0, configs=None):
    def answer(received):
        return None if received.api_key == 18 else FetchSnapshotResponse(error_code=error_code)

    async def story():
        async with FakeNode(RANGES, answer) as node:
            await check_place(place, "c", [node.endpoint], configs or {})
            return node.requests

    return asyncio.run(story())


def refusal(place, **options):
    with pytest.raises(LiftError) as refused:
        checked(place, **options)
    return str(refused.value)


def test_a_controller_that_lets_it_fetch_is_enough():
    assert 59 in {key for key, _ in checked(place())}


def test_without_the_right_to_fetch_the_acl_is_named():
    text = refusal(place(), error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    assert text.startswith(
        "missing right: CLUSTER_ACTION on CLUSTER kafka-cluster for User:ANONYMOUS, at the controllers ("
    )


def test_the_principal_is_the_name_that_the_rules_make_of_the_certificate():
    authority = Authority()
    keys = having(authority.issue(common_name="lift")) | authority.trusting()
    properties = {f"{OWN}{key}": value for key, value in keys.items()} | {
        "listener.security.protocol.map": "CONTROLLER:SSL",
        f"{OWN}ssl.principal.mapping.rules": "RULE:^CN=([^,]+),.*$/$1/",
    }
    assert client_config(place(properties=properties), [Endpoint("voter", 9093)]).principal == "User:lift"


@pytest.mark.parametrize(
    ("state", "is_taken"),
    [
        pytest.param(replica(9001, fetched_ms=90_000), True, id="it-fetches"),
        # The leader lists it for five minutes.
        pytest.param(replica(9001, fetched_ms=80_000), False, id="it-has-ended"),
    ],
)
def test_an_id_that_a_node_has_is_refused_and_one_of_a_controller_that_has_ended_is_not(state, is_taken):
    view = asyncio.run(FakeQuorum().describe())
    leader = replica(view.leader_id, fetched_ms=90_500)
    view = replace(view, voter_states=(leader,), observer_states=(state,))
    with pytest.raises(LiftError, match="node 9001 is there already") if is_taken else nullcontext():
        check_id(place(), view, brokers=[1, 2])
    with pytest.raises(LiftError, match="node 9001 is there already"):
        check_id(place(), view, brokers=[9001])


def test_a_release_that_is_older_than_the_cluster_is_refused():
    check_release(place(), {"metadata.version": HIGH, "share.version": 1})
    older = msgspec.structs.replace(place(), release="4.0")
    with pytest.raises(LiftError, match=r"^place.release: 4.0 is older than the cluster, whose .* metadata.version 30"):
        check_release(older, {"metadata.version": HIGH})


def test_a_name_that_does_not_resolve_is_refused():
    text = refusal(place("lift.invalid:9093"))
    assert text.startswith("place.listener: lift.invalid does not resolve here (")


def test_without_the_nodes_authorizer_it_would_allow_everything():
    text = refusal(place(), configs={3: {"authorizer.class.name": AUTHORIZER}})
    assert text.startswith(f"place.properties: authorizer.class.name is not set, and node 3 has {AUTHORIZER}")
    with_it = place(properties={"authorizer.class.name": AUTHORIZER})
    assert checked(with_it, configs={3: {"authorizer.class.name": AUTHORIZER}})


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({"listener.security.protocol.map": "CONTROLLER:SSL"}, "listener CONTROLLER: SSL key store is not specified"),
        ({"authorizer.class.name": "${env:NOT_SET_ANYWHERE}", "config.providers": "env"}, "config.providers.env.class"),
    ],
)
def test_properties_that_it_cannot_run_are_named(properties, problem):
    text = refusal(place(properties=properties))
    assert text.startswith("place.properties: ")
    assert problem in text


def test_a_controller_that_does_not_let_it_connect_is_named():
    async def story():
        async with FakeNode(RANGES) as node:
            gone = node.endpoint
        await check_place(place(), "c", [gone], {})

    with pytest.raises(LiftError, match=r"falkirk's controller cannot meet a controller: 127\.0\.0\.1:\d+: cannot con"):
        asyncio.run(story())
