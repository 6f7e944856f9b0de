"""Which refusals of nodes are told to the operator, and how often."""

from broker_requests import register, registration_request
from controllers import incarnation, make_controller, run

from falkirk.metadata.controller.cluster.refusals import REMEMBERED_MAX, Refusal, Refusals
from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import BrokerHeartbeatRequest, ControllerRegistrationRequest
from falkirk.protocol.messages.broker_registration_request import Feature
from falkirk.protocol.messages.controller_registration_request import Feature as ControllerFeature

OLD = [Feature("metadata.version", 7, 20)]


def told(controller):
    return [
        (refusal.api, refusal.node_id, refusal.error.error_code, refusal.error.message)
        for refusal in controller.cluster.refusals.pop_unreported()
    ]


def test_a_refused_registration_is_told_once_with_feature_and_level():
    controller = make_controller()

    for _ in range(3):
        register(controller, registration_request(features=OLD))

    message = (
        "Unable to register because the broker does not support finalized version 33 of metadata.version. "
        "The broker wants a version between 7 and 20, inclusive."
    )
    assert told(controller) == [("BrokerRegistration", 1, ErrorCode.UNSUPPORTED_VERSION, message)]
    assert told(controller) == []


def test_another_reason_and_another_broker_are_told_anew():
    controller = make_controller()
    register(controller, registration_request(features=OLD))
    told(controller)

    register(controller, registration_request(log_dirs=(b"d" * 16, b"d" * 16)))
    register(controller, registration_request(2, features=OLD))
    register(controller, registration_request(features=OLD))

    assert [(node_id, error_code) for _, node_id, error_code, _ in told(controller)] == [
        (1, ErrorCode.INVALID_REGISTRATION),
        (2, ErrorCode.UNSUPPORTED_VERSION),
        (1, ErrorCode.UNSUPPORTED_VERSION),
    ]


def test_a_broker_that_was_taken_in_between_is_told_of_again():
    controller = make_controller()
    register(controller, registration_request(features=OLD))
    run(controller, register(controller, registration_request()))
    told(controller)

    register(controller, registration_request(features=OLD))

    assert len(told(controller)) == 1


def test_a_broker_with_the_id_of_one_that_lives_is_told():
    controller = make_controller(brokers=[1])

    register(controller, registration_request(start=1))

    ((api, node_id, error_code, _),) = told(controller)
    assert (api, node_id, error_code) == ("BrokerRegistration", 1, ErrorCode.DUPLICATE_BROKER_REGISTRATION)


def test_heartbeats_of_a_broker_that_is_not_registered_are_told_once():
    controller = make_controller()

    for now_ms in range(3):
        controller.cluster.heartbeat(BrokerHeartbeatRequest(7, 12, 100, want_fence=False), now_ms=now_ms)

    reason = "No broker registration found for broker id 7"
    assert told(controller) == [("BrokerHeartbeat", 7, ErrorCode.STALE_BROKER_EPOCH, reason)]


def test_heartbeats_are_told_of_again_once_one_was_taken():
    controller = make_controller(brokers=[1])
    epoch = controller.state.image.cluster.brokers[1].broker_epoch

    for broker_epoch in (epoch + 1, epoch, epoch + 1):
        controller.cluster.heartbeat(BrokerHeartbeatRequest(1, broker_epoch, 100, want_fence=False), now_ms=0)

    assert [error_code for _, _, error_code, _ in told(controller)] == [ErrorCode.STALE_BROKER_EPOCH] * 2


def test_a_controller_that_lacks_a_finalized_level_is_told():
    controller = make_controller()
    old = [ControllerFeature("metadata.version", 7, 20)]

    for _ in range(2):
        request = ControllerRegistrationRequest(3001, incarnation(3001, 0), features=old)
        controller.cluster.register_controller(request, kraft_version=0)

    ((api, node_id, _, message),) = told(controller)
    assert (api, node_id) == ("ControllerRegistration", 3001)
    assert message.startswith("Unable to register because the controller does not support finalized version 33")


def test_made_up_ids_do_not_fill_the_memory():
    refusals, error = Refusals(), ApiError(ErrorCode.STALE_BROKER_EPOCH, "who is that?")

    for node_id in range(REMEMBERED_MAX + 1):
        refusals.note("BrokerHeartbeat", node_id, error)
    refusals.pop_unreported()
    refusals.note("BrokerHeartbeat", REMEMBERED_MAX, error)
    assert refusals.pop_unreported() == []
    refusals.note("BrokerHeartbeat", 0, error)

    # The oldest one was given up for the newest.
    assert refusals.pop_unreported() == [Refusal("BrokerHeartbeat", 0, error)]
