"""What checkers of data have in common: they are told what is new in the logs of brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import InvariantViolatedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.simulation.log_view import LogView
    from falkirk.simulation.log_watch import LogWatch, Seen
    from falkirk.simulation.workload.data_history import PartitionKey


class DataChecker:
    """Told of a step in this order. Of a broker that has just started, all of its logs is new."""

    watch: LogWatch

    def changed(self, broker_id: int, log: LogView, before: Seen, now: Seen) -> None:
        """Take note that offsets or the leadership of a log are others than before."""

    def appended(self, broker_id: int, log: LogView, batch: RecordBatch) -> None:
        """Take note that a log has a batch that it had not."""

    def committed(self, broker_id: int, log: LogView, from_offset: int, to_offset: int) -> None:
        """Take note that a high watermark rose."""

    def leads(self, broker_id: int, log: LogView) -> None:
        """Take note that a broker begins to lead."""

    def joined(self, broker_id: int, key: PartitionKey) -> None:
        """Take note that the controllers call a replica in sync that was not."""

    def at_end(self, key: PartitionKey, replicas: Mapping[int, LogView]) -> None:
        """Look at all replicas of a partition, by broker, long after the last fault."""

    def is_lossy(self, key: PartitionKey) -> bool:
        """Say whether Kafka, too, may have lost records of a partition."""
        return key in self.watch.history.lossy

    def place(self, broker_id: int, key: PartitionKey) -> str:
        """Name a replica."""
        return f"{self.watch.history.name(key)} on broker {broker_id}"

    def violated(self, what: str) -> InvariantViolatedError:
        """Give the error to raise."""
        return InvariantViolatedError(type(self).__name__, what)
