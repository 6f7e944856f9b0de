"""AckedRecordsSurvive: what was acknowledged with acks=all is there, with whoever leads, and in the end everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker
from falkirk.simulation.workload.data_history import Keeping, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.simulation.log_view import LogView
    from falkirk.simulation.workload.data_history import PartitionKey


class AckedRecordsSurvive(DataChecker):
    """So does what consumers have read. Retention, DeleteRecords and compaction may take it."""

    def leads(self, broker_id: int, log: LogView) -> None:
        """Look whether a new leader has all that is acknowledged by now."""
        self._check(broker_id, log)

    def at_end(self, key: PartitionKey, replicas: Mapping[int, LogView]) -> None:
        """Look at all replicas."""
        history = self.watch.history.of(key)
        # Where a log starts is written down now and then: the crash of a single replica takes it back, as in Kafka.
        may_come_back = self.is_lossy(key) or len(replicas) == 1
        for broker_id, log in replicas.items():
            self._check(broker_id, log)
            if log.log_start_offset < history.deleted_to and not may_come_back:
                raise self.violated(
                    f"{self.place(broker_id, key)} begins at offset {log.log_start_offset}, "
                    f"records were deleted up to {history.deleted_to}"
                )

    def _check(self, broker_id: int, log: LogView) -> None:
        key = log.key
        history = self.watch.history.of(key)
        if self.is_lossy(key) or not (history.acked or history.read):
            return
        keeping = self.watch.history.keeping(key)
        start, end = log.log_start_offset, log.log_end_offset
        if keeping is not Keeping.END and start > 0:
            raise self.violated(f"{self.place(broker_id, key)} begins at offset {start}, nothing may be deleted")
        found = {record.offset: record.value for batch in log.batches(start, end) for record in batch.records()}
        for what, known in (("acknowledged", history.acked), ("read", history.read)):
            for offset, value in known.items():
                is_taken = offset < start or (keeping is Keeping.KEYS and offset < end and offset not in found)
                if not is_taken and found.get(offset) != value:
                    raise self.violated(
                        f"{self.place(broker_id, key)} has {shown(found.get(offset))} at offset {offset}, "
                        f"{what} was {shown(value)}"
                    )
