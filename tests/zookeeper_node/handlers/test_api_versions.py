"""ApiVersions tells what is served, no more, and features as this node knows them."""

from __future__ import annotations

import struct

import pytest
from zookeeper_network import ZooKeeperNetwork

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ApiVersionsRequest, ApiVersionsResponse
from falkirk.versions.api_support import Listener
from falkirk.versions.release import Release
from falkirk.zookeeper_node.handlers.routes import ROUTES

VERSIONS = ApiVersionsRequest(client_software_name="tester", client_software_version="1")


def request(api_key: int, version: int) -> bytes:
    body = struct.pack(">hhih", api_key, version, 1, -1) + bytes(40)
    return struct.pack(">i", len(body)) + body


@pytest.mark.parametrize("release", ["3.7", "3.8", "3.9"])
def test_what_is_served_is_told_in_the_ranges_of_the_release(release: str) -> None:
    network = ZooKeeperNetwork()
    network.start(1, release=release)
    offered = Release.parse(release).api_ranges(Listener.ZK_BROKER)
    for version in offered[18]:
        answer = network.client(1).ask(VERSIONS if version >= 3 else ApiVersionsRequest(), version)
        told = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
        assert told == {key: (offered[key].lowest, offered[key].highest) for key in (3, 17, 18, 36, 57, 60)}
        assert list(told) == sorted(told)


def test_every_api_that_is_told_has_a_handler() -> None:
    assert sorted(ROUTES) == [3, 17, 18, 36, 57, 60]


def test_features_are_told_from_version_3_on() -> None:
    network = ZooKeeperNetwork()
    network.start(1, falkirk_supported_features="gc:2-3")
    for version in range(5):
        answer = network.client(1).ask(VERSIONS if version >= 3 else ApiVersionsRequest(), version)
        supported = {one.name: (one.min_version, one.max_version) for one in answer.supported_features}
        finalized = {one.name: (one.min_version_level, one.max_version_level) for one in answer.finalized_features}
        if version < 3:
            assert (supported, finalized, answer.finalized_features_epoch) == ({}, {}, -1)
        else:
            assert supported == {"gc": (2, 3), "ibp-feature": (1, 27)}
            assert finalized == {"gc": (2, 3), "ibp-feature": (1, 27)}
            assert answer.finalized_features_epoch == 0


def test_software_must_look_like_a_name() -> None:
    network = ZooKeeperNetwork()
    network.start(1)
    answer = network.client(1).ask(ApiVersionsRequest(client_software_name="-", client_software_version="1"), 3)
    assert answer == ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)


def test_a_version_that_nobody_knows_is_answered_in_version_0() -> None:
    network = ZooKeeperNetwork()
    network.start(1)
    client = network.client(1)
    got: list[bytes] = []
    client.receive = got.append
    client.send_bytes(request(18, 99))
    network.settle()
    (answer,) = got
    assert answer[8:10] == ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")
    assert not client.is_closed


def test_what_is_not_served_closes_the_connection() -> None:
    network = ZooKeeperNetwork()
    host = network.start(1)
    client = network.client(1)
    client.send_bytes(request(1, 4))
    network.settle()
    assert client.is_closed
    assert host.node.counters.closed_for_unserved_apis == 1
