"""LeaderEpochsFit: what a broker keeps about leader epochs fits its batches."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.simulation.log_view import LogView
    from falkirk.simulation.log_watch import Seen
    from falkirk.simulation.workload.data_history import PartitionKey


class LeaderEpochsFit(DataChecker):
    """Epochs and their offsets rise, none begins behind the log's end, and each batch lies in its own.

    Before the first entry nothing is known: a crash may take back how far records were deleted, but not that.
    """

    def changed(self, broker_id: int, log: LogView, before: Seen, now: Seen) -> None:
        """Look at a log that was cut off, or has another leader."""
        if now.end < before.end or now.led_epoch != before.led_epoch:
            self._check_entries(broker_id, log)

    def at_end(self, key: PartitionKey, replicas: Mapping[int, LogView]) -> None:
        """Look at every batch."""
        for broker_id, log in replicas.items():
            self._check_entries(broker_id, log)
            entries = list(log.epochs)
            for batch in log.batches(log.log_start_offset, log.log_end_offset):
                offset = max(batch.base_offset, log.log_start_offset)
                epoch = next((entry.epoch for entry in reversed(entries) if entry.offset <= offset), None)
                if epoch is not None and epoch != batch.leader_epoch:
                    raise self.violated(
                        f"{self.place(broker_id, key)} keeps epoch {epoch} for offset {offset}, "
                        f"the batch there is of {batch.leader_epoch}"
                    )

    def _check_entries(self, broker_id: int, log: LogView) -> None:
        entries = list(log.epochs)
        for one, next_one in pairwise(entries):
            if next_one.epoch <= one.epoch or next_one.offset < one.offset:
                raise self.violated(f"{self.place(broker_id, log.key)} has {one} before {next_one}")
        if entries and entries[-1].offset > log.log_end_offset:
            raise self.violated(
                f"{self.place(broker_id, log.key)} ends at {log.log_end_offset}, {entries[-1]} begins there"
            )
