"""Idempotence: an idempotent producer's records are committed once each, in the order in which they were produced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker
from falkirk.simulation.history.data_history import read_value

if TYPE_CHECKING:
    from falkirk.simulation.history.data_history import PartitionKey
    from falkirk.simulation.views.log_view import LogView


class Idempotence(DataChecker):
    """Checks each offset when any replica first commits it.

    A broker may forget a producer whose last record was deleted, as in Kafka: it then accepts a late request of an
    earlier epoch.
    """

    def __init__(self) -> None:
        self._ends: dict[PartitionKey, int] = {}
        self._last: dict[tuple[PartitionKey, str], tuple[int, int]] = {}

    def committed(self, broker_id: int, log: LogView, from_offset: int, to_offset: int) -> None:
        """Compare the sequence of a producer's records with its last committed one."""
        key = log.key
        seen = self._ends.get(key, 0)
        if to_offset <= seen or self.is_lossy(key) or not self.logs.history.is_produced_to(key):
            return
        self._ends[key] = to_offset
        for batch in log.batches(max(from_offset, seen), to_offset):
            for record in batch.records():
                if seen <= record.offset < to_offset and record.value is not None:
                    self._check(broker_id, log, record.offset, record.value)

    def _check(self, broker_id: int, log: LogView, offset: int, value: bytes) -> None:
        producer, number = read_value(value)
        if producer not in self.logs.history.idempotent:
            return
        last = self._last.get((log.key, producer))
        if last is not None and number <= last[0] and last[1] >= log.log_start_offset:
            raise self.violated(
                f"record {number} of {producer} is at offset {offset} of {self.place(broker_id, log.key)}, "
                f"record {last[0]} was at offset {last[1]}"
            )
        self._last[log.key, producer] = number, offset
