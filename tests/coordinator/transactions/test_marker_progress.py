"""From the decision to the record that completes the transaction."""

import pytest
from transaction_world import P0, P1, P2, TransactionWorld

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.protocol.error_codes import ErrorCode


def decided(**more: int) -> TransactionWorld:
    world = TransactionWorld(**more)  # type: ignore[arg-type]
    world.init()
    world.add(P0, P1, P2)
    world.end()
    return world


def state(world: TransactionWorld) -> TransactionState:
    found = world.state()
    assert found is not None
    return found.state


def test_refused_partitions_are_sent_again_and_written_ones_are_not() -> None:
    world = decided()
    world.write_markers(ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert [markers.partitions for markers in world.markers] == [(P1, P2)]
    assert [topic.partitions for topic in world.describe().topics] == [(1, 2)]
    world.write_markers(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, ErrorCode.NONE)
    assert state(world) is TransactionState.COMPLETE_COMMIT


def test_results_may_come_in_parts_and_twice() -> None:
    world = decided()
    (markers,) = world.markers
    world.answer_markers(markers, {P1: ErrorCode.NONE})
    world.answer_markers(markers, {P1: ErrorCode.NONE})
    world.answer_markers(markers, {P1: ErrorCode.REQUEST_TIMED_OUT})
    assert world.markers == [markers], "it was written"
    world.answer_markers(markers, {P0: ErrorCode.NONE, P2: ErrorCode.NONE})
    written = len(world.log)
    world.answer_markers(markers, {P2: ErrorCode.NONE})
    assert (state(world), len(world.log)) == (TransactionState.COMPLETE_COMMIT, written)


@pytest.mark.parametrize("error", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED])
def test_a_refused_epoch_ends_the_attempt(error: ErrorCode) -> None:
    world = decided()
    world.write_markers(ErrorCode.NONE, error, ErrorCode.NONE)
    assert (world.markers, state(world)) == ([], TransactionState.PREPARE_COMMIT)


def test_results_of_an_earlier_transaction_do_not_count() -> None:
    world = TransactionWorld()
    world.init()
    world.add(P0, version=5)
    world.end(version=5)
    (old,) = world.markers
    world.write_markers()
    world.add(P0, version=5, epoch=1)
    world.end(version=5, epoch=1)
    world.answer_markers(old, {P0: ErrorCode.NONE})
    assert state(world) is TransactionState.PREPARE_COMMIT


def test_deleted_partitions_need_no_marker() -> None:
    world = decided()
    (markers,) = world.markers
    world.delete(P0, P1)
    assert state(world) is TransactionState.PREPARE_COMMIT
    world.answer_markers(markers, {P2: ErrorCode.NONE})
    assert state(world) is TransactionState.COMPLETE_COMMIT
    world = decided()
    world.delete(P0, P1, P2)
    assert state(world) is TransactionState.COMPLETE_COMMIT


def test_a_refused_record_of_completion_is_written_later() -> None:
    world = decided()
    world.refuses_with = ErrorCode.NOT_ENOUGH_REPLICAS
    world.write_markers()
    assert state(world) is TransactionState.PREPARE_COMMIT
    world.advance(500)
    assert state(world) is TransactionState.PREPARE_COMMIT
    world.refuses_with = None
    world.advance(499)
    assert state(world) is TransactionState.PREPARE_COMMIT
    world.advance(1)
    assert state(world) is TransactionState.COMPLETE_COMMIT


def test_the_next_leader_sends_the_markers_again_with_its_epoch() -> None:
    world = decided()
    (markers,) = world.markers
    world.elect()
    (again,) = world.markers
    assert again.coordinator_epoch == markers.coordinator_epoch + 1
    assert (again.partitions, again.producer_epoch, again.is_commit) == (markers.partitions, 0, True)


def test_markers_sent_again_have_the_newest_leader_epoch() -> None:
    world = decided()
    (markers,) = world.markers
    world.shard.context.coordinator_epoch = 9
    world.write_markers(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert (markers.coordinator_epoch, world.markers[0].coordinator_epoch) == (7, 9)
