"""InitProducerId: who gets which id and epoch, and who is fenced."""

from typing import Any

import pytest
from transaction_world import FIRST_PRODUCER_ID, P0, TransactionWorld

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.protocol.error_codes import ErrorCode

PID = FIRST_PRODUCER_ID
LAST_EPOCH = 32766
CONCURRENT = (ErrorCode.CONCURRENT_TRANSACTIONS, -1, -1)
FENCED = (ErrorCode.PRODUCER_FENCED, -1, -1)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"id_": ""}, ErrorCode.INVALID_REQUEST),
        ({"timeout_ms": 0}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"timeout_ms": 900_001}, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ({"enable2pc": True, "version": 6}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ({"keep_prepared_txn": True, "version": 6}, ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_bad_requests_get_kafkas_error_and_write_nothing(request_: dict[str, Any], error: ErrorCode) -> None:
    world = TransactionWorld()
    assert world.init(**request_) == (error, -1, -1)
    assert world.log == []


def test_a_new_producer_gets_the_next_epoch_of_the_same_id() -> None:
    world = TransactionWorld()
    assert [world.init() for _ in range(2)] == [(ErrorCode.NONE, PID, 0), (ErrorCode.NONE, PID, 1)]


def test_without_a_producer_id_the_client_comes_again() -> None:
    world = TransactionWorld()
    world.has_producer_ids = False
    assert world.init() == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, -1, -1)


def test_a_producer_goes_on_with_its_epoch_and_may_repeat_the_request() -> None:
    world = TransactionWorld()
    world.init()
    assert world.init(producer_id=PID, epoch=0) == (ErrorCode.NONE, PID, 1)
    assert world.init(producer_id=PID, epoch=0) == (ErrorCode.NONE, PID, 1)
    assert world.init(producer_id=PID, epoch=1) == (ErrorCode.NONE, PID, 2)
    assert world.init(producer_id=PID, epoch=0) == FENCED
    assert world.init(producer_id=PID + 5, epoch=2) == FENCED


def test_a_repeated_request_is_fenced_once_another_producer_has_come() -> None:
    world = TransactionWorld()
    world.init()
    world.init(producer_id=PID, epoch=0)
    world.init()
    assert world.init(producer_id=PID, epoch=0) == FENCED


def test_clients_before_v4_learn_of_fencing_as_an_invalid_epoch() -> None:
    world = TransactionWorld()
    world.init()
    assert world.init(producer_id=PID, epoch=7, version=3) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1, -1)


def test_a_producer_whose_id_has_expired_gets_a_new_one() -> None:
    world = TransactionWorld()
    assert world.init(producer_id=77, epoch=9) == (ErrorCode.NONE, PID, 0)


@pytest.mark.parametrize(
    ("release", "level", "fenced_epoch"),
    [("3.9", 0, 1), ("3.9", 2, 1), ("4.0", 1, 1), ("4.0", 2, 2), ("4.1", 2, 1), ("4.4", 0, 1), ("4.4", 2, 1)],
)
def test_an_open_transaction_is_aborted_with_a_new_epoch_before_the_next_producer_comes(
    release: str, level: int, fenced_epoch: int
) -> None:
    world = TransactionWorld(release, level)
    world.init()
    world.add(P0)
    assert world.init() == CONCURRENT
    state = world.state()
    assert state is not None
    assert (state.state, state.producer_epoch) == (TransactionState.PREPARE_ABORT, fenced_epoch)
    assert (world.markers[0].producer_epoch, world.markers[0].is_commit) == (fenced_epoch, False)
    assert world.init() == CONCURRENT
    world.write_markers()
    assert world.init() == (ErrorCode.NONE, PID, fenced_epoch + 1)
    assert world.end(epoch=0) == (ErrorCode.PRODUCER_FENCED, -1, -1)


@pytest.mark.slow
def test_when_the_epochs_are_used_up_there_is_a_new_id() -> None:
    world = TransactionWorld("3.9", 0)
    for _ in range(LAST_EPOCH + 1):
        world.init()
    assert world.init(producer_id=PID, epoch=LAST_EPOCH - 1) == (ErrorCode.UNKNOWN_SERVER_ERROR, -1, -1)
    world.has_producer_ids = False
    assert world.init() == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, -1, -1)
    world.has_producer_ids = True
    rotated = (ErrorCode.NONE, PID + 1, 0)
    assert world.init(producer_id=PID, epoch=LAST_EPOCH) == rotated
    assert world.init(producer_id=PID, epoch=LAST_EPOCH) == rotated, "the response may be lost"
    assert world.init(producer_id=PID, epoch=5) == FENCED


@pytest.mark.slow
def test_a_transaction_with_the_last_epoch_can_be_fenced() -> None:
    world = TransactionWorld("3.9", 0)
    for _ in range(LAST_EPOCH + 1):
        world.init()
    world.add(P0, epoch=LAST_EPOCH)
    assert world.init() == CONCURRENT
    assert world.markers[0].producer_epoch == LAST_EPOCH + 1
    world.write_markers()
    assert world.init() == (ErrorCode.NONE, PID + 1, 0)


def test_two_phase_commit_has_no_timeout() -> None:
    world = TransactionWorld(two_phase_commit_enable=True)
    assert world.init(enable2pc=True, timeout_ms=0, version=6) == (ErrorCode.NONE, PID, 0)
    world.add(P0, version=5)
    world.advance(2**31)
    assert world.describe().transaction_state == "Ongoing"
