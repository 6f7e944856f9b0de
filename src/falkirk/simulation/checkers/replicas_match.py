"""ReplicasMatch: two logs hold the same data at the same offset of the same leader epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.simulation.history.data_history import PartitionKey
    from falkirk.simulation.views.log_view import LogView


class ReplicasMatch(DataChecker):
    """An epoch has one leader, which writes an offset once. Compaction rewrites batches: then records are compared."""

    def __init__(self) -> None:
        self._written: dict[PartitionKey, dict[tuple[int, int], object]] = {}

    def appended(self, broker_id: int, log: LogView, batch: RecordBatch) -> None:
        """Compare a batch with what other logs hold at its offsets."""
        written = self._written.setdefault(log.key, {})
        for offset, digest in self._digests(log.key, batch):
            known = written.setdefault((batch.leader_epoch, offset), digest)
            if known != digest:
                raise self.violated(
                    f"{self.place(broker_id, log.key)} has at offset {offset} of epoch {batch.leader_epoch} what no "
                    f"other replica has there"
                )

    def at_end(self, key: PartitionKey, replicas: Mapping[int, LogView]) -> None:
        """Compare the logs from the highest log start to the end."""
        start = max(log.log_start_offset for log in replicas.values())
        whole = {
            broker_id: [
                (batch.leader_epoch, offset, digest)
                for batch in log.batches(start, log.log_end_offset)
                for offset, digest in self._digests(key, batch)
            ]
            for broker_id, log in replicas.items()
        }
        if self.is_compacted(key):
            return
        first = next(iter(whole))
        for broker_id, digests in whole.items():
            if digests != whole[first]:
                raise self.violated(f"{self.place(broker_id, key)} is not equal to that on broker {first}")

    def _digests(self, key: PartitionKey, batch: RecordBatch) -> list[tuple[int, object]]:
        if self.is_compacted(key):
            return [(record.offset, (record.key, record.value)) for record in batch.records()]
        return [(batch.base_offset, batch.computed_crc)]
