"""Base class of the checkers of partition data. LogWatch calls them with what changed in the brokers' logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.plans.data_plan import Keeping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.simulation.history.data_history import PartitionKey
    from falkirk.simulation.views.cluster_logs import ClusterLogs, Seen
    from falkirk.simulation.views.log_view import LogView


class DataChecker:
    """The methods are called in this order in each step. After a broker starts, its whole logs count as new."""

    logs: "ClusterLogs"

    def changed(self, broker_id: int, log: LogView, before: Seen, now: Seen) -> None:
        """Handle a change of a log's offsets or leadership."""

    def appended(self, broker_id: int, log: LogView, batch: RecordBatch) -> None:
        """Handle a batch that is new in a log."""

    def committed(self, broker_id: int, log: LogView, from_offset: int, to_offset: int) -> None:
        """Handle a rise of a replica's high watermark."""

    def leads(self, broker_id: int, log: LogView) -> None:
        """Handle a broker that becomes leader."""

    def joined(self, broker_id: int, key: PartitionKey) -> None:
        """Handle a replica that the controllers add to the ISR."""

    def at_end(self, key: PartitionKey, replicas: Mapping[int, LogView]) -> None:
        """Check all replicas of a partition, by broker id, long after the last fault."""

    def is_lossy(self, key: PartitionKey) -> bool:
        """Return whether Kafka, too, might have lost records of the partition."""
        return key in self.logs.history.lossy

    def is_compacted(self, key: PartitionKey) -> bool:
        """Return whether compaction may remove records of the partition."""
        return self.logs.history.keeping(key) is Keeping.KEYS

    def place(self, broker_id: int, key: PartitionKey) -> str:
        """Return a replica's name for messages."""
        return f"{self.logs.history.name(key)} on broker {broker_id}"

    def violated(self, what: str) -> InvariantViolatedError:
        """Return the error to raise, with the checker's name."""
        return InvariantViolatedError(type(self).__name__, what)
