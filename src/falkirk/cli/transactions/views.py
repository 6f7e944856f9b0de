"""What `falkirk transactions` prints: the tables of kafka-transactions, or their rows as objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.client.transactions import NONE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.client.transactions import ProducerDescription, TransactionDescription, TransactionListing
    from falkirk.operations.hanging_transactions import OpenTransaction

_MS_IN_A_MINUTE: Final = 60_000


@dataclass(frozen=True, slots=True)
class TransactionTable:
    """A `Result`. `name`: of the list in the document; None in a cell is "None" in the table."""

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...]  # Any: what JSON has

    def text(self) -> Iterator[str]:
        """Yield the head and a line for each row; every column ends with a tab, as Kafka's does."""
        cells = [[title for title, _ in self.columns], *([_cell(value) for value in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            yield "".join(f"{cell.ljust(width)}\t" for cell, width in zip(row, widths, strict=True))

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the rows by fields."""
        return {self.name: [dict(zip((field for _, field in self.columns), row, strict=True)) for row in self.rows]}


def listing_table(transactions: Sequence[TransactionListing]) -> TransactionTable:
    """Return the table of `list`."""
    columns = (
        ("TransactionalId", "transactional_id"),
        ("Coordinator", "coordinator"),
        ("ProducerId", "producer_id"),
        ("TransactionState", "state"),
    )
    rows = tuple((each.transactional_id, each.coordinator_id, each.producer_id, each.state) for each in transactions)
    return TransactionTable("transactions", columns, rows)


def description_table(description: TransactionDescription, now_ms: int) -> TransactionTable:
    """Return the table of `describe`, of one row."""
    columns = (
        ("CoordinatorId", "coordinator"),
        ("TransactionalId", "transactional_id"),
        ("ProducerId", "producer_id"),
        ("ProducerEpoch", "producer_epoch"),
        ("TransactionState", "state"),
        ("TransactionTimeoutMs", "timeout_ms"),
        ("CurrentTransactionStartTimeMs", "start_time_ms"),
        ("TransactionDurationMs", "duration_ms"),
        ("TopicPartitions", "partitions"),
    )
    start_ms = None if description.start_time_ms < 0 else description.start_time_ms
    row = (
        description.coordinator_id,
        description.transactional_id,
        description.producer_id,
        description.producer_epoch,
        description.state,
        description.timeout_ms,
        start_ms,
        None if start_ms is None else now_ms - start_ms,
        [str(each) for each in description.partitions],
    )
    return TransactionTable("transactions", columns, (row,))


def producers_table(producers: Sequence[ProducerDescription]) -> TransactionTable:
    """Return the table of `describe-producers`."""
    columns = (
        ("ProducerId", "producer_id"),
        ("ProducerEpoch", "producer_epoch"),
        ("LatestCoordinatorEpoch", "coordinator_epoch"),
        ("LastSequence", "last_sequence"),
        ("LastTimestamp", "last_timestamp"),
        ("CurrentTransactionStartOffset", "transaction_start_offset"),
    )
    rows = tuple(
        (
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp,
            None if each.transaction_start_offset == NONE else each.transaction_start_offset,
        )
        for each in producers
    )
    return TransactionTable("producers", columns, rows)


def hanging_table(transactions: Sequence[OpenTransaction], now_ms: int) -> TransactionTable:
    """Return the table of `find-hanging`."""
    columns = (
        ("Topic", "topic"),
        ("Partition", "partition"),
        ("ProducerId", "producer_id"),
        ("ProducerEpoch", "producer_epoch"),
        ("CoordinatorEpoch", "coordinator_epoch"),
        ("StartOffset", "start_offset"),
        ("LastTimestamp", "last_timestamp"),
        ("Duration(min)", "duration_min"),
    )
    rows = tuple(
        (
            each.partition.topic,
            each.partition.partition,
            each.producer.producer_id,
            each.producer.producer_epoch,
            each.producer.coordinator_epoch,
            each.producer.transaction_start_offset,
            each.producer.last_timestamp,
            (now_ms - each.producer.last_timestamp) // _MS_IN_A_MINUTE,
        )
        for each in transactions
    )
    return TransactionTable("hanging_transactions", columns, rows)


def _cell(value: Any) -> str:  # Any: what JSON has
    return ",".join(value) if isinstance(value, list) else str(value)
