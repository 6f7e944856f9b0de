"""CommittedRecordsStay: records below a high watermark are the same on every replica, for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker
from falkirk.simulation.history.data_history import shown
from falkirk.simulation.plans.data_plan import Keeping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.simulation.history.data_history import PartitionKey
    from falkirk.simulation.views.log_view import LogView


class CommittedRecordsStay(DataChecker):
    """Each offset has one record. Only compaction leaves gaps, and it keeps the last record of each key."""

    def __init__(self) -> None:
        self._committed: dict[PartitionKey, dict[int, tuple[bytes | None, bytes | None]]] = {}
        self._ends: dict[PartitionKey, int] = {}

    def committed(self, broker_id: int, log: LogView, from_offset: int, to_offset: int) -> None:
        """Compare newly committed records with those that other replicas committed at the same offsets."""
        key = log.key
        committed = self._committed.setdefault(key, {})
        self._ends[key] = max(self._ends.get(key, 0), to_offset)
        if self.is_lossy(key):
            return
        found = _records(log, from_offset, to_offset)
        for offset, record in found.items():
            known = committed.setdefault(offset, record)
            if known != record:
                raise self.violated(
                    f"{self.place(broker_id, key)} has committed {shown(record[1])} at offset {offset}, "
                    f"before it was {shown(known[1])}"
                )
        self._check_holes(broker_id, log, found, range(max(from_offset, log.log_start_offset), to_offset))

    def at_end(self, key: PartitionKey, replicas: Mapping[int, LogView]) -> None:
        """Check that every replica still has all committed records."""
        if self.is_lossy(key):
            return
        committed = self._committed.get(key, {})
        end = self._ends.get(key, 0)
        last_of_key = {record[0]: offset for offset, record in sorted(committed.items())}
        for broker_id, log in replicas.items():
            found = _records(log, log.log_start_offset, log.log_end_offset)
            for offset, record in found.items():
                known = committed.get(offset, record)
                if known != record:
                    place = self.place(broker_id, key)
                    raise self.violated(f"{place} has {shown(record[1])} at offset {offset}, it was {shown(known[1])}")
            self._check_holes(broker_id, log, found, range(log.log_start_offset, end))
            for record_key, offset in last_of_key.items():
                if offset >= log.log_start_offset and offset not in found:
                    place = self.place(broker_id, key)
                    raise self.violated(f"{place} lacks offset {offset}, the last record of key {record_key!r}")

    def _check_holes(self, broker_id: int, log: LogView, found: Mapping[int, object], offsets: range) -> None:
        if self.logs.history.keeping(log.key) is Keeping.KEYS:
            return
        for offset in offsets:
            if offset not in found:
                raise self.violated(f"{self.place(broker_id, log.key)} lacks offset {offset}, which was committed")


def _records(log: LogView, from_offset: int, to_offset: int) -> dict[int, tuple[bytes | None, bytes | None]]:
    return {
        record.offset: (record.key, record.value)
        for batch in log.batches(from_offset, to_offset)
        for record in batch.records()
        if from_offset <= record.offset < to_offset
    }
