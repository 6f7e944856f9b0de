"""AckedRecordsSurvive: new leaders have all records acknowledged with acks=all, and in the end every replica has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker
from falkirk.simulation.history.data_history import shown
from falkirk.simulation.plans.data_plan import Keeping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.simulation.history.data_history import PartitionKey
    from falkirk.simulation.views.log_view import LogView


class AckedRecordsSurvive(DataChecker):
    """Records that consumers have read survive too. Retention, DeleteRecords and compaction may remove them."""

    def leads(self, broker_id: int, log: LogView) -> None:
        """Check that a new leader has everything acknowledged so far.

        A broker that is behind may learn of a leadership that a later one has replaced: it need not have what the later
        leader acknowledged.
        """
        partition = self.logs.partition(log.key)
        if partition is None or log.led_epoch is None or log.led_epoch >= partition.leader_epoch:
            self._check(broker_id, log)

    def at_end(self, key: PartitionKey, replicas: Mapping[int, LogView]) -> None:
        """Check all replicas, and that deleted records stay deleted."""
        history = self.logs.history.of(key)
        # Log starts are checkpointed periodically: where all that may lead crashed, or there is but one replica, an
        # older one may come back, as in Kafka.
        may_come_back = self.is_lossy(key) or key in self.logs.history.restarted or len(replicas) == 1
        for broker_id, log in replicas.items():
            self._check(broker_id, log)
            if log.log_start_offset < history.deleted_to and not may_come_back:
                raise self.violated(
                    f"{self.place(broker_id, key)} begins at offset {log.log_start_offset}, "
                    f"records were deleted up to {history.deleted_to}"
                )

    def _check(self, broker_id: int, log: LogView) -> None:
        key = log.key
        history = self.logs.history.of(key)
        if self.is_lossy(key) or not (history.acked or history.read):
            return
        keeping = self.logs.history.keeping(key)
        start, end = log.log_start_offset, log.log_end_offset
        if keeping is not Keeping.END and start > 0:
            raise self.violated(f"{self.place(broker_id, key)} begins at offset {start}, nothing may be deleted")
        found = {record.offset: record.value for batch in log.batches(start, end) for record in batch.records()}
        for what, known in (("acknowledged", history.acked), ("read", history.read)):
            for offset, value in known.items():
                is_removed = offset < start or (keeping is Keeping.KEYS and offset < end and offset not in found)
                if not is_removed and found.get(offset) != value:
                    raise self.violated(
                        f"{self.place(broker_id, key)} has {shown(found.get(offset))} at offset {offset}, "
                        f"{what} was {shown(value)}"
                    )
