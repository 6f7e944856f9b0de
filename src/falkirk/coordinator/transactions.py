"""The transactions that the records of `__transaction_state` leave unfinished.

They are to be finished before transaction.version is lowered: what flexible records say of producer ids and epochs in a
transaction's middle is lost when an older release writes them anew.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.coordinator.kafka_reader import ReadError
from falkirk.coordinator.log_entry import LoggedRecord
from falkirk.coordinator.readability import RecordReader, UnknownTypeError
from falkirk.versions.release import latest_release

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.coordinator.kafka_reader import Fields
    from falkirk.coordinator.log_entry import LogEntry


class TransactionState(enum.IntEnum):
    """The states as records number them."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedTransaction:
    """A transaction that is neither committed nor aborted; `offset` is that of its last record."""

    transactional_id: str
    state: TransactionState
    offset: int
    producer_id: int
    producer_epoch: int
    partitions: int
    start_timestamp_ms: int


def unfinished_transactions(entries: Iterable[LogEntry]) -> tuple[UnfinishedTransaction, ...]:
    """Give the unfinished transactions of one partition's entries in log order, by transactional id.

    A record that no release can read tells nothing; `transaction_record_verdict` is for those.
    """
    reader = RecordReader(latest_release(), latest_release().kraft.transaction_records)
    last: dict[str, tuple[int, Fields]] = {}
    for entry in entries:
        if not isinstance(entry, LoggedRecord):
            continue
        try:
            record = reader.decode(entry.key, entry.value)
        except (ReadError, UnknownTypeError):
            continue
        transactional_id = record.key["transactional_id"]
        if record.value is None:
            last.pop(transactional_id, None)
        else:
            last[transactional_id] = entry.offset, record.value
    return tuple(
        _transaction(transactional_id, offset, value)
        for transactional_id, (offset, value) in sorted(last.items())
        if value["transaction_status"] in _UNFINISHED
    )


_UNFINISHED = {
    TransactionState.ONGOING,
    TransactionState.PREPARE_COMMIT,
    TransactionState.PREPARE_ABORT,
    TransactionState.PREPARE_EPOCH_FENCE,
}


def _transaction(transactional_id: str, offset: int, value: Fields) -> UnfinishedTransaction:
    return UnfinishedTransaction(
        transactional_id=transactional_id,
        state=TransactionState(value["transaction_status"]),
        offset=offset,
        producer_id=value["producer_id"],
        producer_epoch=value["producer_epoch"],
        partitions=sum(len(topic["partition_ids"]) for topic in value["transaction_partitions"] or ()),
        start_timestamp_ms=value["transaction_start_timestamp_ms"],
    )
