"""AddPartitionsToTxn and AddOffsetsToTxn: who may add and verify what."""

import pytest
from transaction_world import FIRST_PRODUCER_ID, P0, P1, TransactionWorld

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.topic_partition import TopicPartition

PID = FIRST_PRODUCER_ID
NONE = ErrorCode.NONE


def begun(release: str = "4.4", level: int = 2) -> TransactionWorld:
    world = TransactionWorld(release, level)
    world.init()
    world.add(P0)
    return world


@pytest.mark.parametrize(
    ("producer_id", "epoch", "id_", "error"),
    [
        (PID, 0, "", ErrorCode.INVALID_REQUEST),
        (PID, 0, "other", ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (PID + 1, 0, "tx", ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (PID, 1, "tx", ErrorCode.PRODUCER_FENCED),
        (PID, -1, "tx", ErrorCode.PRODUCER_FENCED),
    ],
)
def test_only_the_owner_adds_partitions_and_offsets(producer_id: int, epoch: int, id_: str, error: ErrorCode) -> None:
    world = begun()
    written = len(world.log)
    for verify_only in (False, True):
        added = world.add(P1, producer_id=producer_id, epoch=epoch, id_=id_, version=4, verify_only=verify_only)
        assert added == {P1: error}
    assert world.add_offsets(producer_id=producer_id, epoch=epoch, id_=id_) is error
    assert len(world.log) == written


def test_old_clients_learn_of_fencing_as_an_invalid_epoch() -> None:
    world = begun()
    assert world.add(P1, epoch=1, version=1) == {P1: ErrorCode.INVALID_PRODUCER_EPOCH}
    assert world.add_offsets(epoch=1, version=1) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_known_partitions_write_no_record() -> None:
    world = begun()
    written = len(world.log)
    assert world.add(P0) == {P0: NONE}
    assert len(world.log) == written
    assert world.add(P0, P1) == {P0: NONE, P1: NONE}
    assert len(world.log) == written + 1


def test_offsets_enter_the_transaction_as_a_partition_of_their_topic() -> None:
    world = begun()
    assert world.add_offsets() is NONE
    world.end()
    assert world.markers[0].partitions == (TopicPartition("__consumer_offsets", 3), P0)


def test_a_transaction_begins_anew_with_the_partitions_that_are_added() -> None:
    world = begun()
    world.end()
    world.write_markers()
    world.now_ms += 5
    assert world.add(P1) == {P1: NONE}
    described = world.describe()
    assert described.transaction_start_time_ms == world.now_ms
    assert [(topic.topic, topic.partitions) for topic in described.topics] == [("t", (1,))]


@pytest.mark.parametrize(
    ("release", "missing"),
    [
        ("3.7", ErrorCode.INVALID_TXN_STATE),
        ("3.8", ErrorCode.TRANSACTION_ABORTABLE),
        ("4.4", ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_verification_finds_what_is_in_the_transaction_and_writes_nothing(release: str, missing: ErrorCode) -> None:
    world = begun(release, 0)
    written = len(world.log)
    assert world.add(P0, P1, version=4, verify_only=True) == {P0: NONE, P1: missing}
    assert len(world.log) == written


@pytest.mark.parametrize(
    ("release", "of_another"), [("3.9", ErrorCode.PRODUCER_FENCED), ("4.0", ErrorCode.CONCURRENT_TRANSACTIONS)]
)
def test_while_markers_are_written_partitions_have_to_wait(release: str, of_another: ErrorCode) -> None:
    world = begun(release, 0)
    world.end()
    assert world.add(P1) == {P1: ErrorCode.CONCURRENT_TRANSACTIONS}
    assert world.add(P0, version=4, verify_only=True) == {P0: ErrorCode.CONCURRENT_TRANSACTIONS}
    assert world.add(P1, epoch=9) == {P1: of_another}
    assert world.add(P0, version=4, verify_only=True, epoch=9) == {P0: ErrorCode.PRODUCER_FENCED}


def test_versions_of_brokers_make_it_a_transaction_of_a_client_with_transaction_version_2() -> None:
    for version, client in ((3, 0), (4, 2), (5, 2)):
        world = TransactionWorld()
        world.init()
        world.add(P0, version=version)
        state = world.state()
        assert state is not None
        assert state.client_transaction_version == client
