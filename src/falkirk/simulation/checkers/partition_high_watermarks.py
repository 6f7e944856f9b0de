"""PartitionHighWatermarks: high watermarks do not fall while a leader leads, and no replica truncates below its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.data_checker import DataChecker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.simulation.history.data_history import PartitionKey
    from falkirk.simulation.views.cluster_logs import Seen
    from falkirk.simulation.views.log_view import LogView


class PartitionHighWatermarks(DataChecker):
    """It lies between log start and log end, and the log start never falls.

    A compacted log may be cut off below it, as in Kafka: the leader has fetched its log when compaction had removed a
    whole leader epoch, so a replica with that epoch goes back to where it began. No replica may have records there.
    """

    def __init__(self) -> None:
        self._cuts: dict[PartitionKey, set[range]] = {}

    def changed(self, broker_id: int, log: LogView, before: Seen, now: Seen) -> None:
        """Compare the offsets with those of the step before."""
        if not now.start <= now.high_watermark <= now.end:
            raise self.violated(
                f"{self.place(broker_id, log.key)} begins at {now.start}, has high watermark {now.high_watermark} "
                f"and ends at {now.end}"
            )
        if self.is_lossy(log.key):
            return
        if now.led_epoch is not None and now.led_epoch == before.led_epoch:
            fell = now.high_watermark < before.high_watermark
            if fell or now.start < before.start:
                raise self.violated(
                    f"{self.place(broker_id, log.key)}, which leads epoch {now.led_epoch}, goes from high watermark "
                    f"{before.high_watermark} back to {now.high_watermark}, or from log start {before.start} "
                    f"to {now.start}"
                )
        # A log that starts beyond its old end was restarted: the leader has deleted the records it lacked.
        if now.end < before.high_watermark:
            if self.is_compacted(log.key):
                self._cuts.setdefault(log.key, set()).add(range(now.end, before.high_watermark))
                return
            raise self.violated(
                f"{self.place(broker_id, log.key)} is cut off at {now.end}, its high watermark was "
                f"{before.high_watermark}"
            )

    def at_end(self, key: PartitionKey, replicas: Mapping[int, LogView]) -> None:
        """Check that what was cut off a compacted log had been removed by compaction."""
        for cut in self._cuts.get(key, ()):
            for broker_id, log in replicas.items():
                batches = log.batches(max(cut.start, log.log_start_offset), min(cut.stop, log.log_end_offset))
                if any(record.offset in cut for batch in batches for record in batch.records()):
                    raise self.violated(
                        f"{self.place(broker_id, key)} has records in {cut.start} to {cut.stop}, which another replica "
                        "has cut off below its high watermark"
                    )
