"""What controllers tell of themselves."""

import pytest
from controllers import make_controller
from node_views import context_of, over_the_wire, view_of

from falkirk.node.handlers import describe_cluster
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import DescribeClusterRequest, RegisterControllerRecord
from falkirk.protocol.messages.register_controller_record import ControllerEndpoint

CREATE, ALTER, DESCRIBE = 5, 7, 8
CONTROLLERS = 2


def registration(controller_id, **listeners):
    return RegisterControllerRecord(
        controller_id,
        end_points=[ControllerEndpoint(name, "host", port, 0) for name, port in listeners.items()],
    )


def ask(request, version=2, *, metadata_version="4.4-IV2", listener="CONTROLLER", **fields):
    controller = make_controller(
        metadata_version=metadata_version,
        brokers=[1],
        records=[
            registration(3001, CONTROLLER=9094, OTHER=19094),
            registration(3000, CONTROLLER=9093),
            registration(3002, OTHER=19095),
        ],
    )
    context = context_of(request, version, listener=listener)
    response = describe_cluster.handle(view_of(controller, **fields), context, over_the_wire(request, version))
    return over_the_wire(response, version)


def addresses(response):
    return {broker.broker_id: (broker.host, broker.port, broker.rack) for broker in response.brokers}


@pytest.mark.parametrize("version", [1, 2])
def test_a_controller_tells_of_those_that_can_be_reached_as_it_was(version):
    request = DescribeClusterRequest(endpoint_type=CONTROLLERS)

    response = ask(request, version)

    assert (response.error_code, response.endpoint_type) == (ErrorCode.NONE, CONTROLLERS)
    assert response.cluster_id == "falkirk-test-cluster-AA"
    assert response.controller_id == 3000
    assert addresses(response) == {3000: ("host", 9093, None), 3001: ("host", 9094, None)}
    assert set(addresses(ask(request, version, listener="OTHER"))) == {3001, 3002}


@pytest.mark.parametrize(("leader_id", "told"), [(3001, 3001), (3002, -1), (9, -1), (None, -1)])
def test_the_leader_is_told_if_it_is_among_those_told_of(leader_id, told):
    assert ask(DescribeClusterRequest(endpoint_type=CONTROLLERS), leader_id=leader_id).controller_id == told


@pytest.mark.parametrize(
    ("version", "endpoint_type", "error_code", "message"),
    [
        (
            2,
            1,
            ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER",
        ),
        (
            0,
            1,
            ErrorCode.INVALID_REQUEST,
            "The request was sent to an endpoint of type CONTROLLER, but we wanted an endpoint of type BROKER",
        ),
        (1, 3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 3"),
    ],
)
def test_who_asks_for_something_else_is_told_so(version, endpoint_type, error_code, message):
    response = ask(DescribeClusterRequest(endpoint_type=endpoint_type), version)

    assert (response.error_code, response.error_message) == (error_code, message)
    assert response.brokers == []


def test_controllers_do_not_register_below_3_7():
    response = ask(DescribeClusterRequest(endpoint_type=CONTROLLERS), metadata_version="3.7-IV0")
    assert response.error_code == ErrorCode.NONE

    response = ask(DescribeClusterRequest(endpoint_type=CONTROLLERS), metadata_version="3.6-IV2")
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert response.error_message is not None


def test_a_controller_tells_only_who_may_alter_the_cluster():
    request = DescribeClusterRequest(endpoint_type=CONTROLLERS)

    assert ask(request, operations={DESCRIBE}).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert ask(request, operations={ALTER}).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("is_asked_for", "operations", "denied", "told"),
    [
        (False, None, (), -(2**31)),
        (True, None, (), 0b1_1111_1010_0000),
        (True, {ALTER, CREATE}, (), 0b1_1010_0000),  # ALTER implies DESCRIBE
        (True, {ALTER, CREATE}, {DESCRIBE}, 0),
    ],
)
def test_the_operations_that_the_asker_may_do_are_told_to_who_may_describe(is_asked_for, operations, denied, told):
    request = DescribeClusterRequest(include_cluster_authorized_operations=is_asked_for, endpoint_type=CONTROLLERS)

    assert ask(request, operations=operations, denied=denied).cluster_authorized_operations == told
