"""What a client of a release expects of a node, and how its tool prints one."""

import pytest

from falkirk.operations.api_usability import client_apis
from falkirk.versions.api_support import Listener

# A controller's request of ZooKeeper's times, and a client's of KRaft's alone (KIP-714).
LEADER_AND_ISR, GET_TELEMETRY_SUBSCRIPTIONS, DESCRIBE_QUORUM = 4, 71, 55


@pytest.mark.parametrize(("release", "of_kraft"), [("2.8", False), ("3.6", False), ("3.7", True), ("3.9", True)])
def test_a_client_of_a_release_with_zookeeper_expects_the_apis_of_both_kinds_of_brokers(release, of_kraft):
    expected = client_apis(release, Listener.BROKER, {}).expected
    assert LEADER_AND_ISR in expected
    assert (GET_TELEMETRY_SUBSCRIPTIONS in expected) == (DESCRIBE_QUORUM in expected) == of_kraft


def test_a_client_without_zookeeper_expects_none_of_its_apis():
    expected = client_apis("4.0", Listener.BROKER, {}).expected
    assert LEADER_AND_ISR not in expected
    assert {GET_TELEMETRY_SUBSCRIPTIONS, DESCRIBE_QUORUM} <= expected


@pytest.mark.parametrize(
    ("release", "shows"), [("2.4", False), ("3.9", False), ("4.0", True), ("4.4", True), (None, True)]
)
def test_tools_print_whether_a_node_is_fenced_since_clients_know(release, shows):
    assert client_apis(release, Listener.BROKER, {}).shows_fencing == shows
