"""The APIs by which brokers and controllers join, live and leave: who may use them, and what travels."""

import pytest
from broker_requests import registered, registration_request
from controllers import Broker, directory, incarnation, make_controller
from node_views import ask, context_of, view_of

from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AllocateProducerIdsRequest,
    AssignReplicasToDirsRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ControllerRegistrationRequest,
    PartitionRecord,
    TopicRecord,
    UnregisterBrokerRequest,
    UnregisterControllerRequest,
)
from falkirk.protocol.messages.assign_replicas_to_dirs_request import DirectoryData, PartitionData, TopicData
from falkirk.protocol.messages.controller_registration_request import Feature, Listener

ALTER, CLUSTER_ACTION = 7, 9
TOPIC = b"t" * 16


def cluster():
    """Return a controller with the brokers 1 and 2, one topic, and controller 3001."""
    partition = PartitionRecord(0, TOPIC, (1, 2), (1, 2), (), (), 1, 0, 0, 0, (directory(1), directory(2)))
    controller = make_controller(brokers=[1, 2], records=[TopicRecord("topic", TOPIC), partition])
    ask(controller, controller_request())
    return controller


def controller_request():
    return ControllerRegistrationRequest(
        3001, incarnation(3001), False, [Listener("CONTROLLER", "c", 9093, 0)], [Feature("metadata.version", 7, 33)]
    )


def epoch(controller, broker_id=1):
    return registered(controller, broker_id).broker_epoch


# A request that succeeds on `cluster()`, and the operation that it needs.
REQUESTS = {
    "BrokerRegistration": (lambda _: registration_request(5), CLUSTER_ACTION),
    "BrokerHeartbeat": (lambda it: BrokerHeartbeatRequest(1, epoch(it), 99, want_fence=False), CLUSTER_ACTION),
    "UnregisterBroker": (lambda _: UnregisterBrokerRequest(1), ALTER),
    "ControllerRegistration": (lambda _: controller_request(), CLUSTER_ACTION),
    "UnregisterController": (lambda _: UnregisterControllerRequest(3001), ALTER),
    "AllocateProducerIds": (lambda it: AllocateProducerIdsRequest(1, epoch(it)), CLUSTER_ACTION),
    "AssignReplicasToDirs": (lambda it: AssignReplicasToDirsRequest(1, epoch(it)), CLUSTER_ACTION),
}
# All that there are, without the one that stands for all.
EVERY_OPERATION = frozenset(range(3, 16))


@pytest.mark.parametrize("api", REQUESTS)
def test_who_may_not_is_refused_and_nothing_happens(api):
    controller = cluster()
    make, operation = REQUESTS[api]
    before = controller.state.image

    response = ask(controller, make(controller), operations=EVERY_OPERATION - {operation})

    assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert controller.state.image is before


@pytest.mark.parametrize("api", REQUESTS)
def test_who_may_needs_no_other_right_and_is_answered_in_every_version(api):
    make, operation = REQUESTS[api]
    for version in make(cluster()).SCHEMA.info.versions:
        controller = cluster()
        if api == "BrokerRegistration" and version < 2:
            continue

        response = ask(controller, make(controller), version, operations={operation})

        assert response.error_code == ErrorCode.NONE
        assert response.SCHEMA.info.name == f"{api}Response"


@pytest.mark.parametrize("api", REQUESTS)
def test_only_the_active_controller_answers(api):
    make, _ = REQUESTS[api]

    assert ROUTES[make(cluster()).SCHEMA.info.key].needs_controller


@pytest.mark.parametrize(
    ("request_", "error_code", "message"),
    [
        (BrokerRegistrationRequest(cluster_id="another"), ErrorCode.INCONSISTENT_CLUSTER_ID, None),
        (BrokerHeartbeatRequest(1, 0, 99), ErrorCode.STALE_BROKER_EPOCH, None),
        (
            UnregisterBrokerRequest(9),
            ErrorCode.BROKER_ID_NOT_REGISTERED,
            "Broker ID 9 is not currently registered",
        ),
        (
            UnregisterControllerRequest(9),
            ErrorCode.CONTROLLER_ID_NOT_REGISTERED,
            "Controller ID 9 is not currently registered.",
        ),
        (AllocateProducerIdsRequest(1, 0), ErrorCode.STALE_BROKER_EPOCH, None),
        (AssignReplicasToDirsRequest(1, 0), ErrorCode.STALE_BROKER_EPOCH, None),
    ],
    ids=lambda value: value.SCHEMA.info.name if hasattr(value, "SCHEMA") else "",
)
def test_an_error_says_its_reason_where_the_response_has_room_for_it(request_, error_code, message):
    response = ask(cluster(), request_)

    assert response.error_code == error_code
    assert getattr(response, "error_message", None) == message


def test_an_error_too_waits_until_what_it_rests_on_is_committed():
    controller, request = cluster(), UnregisterBrokerRequest(9)

    result = ROUTES[64].handler(view_of(controller), context_of(request), request)

    assert isinstance(result, ControllerResult)
    assert result.records == ()


def test_a_broker_registers_is_unfenced_and_leaves():
    controller = cluster()
    registration = ask(controller, registration_request(5))
    heartbeat = BrokerHeartbeatRequest(5, registration.broker_epoch, 99, want_fence=False)

    assert registration.broker_epoch == epoch(controller, 5)
    alive = ask(controller, heartbeat, now_ms=10)
    assert (alive.is_caught_up, alive.is_fenced, alive.should_shut_down) == (True, False, False)
    assert controller.cluster.next_due_ms == 9001
    heartbeat.want_shut_down = True
    gone = ask(controller, heartbeat, now_ms=20)
    assert (gone.is_fenced, gone.should_shut_down) == (True, True)


def test_a_broker_must_support_the_kraft_version_of_the_node_that_it_asks():
    request = registration_request(5)
    request.features = [feature for feature in request.features if feature.name != "kraft.version"]

    assert ask(cluster(), request).error_code == ErrorCode.NONE
    assert ask(cluster(), request, kraft_version=1).error_code == ErrorCode.UNSUPPORTED_VERSION
    controller = controller_request()
    assert ask(cluster(), controller).error_code == ErrorCode.NONE
    assert ask(cluster(), controller, kraft_version=1).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("version", [0, 1])
def test_before_version_2_a_broker_cannot_tell_its_log_directories(version):
    for level, error_code in (("3.7-IV1", ErrorCode.NONE), ("3.7-IV2", ErrorCode.INVALID_REGISTRATION)):
        controller = make_controller(release="3.9", metadata_version=level)

        assert ask(controller, registration_request(1), version).error_code == error_code


@pytest.mark.parametrize(("version", "elr"), [(2, (2,)), (3, (1, 2))])
def test_before_version_3_a_broker_cannot_say_that_it_shut_down_in_order(version, elr):
    places = (directory(1), directory(2))
    partition = PartitionRecord(0, TOPIC, (1, 2), (), (), (), -1, 0, 0, 0, places, eligible_leader_replicas=(1, 2))
    controller = make_controller(
        brokers=[Broker(broker_id=1, fenced=True), Broker(broker_id=2, fenced=True)],
        features={"eligible.leader.replicas.version": 1},
        records=[TopicRecord("topic", TOPIC), partition],
        static_configs={"min.insync.replicas": "2"},
    )

    ask(controller, registration_request(1, start=1, previous_broker_epoch=epoch(controller)), version)

    assert controller.state.image.topics.partition("topic", 0).eligible_leader_replicas == elr


def test_producer_ids_come_in_blocks_of_a_thousand():
    controller = cluster()

    for start in (0, 1000):
        response = ask(controller, AllocateProducerIdsRequest(2, epoch(controller, 2)))
        assert (response.producer_id_start, response.producer_id_len) == (start, 1000)


def test_directories_are_assigned_partition_by_partition():
    controller = cluster()
    other = directory(1, 1)
    ask(controller, registration_request(1, log_dirs=(directory(1), other)))
    asked = [
        TopicData(TOPIC, [PartitionData(0), PartitionData(1)]),
        TopicData(b"?" * 16, [PartitionData(0)]),
    ]

    response = ask(controller, AssignReplicasToDirsRequest(1, epoch(controller), [DirectoryData(other, asked)]))

    (answered,) = response.directories
    assert [[partition.error_code for partition in topic.partitions] for topic in answered.topics] == [
        [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
        [ErrorCode.UNKNOWN_TOPIC_ID],
    ]
    assert controller.state.image.topics.partition("topic", 0).directories == (other, directory(2))
