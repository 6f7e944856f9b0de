"""Brokers register: what is refused, what is written, which epoch they get."""

import pytest
from broker_requests import heartbeat, register, registered, registration_request
from controllers import Broker, directory, incarnation, make_controller, run, run_due

from falkirk.metadata.image.partition import UNASSIGNED
from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from falkirk.protocol.messages.broker_registration_request import Feature, Listener
from falkirk.protocol.uuid import uuid_text
from falkirk.versions.metadata_version import METADATA_VERSIONS

SESSION_MS = 9000


def feature_list(**ranges):
    return [Feature(name.replace("_", "."), *levels) for name, levels in ranges.items()]


@pytest.mark.parametrize(
    ("fields", "error_code", "message"),
    [
        (
            {"cluster_id": "another"},
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            "Expected cluster ID falkirk-test-cluster-AA, but got cluster ID another",
        ),
        (
            {"is_migrating_zk_broker": True},
            ErrorCode.BROKER_ID_NOT_REGISTERED,
            "Controller does not support registering ZK brokers.",
        ),
        ({"log_dirs": ()}, ErrorCode.INVALID_REGISTRATION, "No directories specified in request"),
        (
            {"log_dirs": (directory(1), UNASSIGNED)},
            ErrorCode.INVALID_REGISTRATION,
            "Reserved directory ID in request",
        ),
        (
            {"log_dirs": (directory(1), directory(1))},
            ErrorCode.INVALID_REGISTRATION,
            "Duplicate directory ID in request",
        ),
        (
            {"log_dirs": (directory(1), directory(2))},
            ErrorCode.INVALID_REGISTRATION,
            f"Broker 2 is already registered with directory {uuid_text(directory(2))}",
        ),
        (
            {"features": feature_list(group_version=(0, 1))},
            ErrorCode.INVALID_REGISTRATION,
            "Request features do not contain 'metadata.version'",
        ),
        (
            {"features": feature_list(metadata_version=(7, 32), group_version=(0, 1))},
            ErrorCode.UNSUPPORTED_VERSION,
            (
                "Unable to register because the broker does not support finalized version 33 of metadata.version. "
                "The broker wants a version between 7 and 32, inclusive."
            ),
        ),
        (
            {"features": feature_list(metadata_version=(34, 34), group_version=(0, 1))},
            ErrorCode.UNSUPPORTED_VERSION,
            (
                "Unable to register because the broker does not support finalized version 33 of metadata.version. "
                "The broker wants a version between 34 and 34, inclusive."
            ),
        ),
        (
            {"features": feature_list(metadata_version=(7, 33))},
            ErrorCode.UNSUPPORTED_VERSION,
            (
                "Unable to register because the broker does not support finalized version 1 of group.version. "
                "The broker wants a version between 0 and 0, inclusive."
            ),
        ),
    ],
)
def test_a_broker_that_does_not_fit_is_refused_in_kafkas_words(fields, error_code, message):
    controller = make_controller(brokers=[2], features={"group.version": 1})

    assert register(controller, registration_request(1, **fields)) == ApiError(error_code, message)


def test_a_broker_must_support_the_kraft_version_that_the_voters_run():
    controller = make_controller()
    request = registration_request(1, release="3.7")
    old = make_controller(release="3.7")

    refused = register(make_controller(release="3.9", metadata_version="3.7-IV4"), request, kraft_version=1)

    assert isinstance(refused, ApiError)
    assert "finalized version 1 of kraft.version" in (refused.message or "")
    assert not isinstance(register(old, request), ApiError)
    assert not isinstance(register(controller, registration_request(1), kraft_version=1), ApiError)


@pytest.mark.parametrize("level", [33, 25])
def test_a_feature_at_level_0_is_supported_by_everyone_even_if_the_request_cannot_say_so(level):
    # Versions below 4 of the request tell 1 where the lowest level is 0.
    controller = make_controller(metadata_version=level)
    request = registration_request(1, features=feature_list(metadata_version=(7, 33), share_version=(1, 2)))

    assert run(controller, register(controller, request, api_version=3)) == registered(controller, 1).broker_epoch


@pytest.mark.parametrize("at", [version for version in METADATA_VERSIONS if version.level <= 33], ids=str)
def test_a_registration_is_written_as_the_metadata_version_has_it(at):
    controller = make_controller(release="3.9" if at.level < 8 else "4.4", metadata_version=at.level)
    features = feature_list(metadata_version=(1, 33), group_version=(0, 1))
    listeners = [Listener("EXTERNAL", "b", 2, 3), Listener("A", "a", 1, 0)]
    request = registration_request(5, rack="r", features=features, listeners=listeners)
    begin = controller.state.next_offset

    result = register(controller, request)
    epoch = run(controller, result)

    (record, version), broker = result.records[-1], registered(controller, 5)
    assert isinstance(record, RegisterBrokerRecord)
    assert version == at.register_broker_record_version
    assert epoch == broker.broker_epoch == begin
    assert (broker.fenced, broker.rack, broker.incarnation_id) == (True, "r", incarnation(5))
    assert [endpoint.name for endpoint in broker.end_points] == ["A", "EXTERNAL"]
    assert [feature.name for feature in broker.features] == ["group.version", "metadata.version"]
    assert broker.log_dirs == ((directory(5),) if at.directory_assignment_supported else ())
    assert broker.cordoned_log_dirs is None


def test_directories_are_not_looked_at_where_the_log_does_not_tell_them():
    controller = make_controller(release="3.9", metadata_version="3.7-IV1", brokers=[2])

    assert not isinstance(register(controller, registration_request(1, log_dirs=())), ApiError)


def test_another_start_of_a_broker_is_refused_while_the_one_before_has_a_session():
    controller = make_controller(brokers=[1])
    request = registration_request(1, start=1)

    refused = register(controller, request, now_ms=SESSION_MS)
    taken = register(controller, request, now_ms=SESSION_MS + 1)

    assert isinstance(refused, ApiError)
    assert refused.error_code is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert refused.message is not None
    assert refused.message.startswith("Another broker is registered with that broker id.")
    assert not isinstance(taken, ApiError)


def test_a_fenced_broker_that_sends_heartbeats_is_alive_too():
    controller = make_controller(brokers=[Broker(broker_id=1, fenced=True)])
    request = registration_request(1, start=1)
    assert not isinstance(register(controller, request), ApiError)

    run(controller, heartbeat(controller, 1, now_ms=50, want_fence=True))

    assert isinstance(register(controller, request, now_ms=51), ApiError)


def test_a_broker_that_shut_down_in_order_may_come_back_at_once():
    controller = make_controller(brokers=[1, 2])
    run(controller, heartbeat(controller, 1, now_ms=10, want_shut_down=True))

    epoch = run(controller, register(controller, registration_request(1, start=1), now_ms=11))

    assert registered(controller, 1).broker_epoch == epoch > registered(controller, 2).broker_epoch


def test_the_same_start_of_a_broker_keeps_its_epoch_and_its_state():
    given = Broker(broker_id=1, in_controlled_shutdown=True)
    controller = make_controller(brokers=[given])
    before = registered(controller, 1)
    listeners = [Listener("MOVED", "elsewhere", 1, 0)]

    result = register(controller, registration_request(1, listeners=listeners, log_dirs=(directory(1, 7),)))
    epoch = run(controller, result)

    after = registered(controller, 1)
    assert epoch == before.broker_epoch == after.broker_epoch
    assert (after.fenced, after.in_controlled_shutdown) == (False, True)
    assert after.log_dirs == (directory(1, 7),)
    assert [endpoint.name for endpoint in after.end_points] == ["MOVED"]
    assert len(result.records) == 1


def test_a_broker_is_unfenced_once_it_has_read_its_own_registration():
    controller = make_controller()
    run(controller, register(controller, registration_request(1)))
    offset = controller.state.next_offset - 1

    behind = heartbeat(controller, 1, offset=offset - 1)
    caught_up = heartbeat(controller, 1, offset=offset)

    assert (behind.records, behind.response.is_caught_up, behind.response.is_fenced) == ((), False, True)
    ((record, version),) = caught_up.records
    assert (caught_up.response.is_caught_up, caught_up.response.is_fenced) == (True, False)
    assert isinstance(record, BrokerRegistrationChangeRecord)
    assert (record.fenced, version) == (-1, 0)


def test_a_broker_that_amends_its_registration_has_caught_up_when_it_has_read_that():
    controller = make_controller()
    run(controller, register(controller, registration_request(1)))
    run(controller, register(controller, registration_request(1)))
    offset = controller.state.next_offset - 1

    assert not heartbeat(controller, 1, offset=offset - 1).response.is_caught_up
    assert heartbeat(controller, 1, offset=offset).response.is_caught_up


def test_for_a_new_controller_a_broker_has_caught_up_when_it_has_read_what_was_there():
    controller = make_controller(brokers=[Broker(broker_id=1, fenced=True)])
    offset = controller.state.next_offset - 1

    assert heartbeat(controller, 1, offset=offset - 1).response.is_fenced
    assert not heartbeat(controller, 1, offset=offset).response.is_fenced


TOPIC = b"t" * 16


def partition(*, isr, leader, elr=None):
    return [
        TopicRecord("topic", TOPIC),
        PartitionRecord(
            0,
            TOPIC,
            (1, 2),
            isr,
            (),
            (),
            leader,
            0,
            0,
            0,
            (directory(1), directory(2)),
            eligible_leader_replicas=elr,
        ),
    ]


ELR = {"eligible.leader.replicas.version": 1}


@pytest.mark.parametrize(
    ("features", "api_version", "is_previous_epoch_right", "elr"),
    [
        (ELR, 4, True, (1, 2)),  # it shut down in order: it has all that it had
        (ELR, 3, True, (1, 2)),
        (ELR, 2, True, (2,)),  # it cannot say
        (ELR, 4, False, (2,)),
        ({}, 4, False, (1, 2)),
    ],
)
def test_an_unclean_shutdown_takes_a_broker_out_of_the_eligible_replicas(
    features, api_version, is_previous_epoch_right, elr
):
    controller = make_controller(
        brokers=[Broker(broker_id=1, fenced=True), Broker(broker_id=2, fenced=True)],
        features=features,
        records=partition(isr=(), leader=-1, elr=(1, 2)),
        static_configs={"min.insync.replicas": "2"},
    )
    previous = registered(controller, 1).broker_epoch - (not is_previous_epoch_right)
    begin = controller.state.next_offset

    result = register(
        controller, registration_request(1, start=1, previous_broker_epoch=previous), api_version=api_version
    )
    run(controller, result)

    found = controller.state.image.topics.partition("topic", 0)
    assert found is not None
    assert found.eligible_leader_replicas == elr
    assert isinstance(result.records[-1].record, RegisterBrokerRecord)
    # As in Kafka the epoch is that of the first record, and the broker has caught up with the last one.
    assert result.response == registered(controller, 1).broker_epoch == begin
    last = controller.state.next_offset - 1
    assert not heartbeat(controller, 1, offset=last - 1).response.is_caught_up
    assert heartbeat(controller, 1, offset=last).response.is_caught_up


def test_a_broker_that_comes_back_before_it_was_fenced_leads_nothing_any_more():
    controller = make_controller(brokers=[1, 2], records=partition(isr=(1, 2), leader=1))
    late = SESSION_MS + 1

    result = register(controller, registration_request(1, start=1), now_ms=late)
    run(controller, result, now_ms=late)

    assert [type(record) for record, _ in result.records] == [PartitionChangeRecord, RegisterBrokerRecord]
    found = controller.state.image.topics.partition("topic", 0)
    assert found is not None
    assert (found.leader, found.isr) == (2, (2,))
    # Its former life's session ends without a word: there is nobody left to fence.
    run(controller, heartbeat(controller, 2, now_ms=late))
    assert run_due(controller, late + 1) == []
