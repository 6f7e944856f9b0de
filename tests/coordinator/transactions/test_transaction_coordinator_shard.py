"""The way of a transaction from its first request to its last marker."""

from transaction_world import FIRST_PRODUCER_ID, P0, P1, TransactionWorld

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.protocol.error_codes import ErrorCode

NONE = ErrorCode.NONE


def test_a_transaction_is_complete_when_all_partitions_have_their_marker() -> None:
    world = TransactionWorld("3.9", level=0)
    assert world.init() == (NONE, FIRST_PRODUCER_ID, 0)
    assert world.add(P0, P1) == {P0: NONE, P1: NONE}
    assert world.end() == (NONE, -1, -1)
    (markers,) = world.markers
    assert (markers.partitions, markers.is_commit, markers.coordinator_epoch) == ((P0, P1), True, 7)
    assert (markers.producer_id, markers.producer_epoch) == (FIRST_PRODUCER_ID, 0)
    world.write_markers()
    states = [record.value.transaction_status for record in world.written if record.value is not None]
    assert states == [
        TransactionState.EMPTY,
        TransactionState.ONGOING,
        TransactionState.PREPARE_COMMIT,
        TransactionState.COMPLETE_COMMIT,
    ]
    assert [record.version for record in world.written] == [0, 0, 0, 0]


def test_with_transaction_version_2_each_transaction_has_an_epoch_of_its_own() -> None:
    world = TransactionWorld()
    assert world.init() == (NONE, FIRST_PRODUCER_ID, 0)
    assert world.add(P0, version=5) == {P0: NONE}
    assert world.end(version=5) == (NONE, FIRST_PRODUCER_ID, 1)
    assert world.markers[0].producer_epoch == 1
    assert world.markers[0].transaction_version == 2
    world.write_markers()
    assert world.end(version=5) == (NONE, FIRST_PRODUCER_ID, 1)
    assert world.add(P0, version=5) == {P0: ErrorCode.PRODUCER_FENCED}
    assert world.add(P0, version=5, epoch=1) == {P0: NONE}
