from __future__ import annotations

import pytest
from broker_requests import registration_request
from node_network import NodeNetwork

from falkirk.metadata.requests.request_context import Principal
from falkirk.node.connections.envelopes import read_principal, write_principal
from falkirk.protocol import codec
from falkirk.protocol.connection import request_bytes
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    BrokerHeartbeatRequest,
    CreateAclsRequest,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    EnvelopeRequest,
    FetchRequest,
    ResponseHeader,
)
from falkirk.protocol.messages.create_acls_request import AclCreation
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.describe_quorum_request import PartitionData, TopicData

ALICE = Principal("User", "alice")
ADDRESS = bytes((10, 1, 2, 3))


def envelope(message, version: int, *, principal: bytes = write_principal(ALICE), address: bytes = ADDRESS):
    inner = request_bytes(message, version, correlation_id=77, client_id="inner")
    return EnvelopeRequest(inner, principal, address)


def create_topic(name: str = "orders") -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    return CreateTopicsRequest([topic], 30_000, validate_only=False)


@pytest.fixture(name="network", scope="module")
def a_cluster_with_a_broker() -> NodeNetwork:
    return cluster()


def cluster(**settings) -> NodeNetwork:
    network = NodeNetwork()
    network.add_controllers(3, **settings)
    network.run_until(lambda: network.active is not None)
    network.run_for(2000)
    answer = network.client(leader(network)).ask(registration_request(101, release="4.3"), 4)
    assert answer.error_code == 0
    return network


def leader(network: NodeNetwork) -> int:
    assert network.active is not None
    return network.active.config.node_id


def test_the_answer_inside_has_the_header_and_the_correlation_id_of_the_request_inside(network):
    answer = network.client(leader(network)).ask(envelope(create_topic(), 7), 0)

    assert answer.error_code == 0
    header, start = codec.decode_prefix(ResponseHeader, 1, answer.response_data)
    assert header.correlation_id == 77
    inner = codec.decode(CreateTopicsResponse, 7, answer.response_data[start:])
    # The broker is fenced: what is wrong with the request is told inside.
    assert inner.topics[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_questions_to_the_quorum_come_in_envelopes_too(network):
    request = DescribeQuorumRequest([TopicData("__cluster_metadata", [PartitionData(0)])])

    answer = network.client(leader(network)).ask(envelope(request, 2), 0)

    _, start = codec.decode_prefix(ResponseHeader, 1, answer.response_data)
    inner = codec.decode(DescribeQuorumResponse, 2, answer.response_data[start:])
    assert inner.topics[0].partitions[0].leader_id == leader(network)


def test_another_than_the_active_controller_says_so_on_the_envelope(network):
    other = next(node_id for node_id in network.hosts if node_id != leader(network))

    answer = network.client(other).ask(envelope(create_topic(), 7), 0)

    assert (answer.error_code, answer.response_data) == (ErrorCode.NOT_CONTROLLER, None)


def test_a_leader_that_is_deposed_says_so_on_the_envelopes_that_wait():
    network = cluster()
    node_id = leader(network)
    heartbeat = BrokerHeartbeatRequest(101, network.active.running.image.cluster.brokers[101].broker_epoch, 10**6)
    assert network.client(node_id).ask(heartbeat, 1).is_fenced is False
    client = network.client(node_id)
    network.isolate(node_id)

    answer = client.ask(envelope(create_topic(), 7), 0)

    assert (answer.error_code, answer.response_data) == (ErrorCode.NOT_CONTROLLER, None)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (envelope(FetchRequest(), 17), ErrorCode.INVALID_REQUEST),
        (envelope(ApiVersionsRequest("a", "1"), 4), ErrorCode.INVALID_REQUEST),
        (envelope(envelope(create_topic(), 7), 0), ErrorCode.INVALID_REQUEST),
        (EnvelopeRequest(b"\x00\x13", write_principal(ALICE), ADDRESS), ErrorCode.UNSUPPORTED_VERSION),
        (EnvelopeRequest(b"\x7f\x00" * 8, write_principal(ALICE), ADDRESS), ErrorCode.UNSUPPORTED_VERSION),
        (
            EnvelopeRequest(b"\x00\x13\x00\x63" + bytes(8), write_principal(ALICE), ADDRESS),
            ErrorCode.UNSUPPORTED_VERSION,
        ),
        (envelope(create_topic(), 7, principal=b""), ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (envelope(create_topic(), 7, principal=b"\0\1\0"), ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (envelope(create_topic(), 7, principal=b"\0\0\xff"), ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        (envelope(create_topic(), 7, address=b"\1\2\3"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_is_wrong_with_an_envelope_is_told_on_the_envelope(network, request_, error):
    answer = network.client(leader(network)).ask(request_, 0)

    assert (answer.error_code, answer.response_data) == (error, None)


def test_the_request_inside_is_allowed_or_refused_by_the_principal_inside():
    network = cluster(
        authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        super_users="User:ANONYMOUS",
    )
    allow = AclCreation(
        resource_type=2,
        resource_name="orders",
        resource_pattern_type=3,
        principal="User:alice",
        host="10.1.2.3",
        operation=5,
        permission_type=3,
    )
    node = leader(network)
    assert network.client(node).ask(CreateAclsRequest([allow]), 3).results[0].error_code == 0

    def error_of(request) -> int:
        answer = network.client(node).ask(request, 0)
        _, start = codec.decode_prefix(ResponseHeader, 1, answer.response_data)
        return codec.decode(CreateTopicsResponse, 7, answer.response_data[start:]).topics[0].error_code

    allowed = ErrorCode.INVALID_REPLICATION_FACTOR
    refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert error_of(envelope(create_topic(), 7)) == allowed
    assert error_of(envelope(create_topic(), 7, address=bytes((10, 9, 9, 9)))) == refused
    assert error_of(envelope(create_topic(), 7, principal=write_principal(Principal("User", "bob")))) == refused


def test_whoever_may_not_act_for_the_cluster_may_not_send_envelopes():
    network = NodeNetwork()
    network.add_controllers(
        1, authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer", super_users="User:admin"
    )
    network.run_until(lambda: network.active is not None)

    answer = network.client(1).ask(envelope(create_topic(), 7), 0)

    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@pytest.mark.parametrize("principal", [ALICE, Principal("User", "ANONYMOUS"), Principal("Token", "é", True)])
def test_principals_are_read_as_they_are_written(principal):
    assert read_principal(write_principal(principal)) == principal


def test_a_principal_is_written_as_kafka_writes_it():
    assert write_principal(ALICE).hex() == "0000" + "05" + b"User".hex() + "06" + b"alice".hex() + "00" + "00"
