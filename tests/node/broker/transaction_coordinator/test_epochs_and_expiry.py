"""Producers whose epochs are used up, ids that nobody uses, and what no release keeps: over the wire."""

import pytest
from coordinator_topics import write
from node_network import BROKER_LISTENER
from transaction_cluster import TransactionCluster

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.protocol import codec
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import InitProducerIdRequest, TransactionLogKey, TransactionLogValue
from falkirk.versions.release import TRANSACTION_STATE

pytestmark = pytest.mark.slow
BROKER = 101
LAST_EPOCH = 32766


def a_cluster(**settings):
    cluster = TransactionCluster(brokers=1, state_partitions=1, **settings)
    cluster.create("t", factor=1, partitions=2)
    return cluster


def with_epoch(cluster, epoch, *, is_version_2=False):
    """Return a producer whose epoch is far on, as the coordinator reads it from its log."""
    producer = cluster.producer("tx", is_version_2=is_version_2)
    value = TransactionLogValue(
        producer_id=producer.producer_id,
        producer_epoch=epoch,
        transaction_timeout_ms=producer.timeout_ms,
        transaction_status=TransactionState.EMPTY,
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=cluster.network.now_ms,
        transaction_start_timestamp_ms=-1,
    )
    record = (b"\0\0" + codec.encode(TransactionLogKey("tx"), 0), b"\0\0" + codec.encode(value, 0))
    write(cluster.network, BROKER, BROKER_LISTENER, TRANSACTION_STATE, [record])
    cluster.network.restart(BROKER)
    cluster.run_until(lambda: cluster.is_running(BROKER))
    assert (cluster.describe("tx").producer_id, cluster.describe("tx").producer_epoch) == (producer.producer_id, epoch)
    producer.epoch = epoch
    return producer


def commit(producer):
    """Commit; a coordinator that was just started has to fetch producer ids first."""
    producer.cluster.run_until(lambda: producer.end(is_commit=True) is ErrorCode.NONE)


def state(cluster):
    found = cluster.describe("tx")
    return found.transaction_state, found.producer_id, found.producer_epoch


def test_after_the_last_epoch_the_next_producer_gets_another_id():
    cluster = a_cluster()
    old = with_epoch(cluster, LAST_EPOCH - 1)
    last = cluster.producer("tx")
    assert (last.producer_id, last.epoch) == (old.producer_id, LAST_EPOCH)
    assert old.add(("t", 0)) is ErrorCode.PRODUCER_FENCED
    last.add(("t", 0))
    last.write("t", b"with the last epoch")
    assert last.end(is_commit=True) is ErrorCode.NONE
    cluster.run_until(cluster.is_idle)
    rotated = cluster.producer("tx")
    assert (rotated.producer_id > last.producer_id, rotated.epoch) == (True, 0)
    assert last.add(("t", 0)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    rotated.add(("t", 0))
    rotated.write("t", b"with another id")
    assert rotated.end(is_commit=True) is ErrorCode.NONE
    cluster.run_until(cluster.is_idle)
    assert cluster.committed("t") == [b"with the last epoch", b"with another id"]


def test_a_transaction_with_the_last_epoch_is_fenced_with_the_one_above():
    cluster = a_cluster()
    old = with_epoch(cluster, LAST_EPOCH)
    old.add(("t", 0))
    old.write("t", b"never seen")
    assert old.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    cluster.run_until(cluster.is_idle)
    assert state(cluster) == ("CompleteAbort", old.producer_id, LAST_EPOCH + 1)
    rotated = cluster.producer("tx")
    assert (rotated.producer_id > old.producer_id, rotated.epoch) == (True, 0)
    assert old.try_write("t", b"too late") is ErrorCode.INVALID_PRODUCER_EPOCH
    rotated.add(("t", 0))
    rotated.write("t", b"seen")
    assert rotated.end(is_commit=True) is ErrorCode.NONE
    cluster.run_until(cluster.is_idle)
    assert cluster.committed("t") == [b"seen"]


@pytest.mark.parametrize("is_moved", [False, True])
def test_with_an_epoch_for_each_transaction_the_end_of_the_last_one_gives_another_id(is_moved):
    cluster = a_cluster()
    producer = with_epoch(cluster, LAST_EPOCH - 1, is_version_2=True)
    old_id, values = producer.producer_id, [b"%d" % number for number in range(4)]
    epochs = []
    for value in values:
        producer.write("t", value)
        commit(producer)
        epochs.append((producer.producer_id == old_id, producer.epoch))
        cluster.run_until(cluster.is_idle)
        if is_moved:
            cluster.network.restart(BROKER)
            cluster.run_until(lambda: cluster.is_running(BROKER))
    assert epochs == [(True, LAST_EPOCH), (False, 0), (False, 1), (False, 2)]
    assert cluster.committed("t") == values


def test_the_end_of_the_last_epoch_may_be_asked_for_again():
    cluster = a_cluster()
    producer = with_epoch(cluster, LAST_EPOCH, is_version_2=True)
    old = (producer.producer_id, LAST_EPOCH)
    producer.write("t", b"once")
    commit(producer)
    cluster.run_until(cluster.is_idle)
    given = (producer.producer_id, producer.epoch)
    # Its response is lost.
    producer.producer_id, producer.epoch = old
    assert producer.end(is_commit=True) is ErrorCode.NONE
    assert (producer.producer_id, producer.epoch) == given
    assert cluster.committed("t") == [b"once"]


def test_ids_that_nobody_uses_expire_and_open_ones_do_not():
    expiration = {
        "transactional.id.expiration.ms": "20000",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "1000",
    }
    cluster = a_cluster(properties=expiration)
    unused, ended, still_open = (cluster.producer(name) for name in ("unused", "ended", "open"))
    ended.add(("t", 0))
    ended.write("t", b"kept")
    assert ended.end(is_commit=True) is ErrorCode.NONE
    still_open.add(("t", 1))
    still_open.write("t", b"open", index=1)
    cluster.run(10_000)
    assert cluster.listed() == {"unused": "Empty", "ended": "CompleteCommit", "open": "Ongoing"}
    cluster.run(15_000)
    assert cluster.listed() == {"open": "Ongoing"}
    assert unused.add(("t", 0)) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    cluster.network.restart(BROKER)
    cluster.run_until(lambda: cluster.is_running(BROKER))
    assert cluster.describe("ended").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    again = cluster.producer("ended")
    assert (again.producer_id > ended.producer_id, again.epoch) == (True, 0)
    assert still_open.end(is_commit=True) is ErrorCode.NONE
    cluster.run_until(cluster.is_idle)
    assert (cluster.committed("t"), cluster.committed("t", 1)) == ([b"kept"], [b"open"])


@pytest.mark.parametrize(
    ("two_phases", "error"),
    [
        ({"keep_prepared_txn": True}, ErrorCode.UNSUPPORTED_VERSION),
        ({"enable2pc": True}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        ({"enable2pc": True, "keep_prepared_txn": True}, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    ],
)
def test_who_wants_a_prepared_transaction_kept_is_refused_and_it_goes_on(two_phases, error):
    # No release offers version 6 by default.
    cluster = a_cluster(unstable_api_versions_enable=True)
    producer = cluster.producer("tx")
    producer.add(("t", 0))
    producer.write("t", b"one")
    before = state(cluster)
    answer = cluster.ask_transaction("tx", InitProducerIdRequest("tx", 60_000, **two_phases), 6)
    assert (ErrorCode(answer.error_code), answer.producer_id, answer.producer_epoch) == (error, -1, -1)
    assert state(cluster) == before
    assert producer.end(is_commit=True) is ErrorCode.NONE
    cluster.run_until(cluster.is_idle)
    assert cluster.committed("t") == [b"one"]
