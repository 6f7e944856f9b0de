"""Transactions in the middle of which a log ends."""

import struct

from coordinator_logs import RELEASES, TRANSACTIONS_TOPIC, real_partitions

from falkirk.coordinator.prediction.transactions import unfinished_transactions
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.protocol import codec
from falkirk.protocol.messages.transaction_log_value import PartitionsSchema, TransactionLogValue
from falkirk.protocol.topic_partition import TopicPartition


def record(offset, transactional_id, status, version=1):
    key = b"\0\0" + struct.pack(">h", len(transactional_id)) + transactional_id.encode()
    if status is None:
        return LoggedRecord(offset, key, None)
    value = TransactionLogValue(
        producer_id=5,
        producer_epoch=2,
        transaction_status=status,
        transaction_partitions=[PartitionsSchema(topic="t", partition_ids=(0, 1)), PartitionsSchema(topic="u")],
        transaction_start_timestamp_ms=9,
    )
    return LoggedRecord(offset, key, struct.pack(">h", version) + codec.encode(value, version))


def test_the_last_record_of_a_transaction_counts():
    entries = [
        record(0, "b", TransactionState.ONGOING),
        record(1, "a", TransactionState.ONGOING),
        record(2, "b", TransactionState.PREPARE_COMMIT, version=0),
        record(3, "c", TransactionState.PREPARE_ABORT),
        record(4, "c", TransactionState.COMPLETE_ABORT),
        record(5, "d", TransactionState.ONGOING),
        record(6, "d", None),
        record(7, "e", TransactionState.EMPTY),
    ]
    found = unfinished_transactions(entries)
    assert [(each.transactional_id, each.state, each.offset) for each in found] == [
        ("a", TransactionState.ONGOING, 1),
        ("b", TransactionState.PREPARE_COMMIT, 2),
    ]
    assert (found[0].producer_id, found[0].producer_epoch) == (5, 2)
    assert found[0].partitions == (TopicPartition("t", 0), TopicPartition("t", 1))
    assert found[0].start_timestamp_ms == 9


def test_a_record_that_does_not_parse_tells_nothing():
    good = record(0, "a", TransactionState.ONGOING)
    broken = [LoggedRecord(1, good.key, b"\0"), LoggedRecord(2, None, None), LoggedRecord(3, b"\0\5", b"")]
    assert len(unfinished_transactions([good, *broken])) == 1


def test_the_real_clusters_had_finished_theirs():
    for release in RELEASES:
        for entries in real_partitions(release, TRANSACTIONS_TOPIC).values():
            assert unfinished_transactions(entries) == ()
