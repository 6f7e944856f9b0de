"""Blocks of producer ids."""

import pytest
from broker_requests import registered
from controllers import controller_of, make_controller, run

from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ProducerIdsRecord

INT64_MAX = 2**63 - 1


def allocate(controller, broker_id=1):
    result = controller.producer_ids.allocate(broker_id, registered(controller, broker_id).broker_epoch)
    response = run(controller, result)
    return response.producer_id_start, response.producer_id_len


def test_no_block_is_given_twice_not_even_by_the_next_controller():
    controller = make_controller(brokers=[1, 2])

    assert [allocate(controller, 1), allocate(controller, 2)] == [(0, 1000), (1000, 1000)]
    assert allocate(controller_of(controller.state.image)) == (2000, 1000)


def test_the_log_says_who_got_the_block():
    controller = make_controller(brokers=[2])
    epoch = registered(controller, 2).broker_epoch

    result = controller.producer_ids.allocate(2, epoch)

    assert result.records == ((ProducerIdsRecord(2, epoch, 1000), 0),)


@pytest.mark.parametrize("epoch_off", [-1, 1])
def test_a_broker_of_another_life_gets_none(epoch_off):
    controller = make_controller(brokers=[1])
    epoch = registered(controller).broker_epoch

    for broker_id, broker_epoch in ((1, epoch + epoch_off), (2, epoch)):
        error = controller.producer_ids.allocate(broker_id, broker_epoch)
        assert isinstance(error, ApiError)
        assert error.error_code is ErrorCode.STALE_BROKER_EPOCH


def test_when_all_ids_are_gone_no_more_are_given():
    last = make_controller(brokers=[1], records=[ProducerIdsRecord(1, 1, INT64_MAX - 1000)])
    assert allocate(last) == (INT64_MAX - 1000, 1000)

    error = last.producer_ids.allocate(1, registered(last).broker_epoch)

    assert isinstance(error, ApiError)
    assert error.error_code is ErrorCode.UNKNOWN_SERVER_ERROR
