"""LeaderEpochsFit: a broker's leader epoch cache matches its batches."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.simulation.history.data_history import PartitionKey
    from falkirk.simulation.views.cluster_logs import Seen
    from falkirk.simulation.views.log_view import LogView


class LeaderEpochsFit(DataChecker):
    """Epochs and their start offsets rise, none starts beyond the log end, and each batch lies within its own epoch.

    Offsets before the first entry are not checked: a crash may restore an older log start offset, but not the entries.
    """

    def changed(self, broker_id: int, log: LogView, before: Seen, now: Seen) -> None:
        """Check a log that was truncated or has a new leader."""
        if now.end < before.end or now.led_epoch != before.led_epoch:
            self._check_entries(broker_id, log)

    def at_end(self, key: PartitionKey, replicas: Mapping[int, LogView]) -> None:
        """Check every batch."""
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
