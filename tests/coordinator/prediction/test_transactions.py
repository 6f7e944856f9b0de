"""Transactions in the middle of which a log ends."""

import struct

from coordinator_logs import RELEASES, TRANSACTIONS_TOPIC, real_partitions

from falkirk.coordinator.prediction.transactions import transaction_survey
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
    found = transaction_survey(entries).unfinished()
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
    assert len(transaction_survey([good, *broken]).unfinished()) == 1


def test_clients_of_transaction_version_2_leave_it_with_their_ids():
    """Kafka's Java client does since 4.0."""
    by_release = {
        release: {
            each
            for entries in real_partitions(release, TRANSACTIONS_TOPIC).values()
            for each in transaction_survey(entries).with_client_version()
        }
        for release in RELEASES
    }
    ids = {"tx-0-1", "tx-1-1", "tx-2-1"}
    assert by_release == {release: set() if release.startswith("3.") else ids for release in RELEASES}


def test_the_real_clusters_had_finished_theirs():
    for release in RELEASES:
        for entries in real_partitions(release, TRANSACTIONS_TOPIC).values():
            assert transaction_survey(entries).unfinished() == ()
