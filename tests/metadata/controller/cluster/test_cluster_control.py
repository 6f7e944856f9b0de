"""Brokers leave for good; controllers come and go."""

import pytest
from broker_requests import heartbeat, register, registration_request
from controllers import directory, incarnation, make_controller, run

from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    BrokerHeartbeatRequest,
    ControllerRegistrationRequest,
    PartitionRecord,
    RegisterControllerRecord,
    TopicRecord,
)
from falkirk.protocol.messages.controller_registration_request import Feature, Listener
from falkirk.versions.release import Release

TOPIC = b"t" * 16


def controller_request(controller_id=3001, start=0, release="4.4", **fields):
    features = [
        Feature(name, levels.lowest, levels.highest)
        for name, levels in Release.parse(release).supported_features().items()
    ]
    given = {"zk_migration_ready": True, "listeners": [Listener("CONTROLLER", "c", 9093, 0)], "features": features}
    return ControllerRegistrationRequest(controller_id, incarnation(controller_id, start), **{**given, **fields})


def register_controller(controller, request, kraft_version=0):
    return controller.cluster.register_controller(request, kraft_version=kraft_version)


def test_an_unregistered_broker_leads_nothing_and_is_stale_until_it_registers_again():
    directories = (directory(1), directory(2))
    records = [
        TopicRecord("topic", TOPIC),
        PartitionRecord(0, TOPIC, (1, 2), (1, 2), (), (), 1, 0, 0, 0, directories),
    ]
    controller = make_controller(brokers=[1, 2], records=records)
    epoch = controller.state.image.cluster.brokers[1].broker_epoch

    result = controller.cluster.unregister_broker(1)
    run(controller, result)

    assert [type(record).__name__ for record, _ in result.records] == [
        "PartitionChangeRecord",
        "UnregisterBrokerRecord",
    ]
    assert set(controller.state.image.cluster.brokers) == {2}
    assert controller.state.image.topics.partition("topic", 0).leader == 2
    stale = controller.cluster.heartbeat(BrokerHeartbeatRequest(1, epoch, 100, want_fence=False), now_ms=1)
    assert isinstance(stale, ApiError)
    # Its directories are free again, and the session of its former life is no other broker's.
    assert run(controller, register(controller, registration_request(1, start=1), now_ms=1)) > epoch
    assert not run(controller, heartbeat(controller, 1, now_ms=2)).is_fenced


def test_a_broker_that_is_not_there_cannot_be_unregistered():
    assert make_controller(brokers=[1]).cluster.unregister_broker(2) == ApiError(
        ErrorCode.BROKER_ID_NOT_REGISTERED, "Broker ID 2 is not currently registered"
    )


def test_a_controller_registers_and_says_nothing_twice():
    controller = make_controller(metadata_version="3.7-IV0")

    first = register_controller(controller, controller_request())
    run(controller, first)
    again = register_controller(controller, controller_request())
    restarted = register_controller(controller, controller_request(start=1))
    run(controller, restarted)

    ((record, version),) = first.records
    assert isinstance(record, RegisterControllerRecord)
    assert (version, record.zk_migration_ready) == (0, False)
    assert again.records == ()
    registration = controller.state.image.cluster.controllers[3001]
    assert registration.incarnation_id == incarnation(3001, 1)
    assert [(endpoint.name, endpoint.port) for endpoint in registration.end_points] == [("CONTROLLER", 9093)]
    assert {feature.name for feature in registration.features} >= {"metadata.version", "kraft.version"}


@pytest.mark.parametrize(
    ("at", "kraft_version", "release", "message"),
    [
        ("3.6-IV2", 0, "3.9", "The current MetadataVersion is too old to support controller registrations."),
        (
            "3.9-IV0",
            0,
            "3.8",
            (
                "Unable to register because the controller does not support finalized version 21 of metadata.version. "
                "The controller wants a version between 1 and 20, inclusive."
            ),
        ),
        (
            "3.7-IV4",
            1,
            "3.8",
            (
                "Unable to register because the controller does not support finalized version 1 of kraft.version. "
                "The controller wants a version between 0 and 0, inclusive."
            ),
        ),
    ],
)
def test_a_controller_that_does_not_fit_is_refused(at, kraft_version, release, message):
    controller = make_controller(release="3.9", metadata_version=at)

    refused = register_controller(controller, controller_request(release=release), kraft_version)

    assert refused == ApiError(ErrorCode.UNSUPPORTED_VERSION, message)


def test_a_controller_is_unregistered_from_4_4_on():
    controller = make_controller(metadata_version="4.4-IV2")
    run(controller, register_controller(controller, controller_request()))

    result = controller.cluster.unregister_controller(3001)
    run(controller, result)

    assert [(type(record).__name__, version) for record, version in result.records] == [
        ("UnregisterControllerRecord", 0)
    ]
    assert not controller.state.image.cluster.controllers
    assert controller.cluster.unregister_controller(3001) == ApiError(
        ErrorCode.CONTROLLER_ID_NOT_REGISTERED, "Controller ID 3001 is not currently registered."
    )


def test_below_4_4_a_controller_stays_registered():
    controller = make_controller(metadata_version="4.4-IV1")
    run(controller, register_controller(controller, controller_request()))

    assert controller.cluster.unregister_controller(3001) == ApiError(
        ErrorCode.UNSUPPORTED_VERSION, "The current MetadataVersion is too old to support controller unregistration."
    )
