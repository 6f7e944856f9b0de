"""Changes of client quotas."""

import math

import pytest
from controllers import make_controller, run

from falkirk.metadata.requests.api_error import NO_ERROR
from falkirk.protocol.error_codes import ErrorCode
from falkirk.slices import exhaust

USER = (("user", "alice"),)
CLIENT = (("client-id", "c"),)
BOTH = (("client-id", None), ("user", "alice"))
IP = (("ip", "10.0.0.1"),)
RATE = "producer_byte_rate"


def alter(controller, *alterations):
    """Change quotas; return the errors and the number of records."""
    result = exhaust(controller.client_quotas.alter_client_quotas(alterations))
    return run(controller, result), len(result.records)


def quotas_of(controller):
    return {entity: dict(quotas) for entity, quotas in controller.state.image.client_quotas.entities.items()}


def test_quotas_are_set_changed_and_removed():
    controller = make_controller()
    changes = (
        (USER, [(RATE, 5.0), ("request_percentage", 0.5)]),
        (BOTH, [(RATE, 6.0)]),
        (IP, [("connection_creation_rate", 7.0)]),
    )
    assert alter(controller, *changes) == (dict.fromkeys((USER, BOTH, IP), NO_ERROR), 4)
    assert alter(controller, (USER, [(RATE, None), ("request_percentage", 0.5)])) == ({USER: NO_ERROR}, 1)
    assert quotas_of(controller) == {
        USER: {"request_percentage": 0.5},
        BOTH: {RATE: 6.0},
        IP: {"connection_creation_rate": 7.0},
    }
    # What is not there need not be removed.
    assert alter(controller, (USER, [(RATE, None), ("no.such.quota", None)])) == ({USER: NO_ERROR}, 0)


@pytest.mark.parametrize(
    ("entity", "key", "value"),
    [
        ((), RATE, 1.0),
        ((("group", "g"),), RATE, 1.0),
        ((("user", ""),), RATE, 1.0),
        ((("ip", "10.0.0.1"), ("user", "alice")), RATE, 1.0),
        ((("ip", "no host"),), "connection_creation_rate", 1.0),
        ((("ip", "300.0.0.1"),), "connection_creation_rate", 1.0),
        (IP, RATE, 1.0),
        (USER, "connection_creation_rate", 1.0),
        (USER, "no.such.quota", 1.0),
        (USER, RATE, 0.0),
        (USER, RATE, -1.0),
        (USER, RATE, 1.5),
        (USER, RATE, 2.0**64),
        (USER, "request_percentage", math.nan),
        (USER, "request_percentage", math.inf),
        (IP, "connection_creation_rate", 2.0**31),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_with_all_of_its_entity(entity, key, value):
    controller = make_controller()
    errors, count = alter(controller, (entity, [("consumer_byte_rate", 3.0), (key, value)]), (CLIENT, [(RATE, 2.0)]))
    assert (errors[entity].error_code, errors[CLIENT], count) == (ErrorCode.INVALID_REQUEST, NO_ERROR, 1)
    assert errors[entity].message


@pytest.mark.parametrize(
    ("entity", "key", "value", "message"),
    [
        (USER, RATE, 0.0, "Quota producer_byte_rate must be greater than 0"),
        (USER, RATE, -1.0, "Quota producer_byte_rate must be greater than 0"),
        (USER, RATE, 1.5, "producer_byte_rate cannot be a fractional value."),
        (USER, RATE, 1e30, "Proposed value for producer_byte_rate is too large for a LONG."),
        (USER, RATE, math.inf, "Proposed value for producer_byte_rate is too large for a LONG."),
        (USER, "request_percentage", 0.0, "Quota request_percentage must be greater than 0"),
        (USER, "bogus", 1.0, "Invalid configuration key bogus"),
        (USER, "connection_creation_rate", 1.0, "Invalid configuration key connection_creation_rate"),
        (IP, RATE, 1.0, "Invalid configuration key producer_byte_rate"),
        (IP, "connection_creation_rate", 1.5, "connection_creation_rate cannot be a fractional value."),
        ((("ip", "not an ip"),), "connection_creation_rate", 1.0, "not an ip is not a valid IP or resolvable host."),
        (
            (("ip", "RFC2606.invalid"),),
            "connection_creation_rate",
            1.0,
            "RFC2606.invalid is not a valid IP or resolvable host.",
        ),
        (
            (("user", "a"), ("ip", "1.2.3.4")),
            RATE,
            1.0,
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        ((), RATE, 1.0, "Invalid empty client quota entity"),
        ((("bogus", "a"),), RATE, 1.0, "Unhandled client quota entity type: bogus"),
        ((("user", ""),), RATE, 1.0, "Empty user not supported"),
    ],
)
def test_refusals_have_the_texts_of_kafka_431(entity, key, value, message):
    errors, _ = alter(make_controller(), (entity, [(key, value)]))
    assert errors[entity].message == message


@pytest.mark.parametrize(
    "entity",
    [
        (("ip", None),),
        (("ip", "::1"),),
        (("ip", "host-1.example"),),
        (("user", None),),
        (("client-id", None), ("user", None)),
    ],
    ids=str,
)
def test_defaults_addresses_and_host_names_are_entities(entity):
    key = "connection_creation_rate" if entity[0][0] == "ip" else RATE
    assert alter(make_controller(), (entity, [(key, 1.0)]))[0] == {entity: NO_ERROR}


def test_a_quota_or_an_entity_that_stands_twice_is_refused():
    controller = make_controller()
    errors, count = alter(
        controller, (USER, [(RATE, 1.0), (RATE, 2.0)]), (CLIENT, [(RATE, 1.0)]), (CLIENT, [(RATE, 1.0)])
    )
    assert ({error.error_code for error in errors.values()}, count) == ({ErrorCode.INVALID_REQUEST}, 0)


def test_a_request_may_not_change_too_much():
    changes = [((("user", str(number)),), [(RATE, 1.0)]) for number in range(10_001)]
    errors, count = alter(make_controller(), *changes)
    assert ({error.error_code for error in errors.values()}, count) == ({ErrorCode.POLICY_VIOLATION}, 0)
