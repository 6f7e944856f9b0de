"""Records of `__transaction_state`: TransactionLogKey, TransactionLogValue v0 and v1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.coordinator.runtime.outcome import CoordinatorRecord
from falkirk.coordinator.transactions.transaction_metadata import NO_PARTITIONS, TransactionMetadata
from falkirk.protocol.messages import TransactionLogKey, TransactionLogValue
from falkirk.protocol.messages.transaction_log_value import PartitionsSchema
from falkirk.protocol.record_batch import NO_PRODUCER_ID
from falkirk.protocol.topic_partition import TopicPartition, by_topic

if TYPE_CHECKING:
    from falkirk.coordinator.transactions.transaction_rules import TransactionRules


def transaction_record(
    metadata: TransactionMetadata, transaction_version: int, rules: TransactionRules
) -> CoordinatorRecord:
    """Return the record of a state; only flexible ones (transaction.version 1 and above) hold all fields."""
    is_flexible = transaction_version > 0
    holds_ids = is_flexible and rules.records_producer_ids
    is_empty = metadata.state is TransactionState.EMPTY
    partitions = [PartitionsSchema(topic, tuple(indexes)) for topic, indexes in by_topic(metadata.partitions).items()]
    value = TransactionLogValue(
        producer_id=metadata.producer_id,
        previous_producer_id=metadata.previous_producer_id if holds_ids else NO_PRODUCER_ID,
        next_producer_id=metadata.next_producer_id if holds_ids else NO_PRODUCER_ID,
        producer_epoch=metadata.producer_epoch,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_status=metadata.state,
        transaction_partitions=None if is_empty else partitions,
        transaction_last_update_timestamp_ms=metadata.last_update_timestamp_ms,
        transaction_start_timestamp_ms=metadata.start_timestamp_ms,
        client_transaction_version=metadata.client_transaction_version if is_flexible and rules.bumps_epochs else 0,
    )
    return CoordinatorRecord(TransactionLogKey(metadata.transactional_id), value, int(is_flexible))


def tombstone(transactional_id: str) -> CoordinatorRecord:
    """Return the record that removes a transactional id."""
    return CoordinatorRecord(TransactionLogKey(transactional_id))


def recorded_metadata(transactional_id: str, value: TransactionLogValue) -> TransactionMetadata:
    """Return the state that a record holds. Raises ValueError for an unknown state."""
    state = TransactionState(value.transaction_status)
    topics = () if state is TransactionState.EMPTY else value.transaction_partitions or ()
    return TransactionMetadata(
        transactional_id=transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        timeout_ms=value.transaction_timeout_ms,
        last_update_timestamp_ms=value.transaction_last_update_timestamp_ms,
        state=state,
        partitions=frozenset(TopicPartition(topic.topic, index) for topic in topics for index in topic.partition_ids)
        if topics
        else NO_PARTITIONS,
        start_timestamp_ms=value.transaction_start_timestamp_ms,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        client_transaction_version=value.client_transaction_version,
    )
