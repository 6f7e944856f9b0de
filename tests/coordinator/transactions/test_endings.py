"""EndTxn in every state, by clients of each transaction.version, as Kafka's tables have it."""

import pytest
from transaction_world import FIRST_PRODUCER_ID, P0, TransactionWorld

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.protocol.error_codes import ErrorCode

PID = FIRST_PRODUCER_ID
LAST_EPOCH = 32766
NONE = ErrorCode.NONE
FENCED = ErrorCode.PRODUCER_FENCED
INVALID = ErrorCode.INVALID_TXN_STATE
CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS


def in_state(state: TransactionState, *, version: int, release: str = "4.4", level: int = 2) -> TransactionWorld:
    """Lead the id to a state; the producer's epoch is 0 up to the decision."""
    world = TransactionWorld(release, level)
    world.init()
    if state is TransactionState.EMPTY:
        return world
    world.add(P0, version=5 if version > 4 else 3)
    if state is TransactionState.ONGOING:
        return world
    world.end(commit=state in (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT), version=version)
    if state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT):
        world.write_markers()
    return world


@pytest.mark.parametrize(
    ("state", "abort", "commit"),
    [
        (TransactionState.EMPTY, INVALID, INVALID),
        (TransactionState.ONGOING, NONE, NONE),
        (TransactionState.PREPARE_COMMIT, CONCURRENT, CONCURRENT),
        (TransactionState.PREPARE_ABORT, CONCURRENT, CONCURRENT),
        (TransactionState.COMPLETE_COMMIT, INVALID, NONE),
        (TransactionState.COMPLETE_ABORT, NONE, INVALID),
    ],
)
@pytest.mark.parametrize(("release", "level"), [("3.7", 0), ("4.0", 1), ("4.4", 2)])
def test_clients_before_transaction_version_2(
    state: TransactionState, abort: ErrorCode, commit: ErrorCode, release: str, level: int
) -> None:
    for is_commit, error in ((False, abort), (True, commit)):
        assert in_state(state, version=4, release=release, level=level).end(commit=is_commit) == (error, -1, -1)
        world = in_state(state, version=4, release=release, level=level)
        assert world.end(commit=is_commit, epoch=1)[0] is FENCED
        assert world.end(commit=is_commit, epoch=1, version=1)[0] is ErrorCode.INVALID_PRODUCER_EPOCH
        assert world.end(commit=is_commit, producer_id=PID + 1)[0] is ErrorCode.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize(
    ("state", "abort_retry", "abort", "commit_retry", "commit"),
    [
        (TransactionState.EMPTY, FENCED, NONE, FENCED, INVALID),
        (TransactionState.ONGOING, FENCED, NONE, FENCED, NONE),
        (TransactionState.PREPARE_COMMIT, CONCURRENT, CONCURRENT, CONCURRENT, CONCURRENT),
        (TransactionState.PREPARE_ABORT, CONCURRENT, CONCURRENT, CONCURRENT, CONCURRENT),
        (TransactionState.COMPLETE_COMMIT, INVALID, NONE, NONE, INVALID),
        (TransactionState.COMPLETE_ABORT, NONE, NONE, INVALID, INVALID),
    ],
)
def test_clients_of_transaction_version_2(
    state: TransactionState, abort_retry: ErrorCode, abort: ErrorCode, commit_retry: ErrorCode, commit: ErrorCode
) -> None:
    is_decided = state not in (TransactionState.EMPTY, TransactionState.ONGOING)
    current = 1 if is_decided else 0
    for is_commit, retry, first in ((False, abort_retry, abort), (True, commit_retry, commit)):
        world = in_state(state, version=5)
        assert world.end(commit=is_commit, epoch=current - 1, version=5)[0] is retry
        error, producer_id, epoch = world.end(commit=is_commit, epoch=current, version=5)
        assert error is first
        assert (producer_id, epoch) == ((PID, current + 1) if first is NONE else (-1, -1))
        assert in_state(state, version=5).end(commit=is_commit, epoch=current + 1, version=5)[0] in (FENCED, CONCURRENT)


def test_a_retry_gets_the_epoch_that_the_lost_response_had() -> None:
    world = in_state(TransactionState.COMPLETE_COMMIT, version=5)
    assert world.end(version=5) == (NONE, PID, 1)
    assert world.markers == []


def test_an_abort_without_partitions_ends_at_once() -> None:
    world = in_state(TransactionState.EMPTY, version=5)
    assert world.end(commit=False, version=5) == (NONE, PID, 1)
    assert world.markers[0].partitions == ()
    world.write_markers()
    state = world.state()
    assert state is not None
    assert (state.state, state.start_timestamp_ms) == (TransactionState.COMPLETE_ABORT, world.now_ms)


@pytest.mark.parametrize(
    ("id_", "error"), [("", ErrorCode.INVALID_REQUEST), ("other", ErrorCode.INVALID_PRODUCER_ID_MAPPING)]
)
@pytest.mark.parametrize("version", [4, 5])
def test_unknown_ids(id_: str, error: ErrorCode, version: int) -> None:
    assert TransactionWorld().end(id_=id_, version=version) == (error, -1, -1)


@pytest.mark.slow
@pytest.mark.parametrize("release", ["4.0", "4.4"])
def test_the_transaction_that_uses_up_the_epochs_leads_to_the_next_id(release: str) -> None:
    world = TransactionWorld(release)
    for _ in range(LAST_EPOCH + 1):
        world.init()
    world.add(P0, epoch=LAST_EPOCH, version=5)
    world.has_producer_ids = False
    assert world.end(epoch=LAST_EPOCH, version=5)[0] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.has_producer_ids = True
    assert world.end(epoch=LAST_EPOCH, version=5) == (NONE, PID + 1, 0)
    assert (world.markers[0].producer_id, world.markers[0].producer_epoch) == (PID, LAST_EPOCH + 1)
    world.write_markers()
    assert world.end(epoch=LAST_EPOCH, version=5) == (NONE, PID + 1, 0), "the response may be lost"
    assert world.end(epoch=LAST_EPOCH, commit=False, version=5)[0] is INVALID
    assert world.add(P0, producer_id=PID + 1, version=5) == {P0: NONE}
    assert world.end(producer_id=PID + 1, version=5) == (NONE, PID + 1, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("release", "next_"), [("4.2", (NONE, PID + 2, 0)), ("4.4", (NONE, PID + 1, 1))])
def test_whether_a_new_leader_knows_the_next_id_is_up_to_the_release(
    release: str, next_: tuple[ErrorCode, int, int]
) -> None:
    """Before 4.3 the next id is in no record: the id's last epoch is used up, and InitProducerId gives another."""
    world = TransactionWorld(release)
    for _ in range(LAST_EPOCH + 1):
        world.init()
    world.add(P0, epoch=LAST_EPOCH, version=5)
    world.end(epoch=LAST_EPOCH, version=5)
    world.elect()
    world.write_markers()
    assert world.init() == next_
