"""What records of `__transaction_state` hold."""

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.coordinator.transactions.transaction_metadata import NO_PARTITIONS
from falkirk.coordinator.transactions.transaction_records import recorded_metadata
from falkirk.protocol.messages import TransactionLogValue


def test_a_million_ids_without_a_transaction_are_not_a_million_sets():
    for state in (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT):
        for partitions in (None, []):
            value = TransactionLogValue(transaction_status=state, transaction_partitions=partitions)

            assert recorded_metadata("t", value).partitions is NO_PARTITIONS
