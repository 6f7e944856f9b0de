"""Timeouts abort transactions; unused transactional ids expire."""

from transaction_world import FIRST_PRODUCER_ID, P0, TransactionWorld

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.coordinator.transactions.transaction_timers import IDS_AT_ONCE, TOMBSTONES_AT_ONCE
from falkirk.protocol.error_codes import ErrorCode

DAY_MS = 86_400_000


def test_a_transaction_is_aborted_with_a_new_epoch_when_its_time_is_over() -> None:
    world = TransactionWorld("3.9", 0)
    world.init(timeout_ms=25_000)
    world.add(P0)
    world.advance(20_000)
    assert world.describe().transaction_state == "Ongoing"
    world.advance(9_000)
    assert world.describe().transaction_state == "Ongoing", "the next check is at 30 s"
    world.advance(1_000)
    assert world.describe().transaction_state == "PrepareAbort"
    assert world.markers[0].producer_epoch == 1
    world.write_markers()
    assert world.end() == (ErrorCode.PRODUCER_FENCED, -1, -1)


def test_many_timeouts_are_handled_in_slices() -> None:
    world = TransactionWorld()
    for number in range(30):
        world.init(id_=str(number), timeout_ms=1_000)
        world.add(P0, id_=str(number), producer_id=FIRST_PRODUCER_ID + number)
    world.advance(10_000)
    assert len(world.markers) == 30
    world.advance(10_000)
    assert len(world.markers) == 30


def test_an_open_transaction_does_not_time_out_early_at_a_new_leader() -> None:
    world = TransactionWorld()
    world.init(timeout_ms=60_000)
    world.add(P0)
    world.advance(30_000)
    world.elect()
    world.advance(30_000)
    assert world.describe().transaction_state == "Ongoing"
    world.advance(10_000)
    assert world.describe().transaction_state == "PrepareAbort"


def test_idle_ids_expire_and_open_transactions_do_not() -> None:
    world = TransactionWorld()
    world.init(id_="empty")
    world.init(id_="open")
    world.init(id_="done")
    world.add(P0, id_="done", producer_id=FIRST_PRODUCER_ID + 2)
    world.end(id_="done", producer_id=FIRST_PRODUCER_ID + 2)
    world.write_markers()
    world.shard.context.timers.cancel("abort-timed-out-transactions")
    world.add(P0, id_="open", producer_id=FIRST_PRODUCER_ID + 1)
    world.advance(7 * DAY_MS - 1)
    assert world.list() == ["done", "empty", "open"]
    world.advance(3_600_000)
    assert world.list() == ["open"]
    assert world.describe("empty").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    world.elect()
    assert world.list() == ["open"]


def test_an_expired_id_begins_with_a_new_producer_id() -> None:
    world = TransactionWorld()
    world.init()
    world.advance(8 * DAY_MS)
    assert world.init() == (ErrorCode.NONE, FIRST_PRODUCER_ID + 1, 0)


def test_expiry_writes_a_bounded_number_of_tombstones_at_once() -> None:
    world = TransactionWorld()
    count = 2 * TOMBSTONES_AT_ONCE + 1
    for number in range(count):
        world.init(id_=str(number))
    written = len(world.log)
    world.now_ms += 8 * DAY_MS
    context = world.shard.context
    context.now_ms = world.now_ms
    sizes = []
    while (action := context.timers.pop_due(world.now_ms)) is not None:
        outcome = action()
        sizes.append(len(outcome.records))
        world.apply(outcome)
    while context.slices:
        outcome = context.slices.pop(next(iter(context.slices)))()
        sizes.append(len(outcome.records))
        world.apply(outcome)
    assert max(sizes) == TOMBSTONES_AT_ONCE
    assert (sum(sizes), len(world.log) - written) == (count, count)
    assert IDS_AT_ONCE > TOMBSTONES_AT_ONCE
    assert world.list() == []


def test_tombstones_that_the_log_refuses_are_written_at_the_next_time() -> None:
    world = TransactionWorld()
    world.init()
    world.refuses_with = ErrorCode.NOT_ENOUGH_REPLICAS
    world.advance(8 * DAY_MS)
    assert world.list() == ["tx"]
    world.refuses_with = None
    world.advance(3_600_000)
    assert world.list() == []


def test_aborts_that_the_log_refuses_are_decided_at_the_next_time() -> None:
    world = TransactionWorld()
    world.init(timeout_ms=1)
    world.add(P0)
    world.refuses_with = ErrorCode.NOT_ENOUGH_REPLICAS
    world.advance(10_000)
    state = world.state()
    assert state is not None
    assert (state.state, state.producer_epoch, world.markers) == (TransactionState.ONGOING, 0, [])
    world.refuses_with = None
    world.advance(10_000)
    state = world.state()
    assert state is not None
    assert (state.state, state.producer_epoch) == (TransactionState.PREPARE_ABORT, 1)
