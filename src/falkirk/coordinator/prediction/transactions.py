"""The unfinished transactions in `__transaction_state`.

They have to finish before transaction.version is lowered: the producer ids and epochs that flexible records keep during
a transaction are lost when an older release rewrites them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.prediction.readability import RecordReader, UnknownTypeError
from falkirk.coordinator.records.log_entry import LoggedRecord
from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.ledger.open_transaction import OpenTransaction
from falkirk.protocol.lax_reader import ReadError
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.versions.release import latest_release

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.coordinator.records.log_entry import LogEntry
    from falkirk.protocol.lax_reader import Fields


_UNFINISHED: Final = frozenset(
    {
        TransactionState.ONGOING,
        TransactionState.PREPARE_COMMIT,
        TransactionState.PREPARE_ABORT,
        TransactionState.PREPARE_EPOCH_FENCE,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedTransaction:
    """A transaction that is neither committed nor aborted; `offset`: that of its last record."""

    transactional_id: str
    state: TransactionState
    offset: int
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    start_timestamp_ms: int
    timeout_ms: int

    def reported(self, partition: int) -> OpenTransaction:
        """Return the transaction of a partition of the log as it is reported."""
        return OpenTransaction(
            transactional_id=self.transactional_id,
            state=self.state.name.lower().replace("_", " "),
            partition=partition,
            offset=self.offset,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            partitions=tuple(map(str, self.partitions)),
            start_timestamp_ms=self.start_timestamp_ms,
        )


class TransactionSurvey:
    """Reads the entries of a partition in log order, then returns its unfinished transactions.

    Records that no release can read are ignored. `keeps_client_versions`: for `with_client_version`.
    """

    def __init__(self, *, keeps_client_versions: bool = False) -> None:
        self._reader = RecordReader(latest_release(), latest_release().kraft.transaction_records)
        self._unfinished: dict[str, UnfinishedTransaction] = {}
        self._keeps_client_versions = keeps_client_versions
        self._with_client_version: set[str] = set()

    def add(self, entry: LogEntry) -> None:
        """Add an entry, in log order."""
        if not isinstance(entry, LoggedRecord):
            return
        try:
            record = self._reader.decode(entry.key, entry.value)
        except (ReadError, UnknownTypeError):
            return
        transactional_id = record.key["transactional_id"]
        if record.value is None or record.value["transaction_status"] not in _UNFINISHED:
            self._unfinished.pop(transactional_id, None)
        else:
            self._unfinished[transactional_id] = _transaction(transactional_id, entry.offset, record.value)
        if not self._keeps_client_versions:
            return
        if record.value is not None and record.value.get("client_transaction_version"):
            self._with_client_version.add(transactional_id)
        else:
            self._with_client_version.discard(transactional_id)

    def unfinished(self) -> tuple[UnfinishedTransaction, ...]:
        """Return the unfinished transactions, by transactional id; takes no time for finished ones."""
        return tuple(self._unfinished[transactional_id] for transactional_id in sorted(self._unfinished))

    def with_client_version(self) -> tuple[str, ...]:
        """Return the transactional ids whose last value has a transaction.version of the client, sorted.

        A coordinator keeps it with the id, and version 0 of the value cannot express it.
        """
        return tuple(sorted(self._with_client_version))


def transaction_survey(entries: Iterable[LogEntry]) -> TransactionSurvey:
    """Return the survey of one partition's entries."""
    survey = TransactionSurvey(keeps_client_versions=True)
    for entry in entries:
        survey.add(entry)
    return survey


def _transaction(transactional_id: str, offset: int, value: Fields) -> UnfinishedTransaction:
    return UnfinishedTransaction(
        transactional_id=transactional_id,
        state=TransactionState(value["transaction_status"]),
        offset=offset,
        producer_id=value["producer_id"],
        producer_epoch=value["producer_epoch"],
        partitions=tuple(
            TopicPartition(topic["topic"], partition)
            for topic in value["transaction_partitions"] or ()
            for partition in topic["partition_ids"]
        ),
        start_timestamp_ms=value["transaction_start_timestamp_ms"],
        timeout_ms=value["transaction_timeout_ms"],
    )
